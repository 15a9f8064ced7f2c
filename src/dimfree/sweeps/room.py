"""How much memory a grid takes: estimated before any of its values are made, and again from the first results."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from dimfree.description import AnyDescription
from dimfree.machine import refuse_above_memory
from dimfree.problem import Problem

_OF_A_POINT = 2e4  # bytes of a point's problem, key and outcome, without times and numbers
_OF_A_TIME = 32.0  # bytes of a saved time in every problem
_OF_A_VALUE = 64.0  # bytes of a number in the lists of an axis
_WAY_OUT = "give its axes fewer values"
_COUNTABLE = 10**300  # a larger count is not a float


def refuse_large_grid(problem: Problem, over: Mapping[str, Any], descriptions: Sequence[AnyDescription]) -> None:
    """Refuse a grid whose points would not fit into memory, from the lengths of its axes alone."""
    counts = [_count(given) for given in over.values()]
    places = min(prod(counts), _COUNTABLE)
    times = problem.run.points if problem.run.times is None else len(problem.run.times)
    replicas = min(problem.run.replicas, _COUNTABLE)
    numbers = sum(16.0 * times * (replicas if one.stochastic else 1) for one in descriptions)
    each = len(descriptions) * (_OF_A_POINT + _OF_A_TIME * times) + numbers
    values = _OF_A_VALUE * min(sum(counts), _COUNTABLE)
    refuse_above_memory(places * each + values, f"a sweep of {places * len(descriptions):.3g} points", _WAY_OUT)


def refuse_large_results(points: int, bytes_of_one: float) -> None:
    """Refuse to go on if all points, each as large as a finished one, would not fit into memory."""
    needed = points * (_OF_A_POINT + 2 * bytes_of_one)  # held twice: point by point, and as one dataset
    refuse_above_memory(needed, f"a sweep of {points} points like one of these", f"{_WAY_OUT}, or save fewer times")


def refuse_large_dataset(sizes: Iterable[tuple[int, ...]]) -> None:
    """Refuse to put points together into arrays of these sizes if they would not fit into memory."""
    way_out = "read its points one by one with xarray.open_datatree"
    refuse_above_memory(8.0 * sum(map(prod, sizes)), "one dataset of all points of the sweep", way_out)


def _count(given: Any) -> int:
    """The largest number of values that an axis can have, as it is written; 1 for what is no axis, which is refused later."""
    match given:
        case {"zip": Mapping() as together} if together:
            return max(map(_count, together.values()))
        case {"linspace": [_, _, int(count)]} | {"logspace": [_, _, int(count)]}:
            return max(1, count)
        case Sequence() | np.ndarray():
            return max(1, len(given))
        case _:
            return 1
