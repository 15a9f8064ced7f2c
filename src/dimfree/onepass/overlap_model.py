"""What real SGD and the limits of overlaps ask of a model: how overlaps move on average, and their observables.

Everything that is averaged is a function of the overlaps Q, M and P. Only the model knows the laws of
inputs and labels; two properties, None by default, mark the models that need more: overlaps for every eigenvalue, or a target.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from dimfree.description import Observed
from dimfree.gaussian.loss_ladder import Averaged
from dimfree.gaussian.moments import GradientTerms
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.weights import Network
from dimfree.states.overlaps import Overlaps

if TYPE_CHECKING:
    from dimfree.onepass.structured_model import StructuredModel


class DirectionsModel(OnePassModel):
    """Inputs whose law depends on a few directions: every average over samples is a function of overlaps with them.

    Descriptions that follow overlaps ask the model for the averages that move them. Looks are those of isotropic inputs.
    """

    about: ClassVar[str] = "fresh samples of a teacher"
    instead_of_pde: ClassVar[str] = "ode or sgd"

    @property
    @abstractmethod
    def P(self) -> Float[Array, "k k"]:
        """Overlaps between the directions."""

    @abstractmethod
    def terms(self, state: Overlaps) -> GradientTerms:
        """How overlaps move on average, at leading order in the rate."""

    @abstractmethod
    def variance(self, state: Overlaps) -> Float[Array, "p p"]:
        """Psi^Var, what the squares of steps add to Q at leading order in 1/d: E[c cᵀ |x|²]."""

    @abstractmethod
    def lengthened(self, state: Overlaps) -> Float[Array, "p p"]:
        """The same as `variance`, at the dimension of the model."""

    @abstractmethod
    def risk(self, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
        """The population risk of one network."""

    @abstractmethod
    def observables(self, overlaps: Overlaps, bias: Float[Array, "t r p"] | None = None) -> Observed:
        """Overlaps, second layer, offsets if there are any, and what follows from them."""

    @property
    @abstractmethod
    def risk_seconds(self) -> float:
        """Predict the cost of the risk of one network; zero where that is negligible."""

    @abstractmethod
    def seconds(self, *, variance_on: bool) -> float:
        """Predict the cost of the averages in one right-hand side."""

    @abstractmethod
    def numbers(self) -> Iterator[tuple[str, float]]:
        """The sizes of the data that velocities grow with, by the names that a problem has for them."""

    @property
    def levels(self) -> "StructuredModel | None":
        """The same model where overlaps for every eigenvalue are needed; None on isotropic inputs."""
        return None

    @property
    def any_loss(self) -> bool:
        """Whether `terms` and `variance` are those of the loss of the model; else they are those of the square loss."""
        return False

    @property
    def roughness(self) -> float:
        """How far averages may jump as overlaps change; a solver with a smaller tolerance would take ever smaller steps."""
        return 0.0

    @property
    def averaged(self) -> Averaged | None:
        """How averages without a closed form are computed; None if all have closed forms."""
        return None

    def average_error(self, state: Overlaps) -> Float[Array, ""]:
        """The largest estimated error of these averages."""
        return jnp.zeros(())

    @property
    def no_averages(self) -> str | None:
        """Why there is no such average, in one sentence."""
        return None

    @property
    def hidden_labels(self) -> str | None:
        """Why labels are not a function of the inputs plus noise, as most equations assume, in one sentence; else None."""
        return None

    def cautions(self) -> Iterator[str]:
        """Sentences about assumptions of the overlap equations that this kind of data may violate."""
        yield from ()

    def overlap_risks(self, states: Overlaps, bias: Float[Array, "r p"]) -> Float[Array, " r"]:
        """The risks of all replicas."""
        return jax.vmap(self.risk)(states, bias)

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Overlaps, measured on the vectors, and offsets."""
        return _overlaps(network), network.scalars.bias.T

    def look_seconds(self, replicas: int) -> float:
        """Products of all vectors, and risks of networks with offsets; without any these are not worth counting."""
        n = self.width + self.units
        return replicas * (self.risk_seconds + float(self.dimension) * (1e-8 * n + 3e-10 * n**2))

    def risks(self, network: Network) -> Float[Array, " r"]:
        """The risks, from the overlaps."""
        return self.overlap_risks(*self.look(network))

    def observe(self, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        return self.observables(*looks)


def _overlaps(network: Network) -> Overlaps:
    W, d = network.students, network.students.shape[-1]
    return Overlaps(W @ jnp.swapaxes(W, 1, 2) / d, W @ network.teachers.T / d, jnp.moveaxis(network.scalars.a, -1, 0))
