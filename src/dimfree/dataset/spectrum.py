"""The spectrum of the training data, and which learning rates it allows (docs/theory/dmft.md, section 4.3).

Y = X/sqrt(N) has alpha N rows. The eigenvalues of Y^T Y follow the law of Marchenko and Pastur; two clusters add one more.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.errors import DivergenceError, RefusalError
from dimfree.functions.loss import Square

_NODES = 2000
_BISECTIONS = 60


class Spectrum(NamedTuple):
    """Nodes and weights that integrate smooth functions over all eigenvalues of Y^T Y; the weights add up to one."""

    x: Float[Array, " n"]
    weight: Float[Array, " n"]


def edges(model: MultiPassModel) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Where the bulk begins and ends."""
    return _edges(model.alpha, model.Delta)


def _edges(alpha: Float[Array, ""], Delta: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    root = jnp.sqrt(alpha)
    return Delta * (1 - root) ** 2, Delta * (1 + root) ** 2


def top(model: MultiPassModel) -> Float[Array, ""]:
    """The largest eigenvalue: that of the cluster centres if it leaves the bulk."""
    edge = edges(model)[1]
    outlier = (1 + model.Delta) * (model.alpha + model.Delta)
    leaves = (not model.has_teacher) & (jnp.sqrt(model.alpha) > model.Delta)
    return jnp.where(leaves, outlier, edge)


def spectrum(model: MultiPassModel) -> Spectrum:
    """The spectrum of the bulk."""
    return marchenko_pastur(model.alpha, model.Delta)


def marchenko_pastur(alpha: Float[Array, ""], Delta: Float[Array, ""], nodes: int = _NODES) -> Spectrum:
    """Midpoints in the angle of the bulk (spectrally accurate), and the zero modes of an underdetermined problem."""
    low, high = _edges(alpha, Delta)
    angle = jnp.pi * (jnp.arange(nodes) + 0.5) / nodes
    x = low + (high - low) * jnp.cos(angle / 2) ** 2
    weight = (high - low) ** 2 * jnp.sin(angle) ** 2 / (8 * Delta * x * nodes)
    return Spectrum(jnp.append(x, 0.0), jnp.append(weight, jnp.maximum(1 - alpha, 0.0)))


def resolvent(model: MultiPassModel, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """g(z) = (1/N) tr (Y^T Y - z)^-1."""
    low, high = edges(model)
    return -2 / (z + model.Delta * (1 - model.alpha) + jnp.sqrt(z - low) * jnp.sqrt(z - high))


def noise_gain(model: MultiPassModel) -> Float[Array, ""]:
    """How much training loss the batch noise of one unit of training loss ends up creating; stable below one."""
    x, weight = spectrum(model)
    rate = model.eta * (model.lambda_ + model.gradient_scale * model.b * x)
    S = (model.eta * model.gradient_scale) ** 2 * model.b * (1 - model.b)
    return S / model.alpha * jnp.sum(jnp.where(x > 0, weight * x**2 / (rate * (2 - rate)), 0.0))


def largest_stable_rate(model: MultiPassModel) -> Float[Array, ""]:
    """The smallest learning rate at which full-batch or vanilla SGD with the square loss diverges."""
    require_vanilla(model, "the largest stable learning rate")
    highest = 2 / (model.lambda_ + model.gradient_scale * model.b * top(model))

    def halve(_: Array, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        below, above = bracket
        middle = (below + above) / 2
        stable = noise_gain(eqx.tree_at(lambda one: one.eta, model, middle)) < 1
        return jnp.where(stable, middle, below), jnp.where(stable, above, middle)

    return jax.lax.fori_loop(0, _BISECTIONS, halve, (jnp.zeros_like(highest), highest))[1]


def require_stable(model: MultiPassModel) -> None:
    """Refuse full-batch or vanilla SGD that diverges."""
    limit = float(largest_stable_rate(model))
    if float(model.eta) >= limit:
        raise DivergenceError(
            f"training diverges: eta = {float(model.eta):g} is not below the largest stable value {limit:.4g}; lower eta."
        )


def require_vanilla(model: MultiPassModel, what: str) -> None:
    """Refuse all but the square loss with full batch or vanilla SGD, where the spectrum decides everything."""
    reason = _beyond_the_spectrum(model)
    if reason is not None:
        raise RefusalError(f"{what} is known for the square loss with full batch or vanilla SGD, {reason}.")


def _beyond_the_spectrum(model: MultiPassModel) -> str | None:
    if not isinstance(model.loss, Square) or model.task not in ("two-clusters", "linear-teacher"):
        return f"not for the {model.loss.name} loss with {model.task}"
    if model.spherical:
        return "not on the sphere; set spherical = false"
    if float(model.b) < 1 and float(model.kappa) != 0:
        return f"not for a persistence time of {float(model.tau):g}; set tau = 0 or b = 1"
    return None
