"""The training rule and the network in canonical letters, which all models of one-pass SGD share.

The canonical convention (docs/theory/committee.md, section 0) is reached here: whatever the scaling of the network,
f = (1/p) sum_i a_i sigma(lambda_i + b_i) from here on.
"""

from abc import abstractmethod
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
from dimfree.functions.named import activation
from dimfree.functions.schedule import Schedule, schedule
from dimfree.onepass.law import Law
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections.network import prefactor
from dimfree.onepass.sections.start import OverlapStart

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
        """dt = gamma / (p d), with momentum Gamma / (p d)."""
        return self.effective_rate / (self.width * self.dimension)

    @property
    def effective_rate(self) -> Float[Array, ""]:
        """How far a sample moves the weights: gamma, unless momentum carries them on."""
        return self.gamma

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


class Rule(TypedDict):
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


def rule_of(problem: OnePassProblem) -> Rule:
    """The rule of a problem."""
    training, network = problem.training, problem.network
    blocked = block_steps(training.batch) * training.batch
    stretch = network.width * prefactor(network.scaling, network.width)  # a = stretch * (the user's second layer)
    decay_a = training.weight_decay if training.second_layer_decay == "same" else training.second_layer_decay
    beta, eta_a = training.inverse_temperature, training.second_layer_rate * stretch**2
    return Rule(
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
        activation=_learning(problem, activation(network.activation)),
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


def _learning(problem: OnePassProblem, sigma: Activation) -> Activation:
    if sigma.is_constant:
        raise ProblemError(
            f"network.activation ({sigma.name}) is constant, so that nothing can be learned; choose another one."
        )
    network, start = problem.network, problem.start
    alone = "second-layer" not in network.trained and not network.has_offsets
    if alone and isinstance(start, OverlapStart) and not np.any(start.Q) and not sigma.derivative(jnp.zeros(())):
        raise ProblemError(
            f"start.Q is 0 and so is the derivative of {sigma.name} there: no gradient acts, so that nothing is learned; give "
            "overlaps that are not 0."
        )
    return sigma


def block_steps(batch: int) -> int:
    """How many steps of SGD are taken as one block: about sixteen samples, at least one step."""
    return max(1, 16 // batch)
