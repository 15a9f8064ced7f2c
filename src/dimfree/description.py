"""The seam: one protocol for theory and experiment, so that nobody who runs them asks which is which.

The type of the model says which problems a description speaks of. All that the recording loop knows is the verb `account`,
over which stand three ready kinds: evolutions, accounts with a memory, and stationary ones.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar, Generic, Literal, NamedTuple, Never, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.errors import DivergenceError
from dimfree.problem import Problem
from dimfree.programs.compiled import brief_program, keep_programs, program, quick_program
from dimfree.programs.spread import spread
from dimfree.setting import Variable

keep_programs()  # everything that compiles comes by here

_TOGETHER, _MOST = 8, 8  # replicas that are worth a group of their own, and groups at most


class Model(eqx.Module):
    """A problem in the letters of its theory sheet: static structure (one trace each) and numbers (a pytree)."""

    about: eqx.AbstractClassVar[str]  # the end of "it speaks of training on ..."


M = TypeVar("M", bound=Model, contravariant=True)
S = TypeVar("S", contravariant=True)  # the start
X = TypeVar("X")  # the state of an evolution
Observed = dict[str, Float[Array, "t r ..."]]
Times = np.ndarray[tuple[int], np.dtype[np.float64]]
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Cost(NamedTuple):
    """What a run will take, known before it starts."""

    seconds: float  # CPU seconds on a machine like the ones in benchmarks/, compilation included
    steps: float  # sequential steps: of SGD, or a guess for a solver
    memory: float  # bytes, beside those of the process itself


class Reached(NamedTuple):
    """Where an account has come to: how many times or replicas are done, and the arrays of an evolution's state there."""

    upto: int
    state: tuple[Array, ...] = ()


class Ask(NamedTuple):
    """What is wanted of a description: when, how many, by which randomness, and what of it is there already."""

    times: Times
    replicas: int
    key: Key[Array, ""]
    reached: Reached = Reached(0)


class Piece(NamedTuple):
    """A part of an account; pieces are joined along `along`. Progress, interruption and checkpoints hang on pieces."""

    observables: Mapping[str, Values]  # with leading axes (time, replica)
    along: Literal["time", "replica"]
    done: float  # share of the work, 0 to 1
    reached: Reached | None = None  # from where the account can be continued, if it can


class Description(eqx.Module, Generic[M, S]):
    """One account of a training run: a limit, or the real thing."""

    name: eqx.AbstractClassVar[str]  # the word at the command line
    summary: eqx.AbstractClassVar[str]  # one line for `dimfree list`
    cites: eqx.AbstractClassVar[tuple[str, ...]]  # keys into references.bib
    models: eqx.AbstractClassVar[type[Model]]  # what it speaks of
    real: ClassVar[bool] = False  # an experiment: theories are measured against it
    stochastic: ClassVar[bool] = False
    scatters: ClassVar[bool] = (
        False  # its replicas scatter as runs of SGD do; otherwise they are estimates of one number
    )
    needs: ClassVar[frozenset[str]] = frozenset()  # of the start, in the words of its setting
    variables: ClassVar[Mapping[str, Variable]] = {}  # observables of its own, beside those of its setting
    label: str = eqx.field(default="", kw_only=True, static=True)  # tells two of one theory apart

    @property
    def title(self) -> str:
        """How results, tables and legends call it."""
        return self.label or self.name

    @property
    def settings(self) -> dict[str, object]:
        """Its own fields, which belong to what identifies a result."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.name != "label"}

    def refuses(self, problem: Problem, model: M) -> str | None:
        """Why it does not hold here, in one sentence; None when it does."""
        return None

    @abstractmethod
    def cost(self, problem: Problem, model: M) -> Cost:
        """What running this problem to `run.until` would take."""

    def accuracy(self, problem: Problem, model: M) -> float:
        """The relative deviation from real SGD that it leaves open by its own account; 0 for what is exact."""
        return 0.0

    def leaves_open(self, problem: Problem, model: M) -> str:
        """What that accuracy depends on most, in words that follow on it, such as "at width 4"; empty for what is exact."""
        return ""

    @abstractmethod
    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """The account, piece by piece."""

    def warns(self, problem: Problem, model: M, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """What to distrust in an account that was given, one sentence each, in the light of all it observed."""
        return ()


AnyDescription = Description[Never, Never]  # of whatever model and start


class Dynamics(eqx.Module, Generic[M, S, X]):
    """A state that is advanced, without memory; pure, so that jit and vmap pass through, and grad for theories."""

    real: ClassVar[bool] = False

    @abstractmethod
    def begin(self, model: M, start: S, replicas: int, key: Key[Array, ""]) -> X:
        """The state at time 0."""

    @abstractmethod
    def advance(self, model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
        """The state at the last of `times`, and what is observed at each of them; one replica for a deterministic theory."""

    def run(self, model: M, start: S, times: Float[Array, " t"], key: Key[Array, ""], replicas: int = 1) -> Observed:
        """Observables at `times`, in one pure call."""
        return self.advance(model, self.begin(model, start, replicas, key), times)[1]


class Evolution(Dynamics[M, S, X], Description[M, S], Generic[M, S, X]):
    """Memoryless: the account of a dynamics, its own or that of its twin."""

    chunk: ClassVar[int] = 1  # how many times one call of `advance` answers

    def failure(self, model: M, state: X) -> str | None:
        """Why the state is no longer to be trusted (a solver gave up), in one sentence; None while all is well."""
        return None

    def twin(self, model: M) -> tuple[Dynamics[M, S, X], M]:
        """Whose program runs it, and with what numbers: what is a special case of another is not compiled itself."""
        return self, model

    def runner(self, model: M) -> tuple[Dynamics[M, S, X], M]:
        """Its twin, if it names one itself: a subclass that changes anything has a program of its own."""
        return self.twin(model) if "twin" in vars(type(self)) else (self, model)

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Chunks of times, all of one shape, so that there is one compilation; groups of replicas share the cores."""
        count, size = len(ask.times), min(self.chunk, len(ask.times))
        twin, numbers = self.runner(model)
        groups = _groups(ask) if self.stochastic else [ask._replace(replicas=1)]
        states = [_begin(twin, numbers, start, group.replicas, group.key) for group in groups]
        if ask.reached.upto:
            states = jax.tree.unflatten(jax.tree.structure(states), ask.reached.state)
        for first in range(ask.reached.upto, count, size):
            asked = ask.times[first : first + size]
            padded = jax.device_put(np.pad(asked, (0, size - len(asked)), mode="edge"))
            _ADVANCED[twin.real].prepare(twin, numbers, states[0], padded)
            found = spread(partial(_advance_group, twin, numbers, padded), states)
            states, seen = [state for state, _ in found], [seen for _, seen in found]
            if why := next(filter(None, (self.failure(model, state) for state in states)), None):
                raise DivergenceError(why)
            joined = {name: np.concatenate([one[name] for one in seen], axis=1) for name in seen[0]}
            values = {name: x[: len(asked), : ask.replicas] for name, x in joined.items()}
            reached = Reached(first + len(asked), tuple(jax.tree.leaves(states)))
            yield Piece(values, "time", reached.upto / count, reached)


