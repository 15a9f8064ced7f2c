"""What is seen of a real network on the hypercube: its risk and Fourier coefficients on test inputs, and its mean weights.

Sums over the 2^P signs z that decide the label are exact, at every test point for the d - P others. These points are the same at
all times and in all replicas, and come in pairs x, -x, so that what is odd in them cancels. No Gaussian is assumed; the error is
that of the sample, and `risk_error` says how large it is.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.fourier import all_signs, fourier_coefficients
from dimfree.gaussian.draws import signs
from dimfree.onepass.model import HypercubeModel

_PAIRS, _FEWEST, _POINTS = 128, 8, 2**13  # pairs of test points for each z, and about how many for all z
_TOGETHER = 2**20  # neurons times inputs evaluated together
_SEED = 20220215  # of the test points


def split_weights(
    weights: Float[Array, "*r p d"], coordinates: tuple[int, ...]
) -> tuple[Float[Array, "*r p k"], Float[Array, "*r p"]]:
    """u and s of canonical weights, over sqrt(d): along the coordinates, and the norm of the rest."""
    scaled = weights / jnp.sqrt(1.0 * weights.shape[-1])
    rest = scaled.at[..., jnp.array(coordinates)].set(0.0)
    return scaled[..., jnp.array(coordinates)], jnp.sqrt(jnp.sum(rest**2, axis=-1))


def pairs(model: HypercubeModel) -> int:
    """How many pairs of test points there are for each z."""
    return max(_FEWEST, min(_PAIRS, _POINTS // 2**model.target.signs))


def look_seconds(model: HypercubeModel) -> float:
    """What one look at one network costs."""
    return 1e-8 * 2**model.target.signs * 2 * pairs(model) * model.width


def hypercube_look(
    model: HypercubeModel, weights: Float[Array, "p d"], bias: Float[Array, " p"], a: Float[Array, " p"]
) -> dict[str, Float[Array, "..."]]:
    """Everything that is observed of one network; the risk is E(h - f)²/2, without label noise."""
    (u, s), P, d = split_weights(weights, model.coordinates), model.target.signs, weights.shape[1]
    count, z = pairs(model), all_signs(P)
    x = signs(jax.random.key(_SEED), count * d).reshape(count, d).at[:, jnp.array(model.coordinates)].set(0.0)
    rest = x.astype(float) @ weights.T / jnp.sqrt(1.0 * d)
    points = jnp.concatenate([rest, -rest])

    def at(z: Float[Array, " P"]) -> Float[Array, " points"]:
        return model.activation(points + (u @ z + bias)) @ a / model.width

    together = max(1, min(len(z), _TOGETHER // points.size))
    f = jax.lax.map(at, z, batch_size=together)
    lost = jnp.mean((model.target(z)[:, None] - f) ** 2, axis=0) / 2
    by_pair = (lost[:count] + lost[count:]) / 2
    return {
        "risk": jnp.mean(by_pair),
        "risk_error": jnp.std(by_pair, ddof=1) / count**0.5,
        "fourier": fourier_coefficients(jnp.mean(f, axis=1), P, model.target.supports),
        "u_mean": jnp.mean(jnp.abs(u), axis=0),
        "s_mean": jnp.mean(s),
        "a_mean": jnp.mean(jnp.abs(a)),
    }
