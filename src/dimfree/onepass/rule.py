"""The training rule and the network in canonical letters, which all models of one-pass SGD share.

The canonical convention (docs/theory/committee.md, section 0) is reached here: whatever the scaling of the network,
f = (1/p) sum_i a_i sigma(lambda_i + b_i) from here on, with a row of a for each of several outputs. Numbers become arrays by
`jax.device_put`, because `jnp.asarray` compiles a little program for every shape that it meets.

The model of a kind of data answers all that depends on the data: SGD and the limits ask the model, never which kind it is.
"""

from abc import abstractmethod
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from dimfree.description import Model, Observed
from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import SampleLoss
from dimfree.functions.schedule import Schedule, schedule
from dimfree.machine import refuse_above_memory
from dimfree.onepass.law import Law
from dimfree.onepass.loss import norm_limit, sample_loss
from dimfree.onepass.weights import Network
from dimfree.problem.network import canonical_layer, prefactor
from dimfree.problem.start import OverlapStart

if TYPE_CHECKING:  # a kind from another package imports the rule while the problem is made
    from dimfree.onepass.directions import TargetModel
    from dimfree.onepass.fields.form import Form
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.projected_model import ProjectedModel

_LAYERS = 4  # arrays with one number per unit that are in memory together
_STIFF = 4, 5  # powers of ten of eta_a that solvers distinguish; each is compiled separately


class OnePassModel(Model):
    """Network and training rule in canonical letters; a pytree whose leaves are the numbers."""

    about: ClassVar[str] = "fresh samples"
    instead_of_pde: ClassVar[str] = "sgd"  # what to use where `pde` is not derived
    width: int = eqx.field(static=True)  # p
    outputs: int = eqx.field(static=True)  # C; the second layer is a vector where there is one, else a matrix
    batch: int = eqx.field(static=True)
    train_w: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)
    train_a: bool = eqx.field(static=True)
    offsets: bool = eqx.field(static=True)  # whether a b is not zero, or may become so
    spherical: bool = eqx.field(static=True)
    momentum: bool = eqx.field(static=True)  # whether velocities are carried on
    nesterov: bool = eqx.field(static=True)
    noisy: bool = eqx.field(static=True)
    all_scheduled: bool = eqx.field(static=True)  # decay and noise follow the schedule too
    few_dimensions: int | None = eqx.field(static=True)  # d, if so small that shapes in overlap space depend on it
    stiffness: int = eqx.field(static=True)  # a power of ten that eta_a reaches, 0 where it matters to no solver
    beyond_square: str | None = eqx.field(static=True)  # what equations of the square loss of values do not hold for
    activation: Activation
    loss: SampleLoss  # its error clipped, if that is asked for
    clip_norm: Float[Array, ""] | None  # a gradient of the first layer with a larger norm is shortened to this
    schedule: Schedule
    dimension: Float[Array, ""]  # d
    gamma: Float[Array, ""]
    beta: Float[Array, ""]  # momentum: the share of a velocity that is carried on
    eta_a: Float[Array, ""]
    omega: Float[Array, ""]  # decay of the first layer and of the offsets
    omega_a: Float[Array, ""]
    temperature: Float[Array, ""]  # temperature of the noise on weights

    @property
    @abstractmethod
    def law(self) -> Law:
        """Inputs and labels."""

    @property
    def units(self) -> int:
        """How many directions of weights, the teachers, are drawn with a start."""
        return 0

    @property
    def taught(self) -> "TargetModel | None":
        """The same model where labels are a function of a few directions, plus noise; None where they are not."""
        return None

    @property
    def projected(self) -> "ProjectedModel | None":
        """The same model where the network sees inputs through a random projection; None where it does not."""
        return None

    @property
    def form(self) -> "Form[Any] | None":
        """The particles whose law `pde` follows, of the fewest numbers that the problem allows; None where it is not derived."""
        return None

    @property
    def draw_seconds(self) -> float:
        """Predict the cost of one input beyond its d random numbers."""
        return 0.0

    @property
    def rows_only(self) -> str | None:
        """Why labels of this problem exist on the user's rows alone, in one sentence; None where they do not."""
        return None

    @property
    def too_large(self) -> str | None:
        """Why weight vectors of this problem do not fit into memory, in one sentence."""
        return None

    @abstractmethod
    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Keep what is needed of a network at an asked time."""

    @abstractmethod
    def look_seconds(self, replicas: int) -> float:
        """Predict the cost of one look at all networks."""

    @abstractmethod
    def risks(self, network: Network) -> Float[Array, " r"]:
        """Population risks, each from the state of one network."""

    def observe(self, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """Observables at all times, from what was kept of networks."""
        return looks

    @property
    def time_step(self) -> Float[Array, ""]:
        """dt = gamma / (p d), with momentum Gamma / (p d)."""
        return self.effective_rate / (self.width * self.dimension)

    @property
    def effective_rate(self) -> Float[Array, ""]:
        """How far a sample moves the weights in the end: gamma, with momentum Gamma = gamma/(1 - beta)."""
        return self.gamma / (1 - self.beta) if self.momentum else self.gamma

    @property
    def theta(self) -> Float[Array, ""]:
        """(1 - beta)/dt: at which rate velocities relax, per unit of time (docs/theory/structured.md, section 4.1)."""
        return (1 - self.beta) / self.time_step

    @property
    def fluctuation(self) -> float:
        """sqrt(gamma/(p d batch)): how far SGD deviates in a time of order one (docs/theory/committee.md, section 4)."""
        return sqrt(float(self.gamma) / (self.width * float(self.dimension)) / self.batch)

    @property
    def beta_eff(self) -> Float[Array, ""]:
        """2c/v of a step with drift -c eps grad Psi and noise of variance v eps, c = 1 (docs/theory/mean-field.md, section c)."""
        return 1 / self.temperature

    def error(self, labels: Float[Array, "..."], outputs: Float[Array, "..."]) -> Float[Array, "..."]:
        """e = -dl/df of a sample, what the gradients of all parameters are multiples of; y - f for the square loss."""
        return self.loss.error(outputs, labels)

    @property
    def plain(self) -> bool:
        """Whether this is the square loss of values with Gaussian noise, without clipping, which closed forms are known for."""
        return self.beyond_square is None

    def rates(
        self, step: Int[Array, "..."], active: Bool[Array, "..."]
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Factors on the gradient, and on decay and noise, in this step; zero for a step that is not taken."""
        factor = jnp.where(active, self.schedule(step * self.time_step), 0.0)
        return factor, factor if self.all_scheduled else jnp.where(active, 1.0, 0.0)


