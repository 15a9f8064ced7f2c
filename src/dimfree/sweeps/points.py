"""The points of a sweep: a problem and a description each, on one clock, identified by the hash of their content."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dimfree.description import AnyDescription
from dimfree.errors import ProblemError
from dimfree.problem import Problem
from dimfree.results.dataset import identity
from dimfree.sweeps.axes import Axis

_LATE = 1e12  # a time later than any step of training
Grid = dict[tuple[int, ...], "Problem | str"]


class Point(NamedTuple):
    """One account of one problem."""

    place: tuple[int, ...]  # its place in the grid
    one: AnyDescription
    problem: Problem
    key: str  # content hash of all that decides its numbers


class Missing(NamedTuple):
    """A place of the grid that has no valid problem, and why, in one sentence."""

    place: tuple[int, ...]
    one: AnyDescription
    reason: str
    key: str


class Clock(NamedTuple):
    """What the results of all points lie along: saved times, or numbers of steps if times differ from point to point."""

    dim: str  # "time" or "step"
    values: tuple[float, ...]
    units: str


def _as_it_is(problem: Problem) -> Problem:
    return problem


@dataclass(frozen=True)
class Sweep:
    """A sweep: the problem, the axes, the descriptions, and the number of steps if all points take the same number."""

    problem: Problem
    axes: tuple[Axis, ...]
    descriptions: tuple[AnyDescription, ...]
    steps: int | None = None
    figure: Mapping[str, Any] = field(default_factory=dict)  # how it is drawn by default
    admitted: Callable[[Problem], Problem] = _as_it_is  # applied to every problem: it refuses code that may not run

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of the grid."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(self.shape) * len(self.descriptions)

    @cached_property
    def points(self) -> tuple[Point | Missing, ...]:
        """Every description at every place of the grid."""
        grid, _ = self._grid_and_clock
        return tuple(self._points(grid))

    @property
    def clock(self) -> Clock:
        """The clock that all points share."""
        return self._grid_and_clock[1]

    def _points(self, grid: Grid) -> Iterator[Point | Missing]:
        for one in self.descriptions:
            for place, problem in grid.items():
                if isinstance(problem, str):
                    changed = json.dumps([self.problem.digest, self._changes(place)], default=str)
                    yield Missing(place, one, problem, _hashed(changed, one.title))
                else:
                    # accounts with other titles draw other random numbers
                    yield Point(place, one, problem, _hashed(identity(problem, one), one.title))

    @cached_property
    def _grid_and_clock(self) -> tuple[Grid, Clock]:
        grid = {place: self._problem(place) for place in product(*map(range, self.shape))}
        problems = {place: one for place, one in grid.items() if isinstance(one, Problem)}
        if not problems:
            raise ProblemError(f"no point of the sweep is a problem: {next(iter(grid.values()))}")
        if self.steps is not None:
            counts = _steps(next(iter(problems.values())))
            return grid, Clock("step", counts, "steps of training")
        times = self.problem.times  # the times of the base problem, which do not depend on the axes
        coarsest = max(problems.values(), key=lambda one: one.time_step)
        if (np.diff(np.rint(times / coarsest.time_step)) < 1).any():  # two saved times would lie within one step
            times = coarsest.times
        saved = {"run.times": times[1:].tolist(), "run.until": float(times[-1])}
        grid |= {place: one.replace(**saved) for place, one in problems.items()}
        return grid, Clock("time", tuple(times.tolist()), coarsest.time_units)

    def _changes(self, place: tuple[int, ...]) -> dict[str, Any]:
        return {
            key: value for axis, at in zip(self.axes, place, strict=True) for key, value in axis.changes(at).items()
        }

    def _problem(self, place: tuple[int, ...]) -> Problem | str:
        """The problem at a place of the grid, or why there is none."""
        changes = self._changes(place)
        try:
            if self.steps is None:
                found = self.problem.replace(**changes)
            else:
                unlimited = self.problem.replace(**changes, **{"run.times": None, "run.until": _LATE})
                found = unlimited.replace(**{"run.until": self.steps * unlimited.time_step})
        except ProblemError as failure:
            return str(failure)
        return self.admitted(found)


def _steps(problem: Problem) -> tuple[float, ...]:
    return tuple(np.rint(problem.times / problem.time_step).tolist())


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
