"""What a description is asked, what it is given and what it returns.

The type of the model says which problems a description applies to. The recording loop calls nothing but `account`.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Generic, Literal, NamedTuple, Never, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.problem import Problem
from dimfree.setting import Variable


class Model(eqx.Module):
    """A problem in the letters of its theory sheet: a static structure, for which jax compiles once, and numbers (a pytree)."""

    about: eqx.AbstractClassVar[str]  # completes the sentence "it describes training on ..."


M = TypeVar("M", bound=Model, contravariant=True)
S = TypeVar("S", contravariant=True)  # the start
X = TypeVar("X")  # the state of an evolution
Observed = dict[str, Float[Array, "t r ..."]]
Times = np.ndarray[tuple[int], np.dtype[np.float64]]
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@runtime_checkable
class PartialStart(Protocol):
    """A start that can drop what a description does not need, so that its compiled program does not depend on it."""

    def only(self, needs: frozenset[str]) -> "PartialStart":
        """The start, reduced to what is needed."""


class Cost(NamedTuple):
    """What a run will take, known before it starts."""

    seconds: float  # CPU seconds on a machine like the ones in benchmarks/, compilation included
    steps: float  # sequential steps: of SGD, or a guess for a solver
    memory: float  # bytes, in addition to those of the process itself


class Reached(NamedTuple):
    """How far an account has come: how many times or replicas are done, and the state of an evolution at that point."""

    upto: int
    state: tuple[Array, ...] = ()


class Ask(NamedTuple):
    """What a description is asked for."""

    times: Times  # rising from 0: the saved times of the problem
    replicas: int  # how many the run asks for
    key: Key[Array, ""]  # the source of all randomness
    reached: Reached = Reached(0)  # how far a checkpoint got; the account continues from there


class Piece(NamedTuple):
    """A part of an account. The recording loop joins pieces, reports progress, writes checkpoints and stops between them."""

    observables: Mapping[str, Values]  # with leading axes (time, replica)
    along: Literal["time", "replica"]  # the axis along which pieces are joined
    done: float  # share of the work, 0 to 1
    reached: Reached | None = None  # from where the account can be continued, if it can


class Description(eqx.Module, Generic[M, S]):
    """One account of a training run: a limit, or the real thing."""

    name: eqx.AbstractClassVar[str]  # the word at the command line
    summary: eqx.AbstractClassVar[str]  # one line for `dimfree list`
    cites: eqx.AbstractClassVar[tuple[str, ...]]  # keys into references.bib
    models: eqx.AbstractClassVar[type[Model]]  # the problems that it applies to
    real: ClassVar[bool] = False  # whether it is an experiment, against which theories are measured
    experiment: ClassVar[str] = "SGD"  # what is then run, in the words of a legend
    stochastic: ClassVar[bool] = False  # whether its numbers are random, so that another key gives others
    scatters: ClassVar[bool] = (
        False  # whether replicas scatter as runs of SGD do; if not, they are estimates of one number
    )
    needs: ClassVar[frozenset[str]] = frozenset()  # what the start must have, in the words of its setting
    variables: ClassVar[Mapping[str, Variable]] = {}  # observables of its own, in addition to those of its setting
    label: str = eqx.field(default="", kw_only=True, static=True)  # distinguishes two instances of one theory

    @property
    def title(self) -> str:
        """Its name in results, tables and legends."""
        return self.label or self.name

    @property
    def settings(self) -> dict[str, object]:
        """Its own fields, which are part of a result's identity."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name != "label"}

    def refuses(self, problem: Problem, model: M) -> str | None:
        """Say why the description does not hold for a problem.

        **Arguments:**

        - `problem`: The problem as the user wrote it.
        - `model`: The same problem in letters, an instance of `models`.

        **Returns:**

        One sentence that says what was given and what to change, or `None` when the description holds.
        """
        return None

    @abstractmethod
    def cost(self, problem: Problem, model: M) -> Cost:
        """Predict what a run takes, before anything runs or compiles.

        **Arguments:**

        - `problem`: The problem, whose `run` says how long and with how many replicas.
        - `model`: The same problem in letters.

        **Returns:**

        The cost of all replicas up to `run.until`. A comparison leaves out what does not fit into its budget or into memory.
        """

    def replicas(self, model: M, asked: int) -> int:
        """Say how many replicas the account will have.

        **Arguments:**

        - `model`: The problem in letters.
        - `asked`: How many replicas the run asks for.

        **Returns:**

        As many as asked if numbers are drawn, otherwise one. A theory that estimates its numbers may have its own number.
        """
        return asked if self.stochastic else 1

    def accuracy(self, problem: Problem, model: M) -> float:
        """Say how far real SGD may be from a right account.

        **Arguments:** as `cost`.

        **Returns:**

        The relative deviation from real SGD that the description itself allows for; 0 if it is exact.
        """
        return 0.0

    def leaves_open(self, problem: Problem, model: M) -> str:
        """Say what the accuracy depends on most.

        **Arguments:** as `cost`.

        **Returns:**

        Words that follow the accuracy in a sentence, such as "at width 4"; empty if it is exact.
        """
        return ""

    @abstractmethod
    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Give the account, piece by piece.

        **Arguments:**

        - `model`: The problem in letters; `refuses` has returned `None` for it.
        - `start`: What the setting's start function returned, with all that `needs` asks for. Other descriptions get the same.
        - `ask`: The times, the number of replicas and the key; and how far an earlier account came, if one is continued.

        **Returns:**

        An iterator of pieces, all joined along the same axis. Together they have every time of `ask.times` and
        `replicas(model, ask.replicas)` replicas; of a continued account, those after `ask.reached.upto`. Equal keys give equal
        numbers. The `done` of the last piece is 1.
        """

    def warns(self, problem: Problem, model: M, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """Say what to distrust in a finished account.

        **Arguments:**

        - `problem`: The problem as the user wrote it.
        - `model`: The same problem in letters.
        - `seen`: All observables of the account, with leading axes (time, replica).

        **Returns:**

        One sentence for each warning; none when nothing is to be distrusted.
        """
        return ()

    def details(self, problem: Problem, model: M, seen: Mapping[str, Values]) -> Mapping[str, str | int | float]:
        """Say how the numbers of a finished account were computed.

        **Arguments:**

        - `problem`: The problem as the user wrote it.
        - `model`: The same problem in letters.
        - `seen`: All observables of the account, with leading axes (time, replica).

        **Returns:**

        Attributes of the results file, in addition to those of every account; none by default.
        """
        return {}


AnyDescription = Description[Never, Never]  # for any model and start


class Dynamics(eqx.Module, Generic[M, S, X]):
    """A state that is advanced in time, without memory. Methods are pure: jit and vmap pass through, and grad for theories."""

    real: ClassVar[bool] = False

    @abstractmethod
    def begin(self, model: M, start: S, replicas: int, key: Key[Array, ""]) -> X:
        """Make the state at time 0.

        **Arguments:**

        - `model`: The problem in letters.
        - `start`: What the setting's start function returned.
        - `replicas`: How many replicas the state holds; 1 for a deterministic theory.
        - `key`: The source of all randomness of the run. What needs it later keeps it in the state.

        **Returns:**

        A pytree of arrays. Its structure, shapes and types are those that `advance` returns.
        """

    @abstractmethod
    def advance(self, model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
        """Advance the state through some times.

        **Arguments:**

        - `model`: The problem in letters.
        - `state`: What `begin` or an earlier call returned.
        - `times`: Rising times, none earlier than those of earlier calls. The last one may be repeated.

        **Returns:**

        A tuple of two objects:

        - The state at the last of `times`. To advance it in two calls gives the same as in one.
        - What is observed at each of `times`, by name, with leading axes (time, replica).
        """

    def run(self, model: M, start: S, times: Float[Array, " t"], key: Key[Array, ""], replicas: int = 1) -> Observed:
        """Begin and observe at `times` in one pure call; the arguments are those of `begin` and `advance`."""
        return self.advance(model, self.begin(model, start, replicas, key), times)[1]
