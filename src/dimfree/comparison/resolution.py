"""What chance leaves open: where an account neither fails nor agrees closely enough, and how many runs would decide."""

from typing import NamedTuple

import numpy as np

from dimfree.comparison.chance import Means, Table
from dimfree.comparison.stretches import Vector, Where, bounds

MARGIN = 20.0  # where an account is said to hold, chance may reach this many per cent beyond what is allowed
EQUAL = 0.1  # numbers that agree to this many per cent need no error bar
_FEW = 0.2  # share of times that may stay unresolved without making the verdict so, unless the last time is among them


class Band(NamedTuple):
    """The deviation at every saved time, and how far chance alone can put it."""

    percent: Table
    chance: Table  # per cent; nan where single runs have no error bar
    spread: Table  # how much a single run scatters, in per cent; nan in the same places
    means: Means


class Unresolved(NamedTuple):
    """A stretch of times on which chance can be larger than the deviation."""

    begin: float
    end: float
    time: float  # the saved time within it that `percent` and `chance` belong to
    percent: float  # the deviation at that time
    chance: float  # per cent that chance can make at that time; nan where single runs have no error bar
    runs: int  # how many runs would resolve it, if they scatter as the present ones do
    of_starts: bool  # whether these runs are starts rather than replicas


def unresolved(time: Vector, band: Band, limits: tuple[float, float], asked: Where) -> tuple[Unresolved | None, bool]:
    """What chance leaves open at the given times, and whether that is little enough for a verdict on the whole run.

    The limits, in per cent: the deviation that is allowed, and the part of it that the account claims as its accuracy.
    """
    seen, most = np.abs(band.percent), limits[0] + MARGIN
    equal = np.isnan(band.chance) & (seen <= EQUAL)
    opened = asked & ~equal & ~(seen + band.chance <= most)
    if not opened.any():
        return None, True
    few = int(_FEW * np.count_nonzero(asked & (band.chance != 0)))
    needed = np.where(opened, _needed(band, limits, asked), 1.0)
    little = bool(np.count_nonzero(opened) <= few and not opened[-1])
    runs = needed.max() if little else max(np.sort(needed)[-1 - few], needed[-1])
    known = np.isfinite(band.chance).any()
    at = int(np.argmax(needed == runs if known else np.where(opened, seen, -1.0)))
    first, last = next(pair for pair in bounds(opened) if pair[0] <= at <= pair[1])
    found = Unresolved(
        begin=float(time[first]),
        end=float(time[last]),
        time=float(time[at]),
        percent=float(band.percent[at]),
        chance=float(band.chance[at]),
        runs=int(runs),
        of_starts=band.means.of_starts,
    )
    return found, little


def _needed(band: Band, limits: tuple[float, float], asked: Where) -> Table:
    """The number of runs after which the deviation is more than chance, or the band of chance is narrow enough.

    Without an error bar, the deviation itself is taken as the scatter of a run.
    """
    seen, (allowed, claimed) = np.abs(band.percent), limits
    distance = np.maximum(allowed + MARGIN - seen, np.where(seen > allowed, seen - claimed, 0.0))
    typical = np.sqrt(np.mean(np.where(asked, seen, 0.0) ** 2) / np.mean(asked))
    return band.means.runs_for(distance, np.where(np.isnan(band.spread), typical, band.spread))