def _groups(ask: Ask) -> list[Ask]:
    """Replicas in equal groups with keys of their own: what is drawn depends on how many they are, never on the cores."""
    count = min(_MOST, -(-ask.replicas // _TOGETHER))
    if count == 1:
        return [ask]
    size = -(-ask.replicas // count)  # of all, so that one program fits; those too many are dropped
    return [ask._replace(replicas=size, key=jax.random.fold_in(ask.key, number)) for number in range(count)]


def begun(one: Dynamics[M, S, X], model: M, start: S, replicas: int, key: Key[Array, ""]) -> X:
    """Where an evolution begins, in the types of what it goes on with."""
    state: X = jax.tree.map(_as_computed, one.begin(model, start, replicas, key))
    return state


def _as_computed(leaf: object) -> object:
    """Numbers of the type that `advance` gives them: a constant of a weaker type would have it compiled twice."""
    if not isinstance(leaf, jax.Array) or jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return jax.lax.convert_element_type(leaf, leaf.dtype)


def advanced(one: Dynamics[M, S, X], model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
    """Where it goes from there."""
    return one.advance(model, state, times)


_begin = brief_program(begun)
_ADVANCED = {False: quick_program(advanced), True: program(advanced)}  # by whether it is real, and its loops long


def _advance(one: Dynamics[M, S, X], model: M, state: X, times: Float[Array, " t"]) -> tuple[X, Observed]:
    return _ADVANCED[one.real](one, model, state, times)


def _advance_group(
    one: Dynamics[M, S, X], model: M, times: Float[Array, " t"], state: X
) -> tuple[X, Mapping[str, Values]]:
    """One group of replicas, to the end of what jax would only begin."""
    state, seen = _advance(one, model, state, times)
    return state, {name: np.asarray(x) for name, x in seen.items()}


class Memory(Description[M, S]):
    """Nothing of the past is forgotten: all times at once, one independent replica (data set, ensemble) after another."""

    @abstractmethod
    def replica(self, model: M, start: S, times: Times, key: Key[Array, ""], number: int) -> Mapping[str, Values]:
        """Replica number `number`: observables with the time first. It depends on the key and its number alone."""

    def replicas(self, model: M, asked: int) -> int:
        """How many there will be."""
        return asked if self.stochastic else 1

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Replica by replica."""
        count = self.replicas(model, ask.replicas)
        for number in range(ask.reached.upto, count):
            seen = self.replica(model, start, ask.times, ask.key, number)
            values = {name: x[:, None] for name, x in seen.items()}
            yield Piece(values, "replica", (number + 1) / count, Reached(number + 1))


class Stationary(Description[M, S]):
    """Where training ends: no time. Beside runs it is lifted to a constant line."""

    @abstractmethod
    def solve(self, model: M) -> Mapping[str, Float[Array, "..."]]:
        """Observables at the end, without axes of time and replica."""

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """The same at every time."""
        found = {name: np.asarray(x) for name, x in self.solve(model).items()}
        yield Piece({k: np.broadcast_to(x, (len(ask.times), 1, *x.shape)) for k, x in found.items()}, "time", 1.0)
