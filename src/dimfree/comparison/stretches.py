"""Stretches of saved times on which an account fails: the one that decides a verdict, and the worst of the others."""

from typing import NamedTuple

import numpy as np

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Where = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_AS_BAD = 0.5  # a stretch counts as equally bad if its deviation is at least this share of the largest


class Stretch(NamedTuple):
    """A stretch of saved times on which an account fails, and by how much: at its worst time and at its last."""

    since: float  # the last saved time before the stretch
    begin: float
    end: float
    worst: float  # per cent; infinite where only one of the two accounts is finite
    last: float  # per cent
    to_the_end: bool


def deciding(time: Vector, percent: Table, counts: Where) -> tuple[Stretch | None, Stretch | None]:
    """The stretch that decides a verdict and the worst of the others.

    The last stretch decides if it goes to the end of the run, otherwise the worst one. Earlier stretches that are equally bad are
    joined to it.
    """
    found = [_between(time, percent, first, last) for first, last in bounds(counts)]
    if not found:
        return None, None
    main = found[-1] if found[-1].to_the_end else max(found, key=lambda one: abs(one.worst))
    as_bad = [one for one in found if one.begin <= main.begin and abs(one.worst) >= _AS_BAD * abs(main.worst)]
    as_bad = as_bad or [main]
    ends = (int(np.searchsorted(time, at)) for at in (as_bad[0].begin, main.end))
    others = [one for one in found if one.end < as_bad[0].begin or one.begin > main.end]
    return _between(time, percent, *ends), max(others, key=lambda one: abs(one.worst), default=None)


def bounds(counts: Where) -> list[tuple[int, int]]:
    """First and last index of every stretch."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], counts.astype(int), [0]])))
    return [(first, last - 1) for first, last in edges.reshape(-1, 2).tolist()]


def _between(time: Vector, percent: Table, first: int, last: int) -> Stretch:
    inside = percent[first : last + 1]
    return Stretch(
        since=float(time[max(first - 1, 0)]),
        begin=float(time[first]),
        end=float(time[last]),
        worst=float(inside[np.argmax(np.abs(inside))]),
        last=float(percent[last]),
        to_the_end=last == len(time) - 1,
    )
