"""Two centred Gaussians in the letters of their sheet: the variance of an input depends on its label."""

from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Key, PyTree

from dimfree.gaussian.neuron_risk import neuron_risk, risk_seconds
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.law import Law
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel, rule_of
from dimfree.onepass.weights import Network
from dimfree.random_numbers import normals

if TYPE_CHECKING:
    from dimfree.onepass.fields.form import Form


class TwoGaussiansLaw(Law):
    """Labels +-1 and inputs of variance (1 + y Delta)²/d, in the first coordinates (docs/theory/mean-field.md, section b)."""

    signal: int = eqx.field(static=True)  # s0
    Delta: Float[Array, ""]

    def draw(
        self, key: Key[Array, ""], replicas: int, count: int, dimension: int
    ) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
        """Draw the label first; it stretches the coordinates that differ between the classes."""
        input_key, label_key = jax.random.split(key)
        labels = jax.random.rademacher(label_key, (replicas * count,), float).reshape(replicas, count)
        x = normals(input_key, replicas * count * dimension).reshape(replicas, count, dimension)
        stretch = (1 + self.Delta * labels).astype(x.dtype)[..., None]
        telling = jnp.arange(dimension) < self.signal
        return jnp.where(telling, stretch * x, x), labels.T

    def label(self, teachers: Float[Array, "b k r"], hidden: Float[Array, "b r"]) -> Float[Array, "b r"]:
        return hidden


class TwoGaussiansModel(OnePassModel):
    """Two centred Gaussians that differ in their variance."""

    about: ClassVar[str] = "fresh samples of two Gaussians"
    size: int = eqx.field(static=True)  # d, as an array shape
    signal: int = eqx.field(static=True)  # s0
    Delta: Float[Array, ""]  # contrast

    @property
    def law(self) -> TwoGaussiansLaw:
        """The law that draws labels first, and inputs stretched by them."""
        return TwoGaussiansLaw(self.signal, self.Delta)

    @property
    def form(self) -> "Form[TwoGaussiansModel]":
        """Norms of the neurons, with what else is trained."""
        from dimfree.onepass.kinds.gaussians.form import gaussians_form  # which moves particles of this model

        return gaussians_form(self)

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """The risk, and the numbers of every neuron."""
        bias, a = network.scalars.bias.T, network.scalars.a.T
        r1, r2 = part_norms(network.students, self.signal)
        return {"risk": self.risks(network), "a": a, "bias": bias, "r1": r1, "r2": r2}

    def look_seconds(self, replicas: int) -> float:
        """Count all pairs of neurons."""
        return replicas * risk_seconds(self.width)

    def risks(self, network: Network) -> Float[Array, " r"]:
        """E(y - f)²/2."""
        return jax.lax.map(self._risk, (network.students, network.scalars.bias.T, network.scalars.a.T))

    def _risk(self, one: tuple[Array, Array, Array]) -> Float[Array, ""]:
        weights, bias, a = one
        sheet, s0 = weights / jnp.sqrt(1.0 * weights.shape[-1]), self.signal
        return neuron_risk(self.activation, self.Delta, a, bias, sheet[:, :s0], sheet[:, s0:])


def part_norms(weights: Float[Array, "*r p d"], signal: int) -> tuple[Float[Array, "*r p"], Float[Array, "*r p"]]:
    """r1 and r2 of canonical weights: |P_V w| and |P_perp w| over sqrt(d), V spanned by the first `signal` coordinates."""
    squares = weights**2 / weights.shape[-1]
    return jnp.sqrt(jnp.sum(squares[..., :signal], axis=-1)), jnp.sqrt(jnp.sum(squares[..., signal:], axis=-1))


def gaussians_model(problem: OnePassProblem) -> TwoGaussiansModel:
    """The model of a problem on two Gaussians."""
    data = problem.data
    assert isinstance(data, TwoGaussians)
    return TwoGaussiansModel(
        **rule_of(problem),
        size=problem.dimension,
        signal=data.telling(problem.dimension),
        Delta=jax.device_put(data.contrast),
    )