class DimensionFreeModel(OnePassModel):
    """A model whose neurons have a law at infinite dimension only, which leaves out weights of order d^(-1/2)."""

    about: ClassVar[str] = "fresh samples of signs"


def rule_of(problem: "OnePassProblem") -> dict[str, Any]:
    """The fields that the models of all kinds of data share."""
    training, network = problem.training, problem.network
    blocked = block_steps(training.batch) * training.batch
    stretch = network.width * prefactor(network.scaling, network.width)  # a = stretch * (the user's second layer)
    decay_a = training.weight_decay if training.second_layer_decay == "same" else training.second_layer_decay
    cold, eta_a = training.inverse_temperature, training.second_layer_rate * stretch**2
    return {
        "width": network.width,
        "outputs": network.outputs,
        "batch": training.batch,
        "train_w": "first-layer" in network.trained,
        "train_b": "bias" in network.trained,
        "train_a": "second-layer" in network.trained,
        "offsets": network.has_offsets,
        "spherical": training.spherical,
        "momentum": training.momentum > 0,
        "nesterov": training.nesterov,
        "noisy": cold is not None,
        "all_scheduled": training.scheduled == "everything",
        "few_dimensions": problem.dimension
        if problem.dimension < network.width + problem.data.units + blocked
        else None,
        "stiffness": _stiffness(eta_a) if "second-layer" in network.trained else 0,
        "beyond_square": problem.beyond_square,
        "loss": sample_loss(training, classes=problem.data.signs),
        "clip_norm": norm_limit(training),
        "activation": _learning(problem, activation(network.activation)),
        "schedule": schedule(training.schedule),
        "dimension": jax.device_put(float(problem.dimension)),
        "gamma": jax.device_put(training.learning_rate),
        "beta": jax.device_put(training.momentum),
        "eta_a": jax.device_put(eta_a),
        "omega": jax.device_put(training.weight_decay),
        "omega_a": jax.device_put(decay_a),
        "temperature": jax.device_put(1 / cold if cold is not None else 0.0),
    }


def _stiffness(eta_a: float) -> int:
    return max((power for power in _STIFF if eta_a >= (1 - 1e-9) * 10.0**power), default=0)


def _learning(problem: "OnePassProblem", sigma: Activation) -> Activation:
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


def few_directions(multiplicities: Int[np.ndarray, " b"], vectors: int, batch: int) -> tuple[int | None, ...]:
    """d_b of levels that have fewer directions than the vectors and inputs which a block of SGD holds."""
    held = vectors + block_steps(batch) * batch
    return tuple(int(d) if d < held else None for d in multiplicities)


def second_layer(problem: "OnePassProblem") -> Float[Array, "*outputs p"]:
    """The canonical second layer at the start."""
    network = problem.network
    refuse_above_memory(
        _LAYERS * 8.0 * network.width * network.outputs,
        f"a second layer of {network.width} units",
        "lower network.width",
    )
    return jax.device_put(canonical_layer(network))
