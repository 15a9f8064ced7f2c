"""The seam: one protocol for theory and experiment, so that `compare` never asks which is which."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from dimfree.functions.model import Model
from dimfree.gaussian.moments import risk
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.start import Start
from dimfree.problem import Problem


class Cost(NamedTuple):
    """What a run will take, known before it starts."""

    seconds: float  # CPU seconds on a machine like the ones in benchmarks/
    steps: float  # sequential steps: of SGD, or a guess for a solver
    memory: float  # bytes


class Description(eqx.Module):
    """One account of a training run: a limit (theory/) or the real thing (simulate/).

    A description turns a start into a state and advances it; what it returns at the asked times are overlaps with leading
    axes (time, replica), one replica for a deterministic theory. `begin` and `advance` are pure: jit, vmap and (for
    theories) grad pass through.
    """

    name: eqx.AbstractClassVar[str]  # the CLI word, the legend label, the `description` coordinate
    summary: eqx.AbstractClassVar[str]  # one line for `dimfree list`
    cites: eqx.AbstractClassVar[tuple[str, ...]]  # keys into references.bib
    stochastic: ClassVar[bool] = False
    chunk: ClassVar[int] = 1  # how many times one call of `advance` answers

    def refuses(self, problem: Problem) -> str | None:
        """Why this description does not hold here, in one sentence; None when it does."""
        return None

    @abstractmethod
    def cost(self, problem: Problem) -> Cost:
        """What running this problem to `run.until` would take."""

    @abstractmethod
    def begin(self, model: Model, start: Start, replicas: int, key: Key[Array, ""]) -> Any:
        """The state at time 0."""

    @abstractmethod
    def advance(self, model: Model, state: Any, times: Float[Array, " t"]) -> tuple[Any, Overlaps]:
        """The state at the last of `times`, and the overlaps at each of them."""

    def observe(self, model: Model, overlaps: Overlaps) -> dict[str, Float[Array, "t r ..."]]:
        """Observables by their names in results/schema."""
        return {"risk": _risks(model, overlaps), "Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}

    def failure(self, model: Model, state: Any) -> str | None:
        """Why the state is no longer to be trusted (a solver gave up), in one sentence; None while all is well."""
        return None

    def run(
        self, model: Model, start: Start, times: Float[Array, " t"], key: Key[Array, ""], replicas: int = 1
    ) -> dict[str, Float[Array, "t r ..."]]:
        """Observables at `times`, in one pure call."""
        _, overlaps = self.advance(model, self.begin(model, start, replicas, key), times)
        return self.observe(model, overlaps)


def _risks(model: Model, overlaps: Overlaps) -> Float[Array, "t r"]:
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), overlaps)
    one: Callable[[Overlaps], Array] = lambda state: risk(model, state)  # noqa: E731
    values = jax.lax.map(one, flat, batch_size=min(256, flat.a.shape[0]))
    return values.reshape(overlaps.a.shape[:2])
