"""Random dynamics whose steps are pure functions of standard random numbers, which any generator in any language can supply."""

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int

from dimfree.description.contract import M, Observed, S

N = TypeVar("N")  # the state of one replica


class Draws(NamedTuple):
    """The independent random numbers of one block."""

    normals: Float[Array, " n"]  # standard ones
    uniforms: Float[Array, " u"]  # from [0, 1)
    chi_squares: Float[Array, " c"]


class Block(NamedTuple):
    """What one block takes."""

    steps: int
    normals: int
    uniforms: int
    freedom: Float[Array, " c"]  # degrees of freedom of its chi-squared numbers


class Drawn(eqx.Module, Generic[M, S, N]):
    """Steps in blocks, each a pure function of the state of one replica and of draws."""

    @abstractmethod
    def block(self, model: M) -> Block | str:
        """The random numbers that a block takes; or a sentence that says why its steps are not a function of such numbers."""

    @abstractmethod
    def enter(self, model: M, start: S) -> N:
        """The state of one replica at the start."""

    @abstractmethod
    def through(self, model: M, state: N, draws: Draws, first: Int[Array, ""], active: Int[Array, ""]) -> N:
        """The state after the first `active` steps of a block that begins with step number `first`."""

    @abstractmethod
    def seen(self, model: M, state: N) -> Observed:
        """Observables of one replica, with leading axes (time, replica) of length one."""

    @abstractmethod
    def pace(self, model: M) -> Float[Array, ""]:
        """The time that one step takes."""
