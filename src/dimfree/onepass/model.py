"""What a one-pass problem becomes for the numerical rooms: static structure (one trace each) and numbers (a pytree).

The canonical convention (docs/theory/committee.md, section 0) is reached here: whatever the scaling of the two networks,
f = (1/p) sum_i a_i sigma(lambda_i + b_i) and f* = (1/k) sum_r a*_r sigma*(lambda*_r) from here on. Numbers become arrays
by `jax.device_put`, because `jnp.asarray` compiles a little program for every shape that it meets.
"""

from abc import abstractmethod
from functools import lru_cache
from math import sqrt
from typing import ClassVar, TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dimfree.description import Model
from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.functions.fourier import FourierSum
from dimfree.functions.named import activation
from dimfree.functions.schedule import Schedule, schedule
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.onepass.law import HypercubeLaw, Law, TeacherLaw, TwoGaussiansLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import Hypercube, MultiIndex, Teacher, TwoGaussians
from dimfree.onepass.sections.network import prefactor

_STIFF = 4, 5  # powers of ten of eta_a that are told apart: each is a trace of its own


class OnePassModel(Model):
    """Network and training rule in canonical letters; a pytree whose leaves are the numbers."""

    about: ClassVar[str] = "fresh samples"
    width: int = eqx.field(static=True)  # p
    batch: int = eqx.field(static=True)
    train_w: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    train_a: bool = eqx.field(static=True)
    offsets: bool = eqx.field(static=True)  # whether a b is not zero, or may become so
    spherical: bool = eqx.field(static=True)
    noisy: bool = eqx.field(static=True)
    all_scheduled: bool = eqx.field(static=True)  # decay and noise follow the schedule too
    few_dimensions: int | None = eqx.field(static=True)  # d, when so small that it is a shape in overlap space
    stiffness: int = eqx.field(static=True)  # a power of ten that eta_a reaches, 0 where it matters to no solver
    activation: Activation
    schedule: Schedule
    dimension: Float[Array, ""]  # d
    gamma: Float[Array, ""]
    eta_a: Float[Array, ""]
    omega: Float[Array, ""]  # decay of the first layer and of the offsets
    omega_a: Float[Array, ""]
    temperature: Float[Array, ""]  # 1/beta

    @property
    @abstractmethod
    def law(self) -> Law:
        """Inputs and labels."""

    @property
    def time_step(self) -> Float[Array, ""]:
        """dt = gamma / (p d)."""
        return self.gamma / (self.width * self.dimension)

    @property
    def fluctuation(self) -> float:
        """sqrt(gamma/(p d batch)): how far SGD strays in a time of order one (docs/theory/committee.md, section 4)."""
        return sqrt(float(self.gamma) / (self.width * float(self.dimension)) / self.batch)

    @property
    def beta_eff(self) -> Float[Array, ""]:
        """2c/v of a step with drift -c eps grad Psi and noise of variance v eps, here c = 1 (docs/theory/mean-field.md, c)."""
        return 1 / self.temperature

    def rates(
        self, step: Int[Array, "..."], active: Bool[Array, "..."]
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Factors on the gradient, and on decay and noise, in this step; zero for a step that is not taken."""
        factor = jnp.where(active, self.schedule(step * self.time_step), 0.0)
        return factor, factor if self.all_scheduled else jnp.where(active, 1.0, 0.0)


class TeacherModel(OnePassModel):
    """Isotropic Gaussian inputs, labels from a function of a few directions."""

    about: ClassVar[str] = "fresh samples of a teacher"
    target: Target
    Delta: Float[Array, ""]  # variance of the label noise

    @property
    def law(self) -> TeacherLaw:
        """Gaussian inputs, the target's labels."""
        return TeacherLaw(self.target, self.Delta)

    @property
    def units(self) -> int:
        """k, the number of teacher directions."""
        return self.target.units


class TwoGaussiansModel(OnePassModel):
    """Two centred Gaussians, told apart by their variance."""

    about: ClassVar[str] = "fresh samples of two Gaussians"
    size: int = eqx.field(static=True)  # d, as a shape
    signal: int = eqx.field(static=True)  # s0
    Delta: Float[Array, ""]  # contrast

    @property
    def law(self) -> TwoGaussiansLaw:
        """Labels first, inputs stretched by them."""
        return TwoGaussiansLaw(self.signal, self.Delta)


class HypercubeModel(OnePassModel):
    """Signs as inputs, of which a few decide the label."""

    about: ClassVar[str] = "fresh samples of the hypercube"
    coordinates: tuple[int, ...] = eqx.field(static=True)  # which coordinates z are, counted from 0
    target: FourierSum
    Delta: Float[Array, ""]  # variance of the label noise

    @property
    def law(self) -> HypercubeLaw:
        """Signs, and the label of a few of them."""
        return HypercubeLaw(self.coordinates, self.target, self.Delta)


class _Rule(TypedDict):
    """What all models share."""

    width: int
    batch: int
    train_w: bool
    train_b: bool
    train_a: bool
    offsets: bool
    spherical: bool
    noisy: bool
    all_scheduled: bool
    few_dimensions: int | None
    stiffness: int
    activation: Activation
    schedule: Schedule
    dimension: Float[Array, ""]
    gamma: Float[Array, ""]
    eta_a: Float[Array, ""]
    omega: Float[Array, ""]
    omega_a: Float[Array, ""]
    temperature: Float[Array, ""]


@lru_cache(maxsize=64)
def model(problem: OnePassProblem) -> TeacherModel | TwoGaussiansModel | HypercubeModel:
    """The model of a problem."""
    rule, data = _rule(problem), problem.data
    if isinstance(data, TwoGaussians):
        return TwoGaussiansModel(
            **rule, size=problem.dimension, signal=problem.signal, Delta=jax.device_put(data.contrast)
        )
    if isinstance(data, Hypercube):
        supports = tuple(tuple(data.coordinates.index(i) for i in support) for support in data.supports)
        target = FourierSum(len(data.coordinates), supports, jax.device_put(np.array(data.weights)))
        return HypercubeModel(
            **rule, coordinates=tuple(i - 1 for i in data.coordinates), target=target, Delta=jax.device_put(data.noise)
        )
    return TeacherModel(**rule, target=_target(problem, data), Delta=jax.device_put(data.noise))


def teacher_model(problem: OnePassProblem) -> TeacherModel:
    """The model of a problem with a teacher."""
    found = model(problem)
    assert isinstance(found, TeacherModel), f"{problem.data.kind} has no teacher"
    return found


def _rule(problem: OnePassProblem) -> _Rule:
    training, network = problem.training, problem.network
    blocked = block_steps(training.batch) * training.batch
    stretch = network.width * prefactor(network.scaling, network.width)  # a = stretch * (the user's second layer)
    decay_a = training.weight_decay if training.second_layer_decay == "same" else training.second_layer_decay
    beta, eta_a = training.inverse_temperature, training.second_layer_rate * stretch**2
    return _Rule(
        width=network.width,
        batch=training.batch,
        train_w="first-layer" in network.trained,
        train_b="bias" in network.trained,
        train_a="second-layer" in network.trained,
        offsets=network.has_offsets,
        spherical=training.spherical,
        noisy=beta is not None,
        all_scheduled=training.scheduled == "everything",
        few_dimensions=problem.dimension if problem.dimension < network.width + problem.data.units + blocked else None,
        stiffness=_stiffness(eta_a) if "second-layer" in network.trained else 0,
        activation=_learning(activation(network.activation)),
        schedule=schedule(training.schedule),
        dimension=jax.device_put(float(problem.dimension)),
        gamma=jax.device_put(training.learning_rate),
        eta_a=jax.device_put(eta_a),
        omega=jax.device_put(training.weight_decay),
        omega_a=jax.device_put(decay_a),
        temperature=jax.device_put(1 / beta if beta is not None else 0.0),
    )


def _stiffness(eta_a: float) -> int:
    return max((power for power in _STIFF if eta_a >= (1 - 1e-9) * 10.0**power), default=0)


def _learning(sigma: Activation) -> Activation:
    if sigma.is_constant:
        raise ProblemError(
            f"network.activation ({sigma.name}) is constant, so that nothing can be learned; choose another one."
        )
    return sigma


def block_steps(batch: int) -> int:
    """How many steps of SGD are taken as one block: about sixteen samples, at least one step."""
    return max(1, 16 // batch)


def second_layer(problem: OnePassProblem) -> Float[Array, " p"]:
    """The canonical second layer at the start."""
    network = problem.network
    match network.second_layer_start:
        case "signs":
            a = 1.0 - 2.0 * (np.arange(network.width) % 2)
        case "uniform":
            a = (2 * np.arange(network.width) + 1) / network.width - 1
        case given:
            a = np.broadcast_to(np.asarray(given, dtype=float), (network.width,))
    return jax.device_put(a * network.width * prefactor(network.scaling, network.width))


def _target(problem: OnePassProblem, data: Teacher | MultiIndex) -> Target:
    P = jax.device_put(problem.teacher_overlap)
    if isinstance(data, MultiIndex):
        terms, coefficients = data.expansion
        return HermiteLink(terms, jax.device_put(np.array(coefficients)), P)
    stretch = data.units * prefactor(data.scaling, data.units)
    a_star = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,)) * stretch
    return Committee(activation(data.activation), jax.device_put(a_star), P)
