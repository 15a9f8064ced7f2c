"""Distributional dynamics on two centred Gaussians as a description (docs/theory/mean-field.md, sections a to c).

The limit of many neurons and small steps. The law of the neurons is a cloud of particles that starts from quantiles of the law of
the start. The equations are those of the dimension d of the problem. Where only the first layer of sigma(<w, x>) is trained on
isotropic data a particle is the norm r of a neuron, with noise if asked for. With offsets, second layer or a subspace it is
(a, b, r1, r2). The risk is R/2, and the schedule acts as a clock.
"""

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from dimfree.description import Cost, TwoGaussiansDescription
from dimfree.onepass.gaussians_model import NeuronModel, neuron_model
from dimfree.onepass.gaussians_start import NeuronStart, Seen, norms
from dimfree.gaussian.two_directions import angular_table
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.onepass.fields.anisotropic import Neurons, anisotropic
from dimfree.onepass.fields.field import Field, clock, solve
from dimfree.onepass.fields.noisy import bath, langevin
from dimfree.onepass.fields.radial import RadialField, quantile_radii, two_gaussians

_GOLDEN = (5**0.5 - 1) / 2
_FINER = 10  # times more steps with noise, which are of first order


class Cloud(NamedTuple):
    """Particles at time 0, the randomness of noisy runs, and whether the risk has fallen all the way."""

    particles: Any
    key: Key[Array, ""]
    falls: Bool[Array, ""]


class Trained(Field):
    """A field in which only what is trained moves and decays; what falls is R + lambda int |theta|² (section c)."""

    inner: Field
    moves: Any  # one or zero per kind of parameter
    decay: Float[Array, ""]

    def terms(self, particles: Any) -> tuple[Any, Float[Array, ""]]:
        """The velocities, and the falling functional."""
        velocity, risk = self.inner.terms(particles)
        squares = jax.tree.map(lambda on, x: jnp.mean(on * x**2), self.moves, particles)
        moved = jax.tree.map(lambda on, v, x: on * (v - self.decay * x), self.moves, velocity, particles)
        return moved, risk + self.decay * jax.tree.reduce(jnp.add, squares)

    def projected(self, particles: Any) -> Any:
        """Those of the inner field."""
        return self.inner.projected(particles)


class DistributionalDynamics(TwoGaussiansDescription):
    """Many neurons as a flow of their law; `own_start` begins with the network's neurons instead of the law of the start."""

    name: ClassVar[str] = "pde"
    summary: ClassVar[str] = (
        "mean-field limit on two centred Gaussians: the law of the neurons, at the dimension of the problem"
    )
    cites: ClassVar[tuple[str, ...]] = ("mei2018", "mei2019")
    chunk: ClassVar[int] = 1_000_000
    compiled: ClassVar[bool] = False
    particles: int = eqx.field(default=400, static=True)
    step: float = eqx.field(default=0.02, static=True)
    own_start: bool = eqx.field(default=False, static=True)

    def refuses(self, problem: TwoGaussiansProblem) -> str | None:
        """Directions need two dimensions to be random in, and noise is reduced to norms of neurons only."""
        if min(size for size in (problem.signal, problem.dimension - problem.signal) if size) < 2:
            return (
                "norms of random directions need two dimensions; give both parts of the inputs at least 2 coordinates."
            )
        if problem.training.inverse_temperature and not neuron_model(problem).only_norms:
            return (
                "with noise the reduced equation is for the norms of neurons sigma(<w, x>) on isotropic data; leave out "
                "training.inverse_temperature, or train the first layer only, with bias 0, second layer 1 and no data.signal."
            )
        return None

    def cost(self, problem: TwoGaussiansProblem) -> Cost:
        """Four evaluations a step, each of all particles at all nodes, or in all orders of the series."""
        n, only_norms = problem.network.width if self.own_start else self.particles, neuron_model(problem).only_norms
        steps = problem.run.until / self.step * (_FINER if problem.training.inverse_temperature else 1)
        evaluation = 8e-7 if only_norms else 8e-7 + 2.5e-7 * len(angular_table(_sizes(problem)))
        return Cost(4.0 + 4 * steps * n * evaluation, steps, 1e8 + 32.0 * n * len(problem.times))

    def begin(self, model: NeuronModel, start: NeuronStart, replicas: int, key: Key[Array, ""]) -> Cloud:
        """Quantile particles, or the measured parameters of the network."""
        if self.own_start:
            neurons = Neurons(start.a, start.bias, *norms(start.weights, model.signal))
        else:
            neurons = _quantiles(model, start, self.particles)
        return Cloud(neurons.r1 if model.only_norms else neurons, key, jnp.asarray(True))

    def advance(self, model: NeuronModel, state: Cloud, times: Float[Array, " t"]) -> tuple[Cloud, Seen]:
        """The cloud at all times, from time 0."""
        passed = clock(model.schedule, times)
        if model.noisy:
            heat = bath(model.dimension, float(model.beta_eff), float(model.decay))
            step = jnp.asarray(self.step / _FINER)
            r, risk = langevin(_radial(model), heat, state.particles, passed, step, state.key)
            return state, _seen(r, risk)
        field, moves = (_radial(model), jnp.ones(1)) if model.only_norms else _general(model)
        run = solve(Trained(field, moves, model.decay), state.particles, passed, self.step)
        risk = jax.lax.map(lambda now: field.terms(now)[1], run.particles)
        return state._replace(falls=jnp.all(run.falls)), _seen(run.particles, risk)

    def failure(self, model: NeuronModel, state: Cloud) -> str | None:
        """A flow down the risk that goes up was solved with too large steps."""
        if bool(state.falls):
            return None
        return f"pde: the risk rose along the flow, so steps of {self.step:g} are too large; give it a smaller `step`."


def _radial(model: NeuronModel) -> RadialField:
    return two_gaussians(model.activation, float(model.Delta), float(model.dimension))


def _general(model: NeuronModel) -> tuple[Field, Neurons]:
    """The field, and what moves in it."""
    field = anisotropic(
        model.activation, float(model.Delta), _sizes(model), train_a=model.train_a, train_b=model.train_b
    )
    trained = (model.train_a, model.train_b, model.train_w, model.train_w)
    return field, Neurons(*(jnp.full(1, 1.0 * on) for on in trained))


def _sizes(given: NeuronModel | TwoGaussiansProblem) -> tuple[float, float]:
    """s0 and d - s0."""
    return float(given.signal), float(given.dimension - given.signal)


def _quantiles(model: NeuronModel, start: NeuronStart, count: int) -> Neurons:
    """The law of the start as particles: quantiles of each norm, paired as in a Fibonacci lattice where there are two."""
    d, kappa = model.dimension, start.scale
    r1, r2 = (quantile_radii(kappa * (s / d) ** 0.5, count, s) if s else jnp.zeros(count) for s in _sizes(model))
    order = jnp.argsort(jnp.arange(count) * _GOLDEN % 1)
    return Neurons(jnp.full(count, start.a[0]), jnp.full(count, start.bias[0]), r1, r2[order])


def _seen(particles: Float[Array, "t n"] | Neurons, risk: Float[Array, " t"]) -> Seen:
    """One replica; section a has R = E(y - f)², of which the canonical risk is half."""
    if isinstance(particles, Neurons):
        letters = (particles.a, particles.b, particles.r1, particles.r2)
    else:
        letters = (jnp.ones_like(particles), jnp.zeros_like(particles), particles, jnp.zeros_like(particles))
    a, b, r1, r2 = (letter[:, None] for letter in letters)
    return Seen(a, b, r1, r2, risk[:, None] / 2)
