"""Dynamics that are differential equations, as pure functions, so that any solver, in any language, can integrate them."""

from abc import abstractmethod
from typing import Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Float

from dimfree.description.contract import M, Observed, S

Y = TypeVar("Y")  # the state of the equations


class Flow(eqx.Module, Generic[M, S, Y]):
    """An ordinary differential equation: its start, its right-hand side, when it has diverged, and its observables."""

    @abstractmethod
    def initial(self, model: M, start: S) -> Y:
        """The state at time 0: the measured start, not its average, because plateaus depend on it."""

    @abstractmethod
    def velocity(self, model: M, t: Float[Array, ""], state: Y) -> Y:
        """The right-hand side."""

    @abstractmethod
    def size(self, state: Y) -> Float[Array, ""]:
        """A number that goes to infinity when the equations do."""

    @abstractmethod
    def observe(self, model: M, states: Y) -> Observed:
        """Observables of states with leading axes (time, replica)."""

    @abstractmethod
    def jumps(self, model: M) -> Float[Array, " n"]:
        """Rising times at which the right-hand side jumps or has a kink; solvers stop there."""

    @abstractmethod
    def stiff(self, model: M, state: Y) -> bool:
        """Whether explicit steps would be too many."""

    @abstractmethod
    def tolerances(self, model: M) -> tuple[float, float]:
        """The smallest relative and absolute errors per step that a solver may ask for."""
