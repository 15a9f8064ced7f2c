"""The hypercube in the letters of its sheet, and what is seen of a real network on it.

Signs are inputs, of which a few decide the label. The risk and the Fourier coefficients are those on test inputs: sums over the
2^P signs z that decide the label are exact, at every test point for the d - P others. These points are the same at all times and
in all replicas, and come in pairs x, -x, so that what is odd in them cancels. No Gaussian is assumed; the error is that of the
sample, and `risk_error` says how large it is.
"""

from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Key, PyTree

from dimfree.functions.fourier import FourierSum, all_signs, fourier_coefficients
from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.law import Law
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import DimensionFreeModel, rule_of
from dimfree.onepass.weights import Network
from dimfree.random_numbers import normals, signs

if TYPE_CHECKING:
    from dimfree.onepass.fields.form import Form

_PAIRS, _FEWEST, _POINTS = 128, 8, 2**13  # pairs of test points for each z, and about how many for all z
_TOGETHER = 2**20  # neurons times inputs that are evaluated together
_SEED = 20220215  # seed of the test points


class HypercubeLaw(Law):
    """Signs over sqrt(d) as inputs; y = h(z) + sqrt(Delta) noise of a few of them (docs/theory/mean-field.md, section d)."""

    coordinates: tuple[int, ...] = eqx.field(static=True)  # coordinates that decide the label, counted from 0
    target: FourierSum
    Delta: Float[Array, ""]

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """The labels depend on the inputs themselves, so they are drawn together."""
        input_key, noise_key = jax.random.split(key)
        X = signs(input_key, replicas * count * dimension).reshape(replicas, count, dimension)
        noise = normals(noise_key, count * replicas).reshape(count, replicas)
        return X, self.target(X[..., jnp.array(self.coordinates)].astype(float)).T + jnp.sqrt(self.Delta) * noise

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        return hidden


class HypercubeModel(DimensionFreeModel):
    """Signs as inputs, of which a few decide the label."""

    about: ClassVar[str] = "fresh samples of the hypercube"
    coordinates: tuple[int, ...] = eqx.field(static=True)  # coordinates that decide the label, counted from 0
    target: FourierSum
    Delta: Float[Array, ""]  # variance of the label noise

    @property
    def law(self) -> HypercubeLaw:
        """The law of sign inputs, whose label a few signs decide."""
        return HypercubeLaw(self.coordinates, self.target, self.Delta)

    @property
    def form(self) -> "Form[HypercubeModel]":
        """Weights of the telling signs and the norm of all others, with what else is trained."""
        from dimfree.onepass.kinds.hypercube.form import HypercubeForm  # which moves particles of this model

        return HypercubeForm()

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Keep what is observed on test points, and the second layer."""
        bias, a = network.scalars.bias.T, network.scalars.a.T
        seen = jax.lax.map(lambda one: hypercube_look(self, *one), (network.students, bias, a))
        return {**seen, "a": a, **({"bias": bias} if self.offsets else {})}

    def look_seconds(self, replicas: int) -> float:
        """Count all neurons at all test points."""
        return replicas * look_seconds(self)

    def risks(self, network: Network) -> Float[Array, " r"]:
        """The risk on test points."""
        seen = (network.students, network.scalars.bias.T, network.scalars.a.T)
        return jax.lax.map(lambda one: hypercube_look(self, *one)["risk"], seen)


def hypercube_model(problem: OnePassProblem) -> HypercubeModel:
    """The model of a problem on the hypercube."""
    data = problem.data
    assert isinstance(data, Hypercube)
    supports = tuple(tuple(data.coordinates.index(i) for i in support) for support in data.supports)
    target = FourierSum(len(data.coordinates), supports, jax.device_put(np.array(data.weights)))
    return HypercubeModel(
        **rule_of(problem),
        coordinates=tuple(i - 1 for i in data.coordinates),
        target=target,
        Delta=jax.device_put(data.noise),
    )


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
