"""The law of the neurons on two centred Gaussians (docs/theory/mean-field.md, sections b and c).

Sheet and canonical convention have the same time; sheet weights are w/sqrt(d), and R is twice the risk. Only norms matter,
because all directions are equivalent: particles start at quantiles of each norm, and where a particle has several
numbers they are paired as in a lattice.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.directions import radial_table
from dimfree.gaussian.two_directions import angular_table
from dimfree.onepass.fields.anisotropic import AnisotropicField, Neurons
from dimfree.onepass.fields.form import Form, Kept, equal, quantiles, repeated_in_time
from dimfree.onepass.fields.langevin import Bath
from dimfree.onepass.fields.radial import RadialField, ScaledRadialField, inputs, unit_radii
from dimfree.onepass.fields.trained import Trained
from dimfree.onepass.kinds.gaussians.model import TwoGaussiansModel, part_norms
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start

_GOLDEN, _SILVER = (5**0.5 - 1) / 2, 2**0.5 - 1  # the turns of a lattice in two and three dimensions


class _GaussiansForm(Form[TwoGaussiansModel]):
    """What both forms on two Gaussians share: directions are random, and only norms matter."""

    step: ClassVar[float] = 0.02

    def refuses(self, problem: OnePassProblem, model: TwoGaussiansModel) -> str | None:
        """Refuse parts of the inputs with a single coordinate, in which no direction is random."""
        if min(size for size in (model.signal, model.size - model.signal) if size) < 2:
            return (
                "norms of random directions need two dimensions; give both parts of the inputs at least 2 coordinates."
            )
        return None


class RadialForm(_GaussiansForm):
    """Only the first layer of neurons without offsets is trained, on isotropic data: a particle is a norm r."""

    def bath(self, model: TwoGaussiansModel, field: Trained) -> tuple[RadialField, Bath]:
        """Norms of neurons that are stirred in all d directions."""
        assert isinstance(field.inner, RadialField)
        return field.inner, Bath(float(model.size), model.beta_eff, model.omega)

    def law(self, model: TwoGaussiansModel, start: Start, count: int) -> tuple[Float[Array, " n"], Kept]:
        """Return particles at quantiles of the norm."""
        assert start.scale is not None, "the law of the start is asked for Gaussian starts only"
        return start.scale * unit_radii(count, model.size), Kept(equal(count), _paired(start.measured.a, count))

    def own(self, model: TwoGaussiansModel, start: Start) -> tuple[Float[Array, " n"], Kept]:
        """The norms of the network's neurons as particles."""
        return _norms(model, start)[0], Kept(equal(model.width), start.measured.a)

    def field(self, model: TwoGaussiansModel, kept: Kept) -> Trained:
        """The field, in which all norms move."""
        seen = inputs(model.Delta, model.size)
        inner = ScaledRadialField(radial_table(model.activation, float(model.size)), *seen, kept.a)
        return Trained(inner, jnp.ones(()), model.omega, kept.mass)

    def observe(
        self, model: TwoGaussiansModel, kept: Kept, particles: Float[Array, "t n"]
    ) -> dict[str, Float[Array, "t n ..."]]:
        """Observe the norms; second layer and offsets, which other forms move, are constant."""
        still = jnp.zeros_like(particles)
        return {"a": repeated_in_time(kept.a, len(particles)), "bias": still, "r1": particles, "r2": still}

    def seconds(self, model: TwoGaussiansModel, count: int) -> float:
        """Count all particles at all nodes."""
        return 8e-7 * count


class AnisotropicForm(_GaussiansForm):
    """Everything else: a particle is (a, b, r1, r2)."""

    def refuses(self, problem: OnePassProblem, model: TwoGaussiansModel) -> str | None:
        """Refuse noise, which is reduced to the norms of neurons only."""
        if why := super().refuses(problem, model):
            return why
        if model.noisy:
            return (
                "with noise the reduced equation is for the norms of neurons sigma(<w, x>) on isotropic data; leave out "
                "training.inverse_temperature, or train the first layer only, with bias 0 and no data.signal."
            )
        return None

    def law(self, model: TwoGaussiansModel, start: Start, count: int) -> tuple[Neurons, Kept]:
        """Return particles at quantiles of each number."""
        assert start.scale is not None, "the law of the start is asked for Gaussian starts only"
        r1, r2 = (
            start.scale * (size / model.size) ** 0.5 * unit_radii(count, size) if size else jnp.zeros(count)
            for size in _sizes(model)
        )
        a, b = _paired(start.measured.a, count), jnp.full(count, start.bias[0])
        return Neurons(a, b, r1, r2[_turned(count, _GOLDEN)]), Kept(equal(count), a)

    def own(self, model: TwoGaussiansModel, start: Start) -> tuple[Neurons, Kept]:
        """The neurons of the network as particles, with all of their numbers."""
        a = start.measured.a
        return Neurons(a, start.bias, *_norms(model, start)), Kept(equal(model.width), a)

    def field(self, model: TwoGaussiansModel, kept: Kept) -> Trained:
        """The field, in which only what is trained moves and decays."""
        inner = AnisotropicField(model.activation, model.Delta, _sizes(model), model.train_a, model.train_b)
        rates = Neurons(*(jnp.reshape(x, 1) for x in (model.eta_a * model.train_a, *_parts(model, 1.0))))
        decays = Neurons(*(jnp.reshape(x, 1) for x in (model.omega_a * model.train_a, *_parts(model, model.omega))))
        return Trained(inner, rates, decays, kept.mass)

    def observe(self, model: TwoGaussiansModel, kept: Kept, particles: Neurons) -> dict[str, Float[Array, "t n ..."]]:
        """The particles themselves."""
        return {"a": particles.a, "bias": particles.b, "r1": particles.r1, "r2": particles.r2}

    def seconds(self, model: TwoGaussiansModel, count: int) -> float:
        """Count all particles in all orders of the series."""
        return (8e-7 + 2.5e-7 * len(angular_table(_sizes(model)))) * count


def gaussians_form(model: TwoGaussiansModel) -> RadialForm | AnisotropicForm:
    """The radial form where only the norm of a neuron matters, else the form with all numbers."""
    bare = model.train_w and not (model.train_a or model.offsets)
    return RadialForm() if bare and model.signal == model.size else AnisotropicForm()


def _sizes(model: TwoGaussiansModel) -> tuple[float, float]:
    """s0 and d - s0."""
    return float(model.signal), float(model.size - model.signal)


def _parts(model: TwoGaussiansModel, value: float | Array) -> tuple[Array, ...]:
    """A number for offsets and both norms, where they are trained."""
    return tuple(jnp.asarray(value * on) for on in (model.train_b, model.train_w, model.train_w))


def _norms(model: TwoGaussiansModel, start: Start) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
    assert start.weights is not None, "a start with vectors is among the needs of `own_start`"
    return part_norms(start.weights, model.signal)


def _turned(count: int, turn: float) -> Array:
    """The order of the points of a lattice along one more dimension."""
    return jnp.argsort(jnp.arange(count) * turn % 1)


def _paired(a: Float[Array, " p"], count: int) -> Float[Array, " n"]:
    """The second layers of the particles: those of the network, in an order that has nothing to do with the norms."""
    return quantiles(a, count)[_turned(count, _SILVER)]
