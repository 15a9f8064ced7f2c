"""What all problems share: a dimension, a run, a clock, TOML overrides and a content hash."""

import hashlib
import json
from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import PositiveInt

from dimfree.problem.section import Section
from dimfree.problem.run import Run

AnyProblem = TypeVar("AnyProblem", bound="Problem")


class Problem(Section):
    """A problem of any family; `family` says which descriptions can speak of it."""

    title: ClassVar[str] = "the problem"
    family: ClassVar[str]
    time_units: ClassVar[str] = "steps * learning_rate / (width * dimension)"
    dimension: PositiveInt = 500
    run: Run = Run()

    @property
    @abstractmethod
    def time_step(self) -> float:
        """The time that one step takes."""

    def steps(self, time: float) -> int:
        """How many steps of SGD reach this time."""
        return round(time / self.time_step)

    @property
    def times(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The saved times, from 0 to `run.until`, each a whole number of steps."""
        until = max(self.steps(self.run.until), 1)
        if self.run.spacing == "linear":
            wished = np.linspace(0, until, self.run.points)
        else:
            first = min(max(1.0, until * 2e-4), until)
            wished = np.concatenate([[0], np.geomspace(until, first, self.run.points - 1)[::-1]])
        return np.unique(np.rint(wished)) * self.time_step

    def replace(self: AnyProblem, **changes: Any) -> AnyProblem:
        """A copy with dotted keys changed, e.g. replace(**{"training.learning_rate": 0.5})."""
        from dimfree.problem.toml import with_overrides

        changed: AnyProblem = with_overrides(self, changes)
        return changed

    @property
    def digest(self) -> str:
        """A content hash: equal problems have equal digests, on every machine."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()[:16]
