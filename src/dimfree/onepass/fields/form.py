"""How `pde` treats a kind of data: particles that stand for the law of the start, their field, and their observables."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Values
from dimfree.onepass.fields.langevin import Bath
from dimfree.onepass.fields.radial import RadialField
from dimfree.onepass.fields.trained import Trained
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start

M = TypeVar("M", bound=OnePassModel, contravariant=True)


class Kept(NamedTuple):
    """What a particle keeps: the share of the neurons it stands for, and its second layer where that is not trained."""

    mass: Float[Array, " n"]
    a: Float[Array, " n"]


class Form(eqx.Module, Generic[M]):
    """One reduction of the distributional dynamics to particles of a few numbers."""

    step: ClassVar[float]  # step of the solver, small enough for ordinary problems

    @abstractmethod
    def law(self, model: M, start: Start, count: int) -> tuple[Any, Kept]:
        """Return at most `count` particles that represent the law of a Gaussian start."""

    def size(self, model: M, alike: bool, count: int) -> int:
        """How many particles stand for the law of a start (`alike`: of one second layer) where at most `count` are wanted."""
        return count

    @abstractmethod
    def own(self, model: M, start: Start) -> tuple[Any, Kept]:
        """The neurons of the network as particles."""

    @abstractmethod
    def field(self, model: M, kept: Kept) -> Trained:
        """Return the field that moves the particles."""

    @abstractmethod
    def observe(self, model: M, kept: Kept, particles: Any) -> dict[str, Float[Array, "t n ..."]]:
        """Everything but the risk, of particles along time."""

    @abstractmethod
    def seconds(self, model: M, count: int) -> float:
        """Predict the cost of one evaluation of the field with this many particles."""

    @abstractmethod
    def refuses(self, problem: OnePassProblem, model: M) -> str | None:
        """Say what it is not derived for, in one sentence."""

    def accuracy(self, problem: OnePassProblem, model: M, own_start: bool) -> float:
        """Finite width, the draw of the start unless it is the network's own, and the fluctuations of SGD."""
        drawn = 0.0 if own_start else model.width**-0.5
        return 1 / model.width + drawn + model.fluctuation

    def warns(self, problem: OnePassProblem, model: M, seen: Mapping[str, Values], own_start: bool) -> tuple[str, ...]:
        """Say what to distrust in its account, one sentence each."""
        return ()

    def bath(self, model: M, field: Trained) -> tuple[RadialField, Bath]:
        """The field and the noise of particles that are stirred."""
        raise AssertionError("noise is among what a form refuses unless it has a bath")


def equal(count: int) -> Float[Array, " n"]:
    """Equal shares."""
    return jnp.full(count, 1 / count)


def quantiles(values: Float[Array, " p"], count: int) -> Float[Array, " n"]:
    """`count` equally likely values in increasing order."""
    return jnp.sort(values)[((np.arange(count) + 0.5) / count * values.size).astype(int)]


def repeated_in_time(x: Float[Array, " n"], times: int) -> Float[Array, "t n"]:
    """What does not move, at all times."""
    return jnp.broadcast_to(x, (times, x.size))
