"""The law of the neurons on the hypercube: the dimension-free dynamics of (a, b, u, s) (docs/theory/mean-field.md, (d.1)).

u are the weights of the P signs that decide the label, s is the norm of all others, over sqrt(d) both, and what the others add to
a preactivation is s G with a Gaussian G. So it is the dynamics of a subspace at infinite d, with z on the corners of a cube: the
sum over them is exact, and averages over G are those of gaussian/even_orders.py. Time is the sheet's, R twice the risk.
"""

from collections.abc import Mapping
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.description import Values
from dimfree.functions.activation import Erf, PiecewiseLinear, Polynomial
from dimfree.functions.fourier import all_signs, fourier_coefficients
from dimfree.onepass.fields.form import Form, Kept, equal, quantiles
from dimfree.onepass.fields.subspace import Plane, SubspaceField, SubspaceNeurons
from dimfree.onepass.fields.subspace_trained import subspace_trained
from dimfree.onepass.fields.trained import Trained
from dimfree.onepass.kinds.hypercube.model import HypercubeModel, split_weights
from dimfree.onepass.kinds.hypercube.staircases import hypercube_cautions
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start


class HypercubeForm(Form[HypercubeModel]):
    """A particle is (a, b, u, s); the law of a start has u = 0, one s and one b, so that particles differ in a alone."""

    step: ClassVar[float] = 0.1

    def size(self, model: HypercubeModel, alike: bool, count: int) -> int:
        """At most one particle per neuron: more would have equal second layers."""
        return min(count, model.width)

    def refuses(self, problem: OnePassProblem, model: HypercubeModel) -> str | None:
        if model.noisy:
            return "it is derived without noise on the weights; leave out training.inverse_temperature, or use sgd."
        return None

    def accuracy(self, problem: OnePassProblem, model: HypercubeModel, own_start: bool) -> float:
        """Allow for starts with u of order d^(-1/2), which the form leaves out, besides finite width."""
        shifted = 0.0 if own_start else model.target.signs / problem.dimension
        return 1 / model.width + shifted + float(model.gamma) / (model.width * model.batch)

    def warns(
        self, problem: OnePassProblem, model: HypercubeModel, seen: Mapping[str, Values], own_start: bool
    ) -> tuple[str, ...]:
        """Say what could not be learned."""
        return tuple(hypercube_cautions(problem, model, seen, from_zero=not own_start))

    def law(self, model: HypercubeModel, start: Start, count: int) -> tuple[SubspaceNeurons, Kept]:
        """Return particles at quantiles of the second layer."""
        assert start.scale is not None, "the law of the start is asked for Gaussian starts only"
        n = self.size(model, start.alike, count)
        a = quantiles(start.measured.a, n)
        s = jnp.full(n, start.scale)
        return SubspaceNeurons(a, start.bias[:1] * jnp.ones(n), jnp.zeros((n, model.target.signs)), s), Kept(
            equal(n), a
        )

    def own(self, model: HypercubeModel, start: Start) -> tuple[SubspaceNeurons, Kept]:
        """The neurons of the network as particles, with all of their numbers."""
        assert start.weights is not None, "a start with vectors is among the needs of `own_start`"
        u, s = split_weights(start.weights, model.coordinates)
        return SubspaceNeurons(start.measured.a, start.bias, u, s), Kept(equal(model.width), start.measured.a)

    def field(self, model: HypercubeModel, kept: Kept) -> Trained:
        """The field, averaged over all corners of the cube."""
        z = all_signs(model.target.signs)
        plane = Plane(z, jnp.full(len(z), 1 / len(z)))
        return subspace_trained(model, kept, plane, model.target(z), jnp.ones(1))

    def observe(
        self, model: HypercubeModel, kept: Kept, particles: SubspaceNeurons
    ) -> dict[str, Float[Array, "t n ..."]]:
        """Fourier coefficients and mean weights."""
        inner = self.field(model, kept).inner
        assert isinstance(inner, SubspaceField)
        outputs = jax.lax.map(inner.output, particles)
        u, s = jnp.abs(particles.s), jnp.abs(particles.r)
        return {
            "fourier": fourier_coefficients(outputs, model.target.signs, model.target.supports),
            "u_mean": jnp.einsum("n,tnk->tk", kept.mass, u),
            "s_mean": s @ kept.mass,
            "a_mean": jnp.abs(particles.a) @ kept.mass,  # a particle of a law is no neuron of the network
        }

    def seconds(self, model: HypercubeModel, count: int) -> float:
        """Count all particles at all corners."""
        match model.activation:
            case Erf() | Polynomial():
                each = 1e-7
            case PiecewiseLinear():
                each = 1e-7 * len(model.activation.kinks)
            case _:
                each = 1e-5 if model.activation.kinks else 3e-7
        return 2e-4 + 2**model.target.signs * count * each
