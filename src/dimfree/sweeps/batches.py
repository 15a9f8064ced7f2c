"""Batches of points that are computed at once: one point, or several of one structure, the same for every engine."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from dimfree._version import __version__
from dimfree.comparison.run import run_one
from dimfree.description import AnyDescription
from dimfree.errors import DimfreeError, type_and_first_line
from dimfree.problem import Problem
from dimfree.progress import nobody
from dimfree.results.dataset import dataset
from dimfree.sweeps.points import Missing, Point
from dimfree.sweeps.stacked import MOST, stacked, structure

_OF_THE_RUN = ("created_at", "wall_seconds", "cpu_seconds")  # attributes that differ between two runs of one point


class Batch(NamedTuple):
    """Points of one description."""

    one: AnyDescription
    keys: tuple[str, ...]
    problems: tuple[Problem, ...]
    size: int = 1  # points in a full batch of this structure: all its batches share a program
    version: str = __version__


class Outcome(NamedTuple):
    """The result of a point: its data, or why there are none."""

    key: str
    data: xr.Dataset | None
    failure: str
    seconds: float  # CPU seconds: the point's share of its batch


def batches(points: Sequence[Point | Missing]) -> list[Batch]:
    """All points, in an order that depends on the sweep alone; those of equal structure together, in parts of equal size."""
    groups: dict[object, list[Point]] = {}
    for number, point in enumerate(points):
        if isinstance(point, Point):
            kind = structure(point.problem, point.one)
            groups.setdefault(number if kind is None else kind, []).append(point)
    return [batch for group in groups.values() for batch in _parts(group)]


def without_problem(points: Sequence[Point | Missing]) -> list[Outcome]:
    """The outcomes of places where there is no problem."""
    return [Outcome(point.key, None, point.reason, 0.0) for point in points if isinstance(point, Missing)]


def compute(batch: Batch) -> list[Outcome]:
    """The outcome of every point; one that fails reports why, and does not stop the others."""
    if batch.version != __version__:
        said = f"it was sent to dimfree {__version__} by dimfree {batch.version}; install the same version everywhere."
        return [Outcome(key, None, said, 0.0) for key in batch.keys]
    started = time.process_time()
    found = _together(batch) or [_alone(batch.one, problem) for problem in batch.problems]
    seconds = (time.process_time() - started) / len(found)
    return [
        Outcome(key, None, one, seconds)
        if isinstance(one, str)
        else Outcome(key, one.drop_attrs(deep=False).assign_attrs(_lasting(one)), "", seconds)
        for key, one in zip(batch.keys, found, strict=True)
    ]


def _parts(group: list[Point]) -> list[Batch]:
    count = -(-len(group) // MOST)
    size = -(-len(group) // count)
    parts = [group[first : first + size] for first in range(0, len(group), size)]
    return [Batch(part[0].one, tuple(p.key for p in part), tuple(p.problem for p in part), size) for part in parts]


def _together(batch: Batch) -> list[xr.Dataset | str] | None:
    """The results of all points by one program; None if there is one point only, or if that is not possible."""
    if batch.size == 1:
        return None
    idle = batch.problems[-1:] * (batch.size - len(batch.problems))
    try:
        found = stacked(batch.one, batch.problems + idle)
    except Exception:  # it cannot be mapped, or a point failed: alone, each gives its own error
        return None
    if found is None:
        return None
    return [
        str(seen) if isinstance(seen, DimfreeError) else dataset(problem, batch.one, problem.times, seen, {})
        for problem, seen in zip(batch.problems, found, strict=False)
    ]


def _alone(one: AnyDescription, problem: Problem) -> xr.Dataset | str:
    try:
        return run_one(problem, one, nobody)
    except DimfreeError as failure:
        return str(failure)
    except Exception as failure:  # any failure: the other points go on
        return type_and_first_line(failure)


def _lasting(data: xr.Dataset) -> dict[str, object]:
    return {str(name): _plain(value) for name, value in data.attrs.items() if name not in _OF_THE_RUN}


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
