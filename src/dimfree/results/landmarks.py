"""Landmarks of a curve: when it falls below a level, where its plateau is and when it leaves it."""

from typing import NamedTuple

import numpy as np
import xarray as xr

_FLAT = 1.25  # a plateau changes by less than this factor
_LEFT = 0.5  # and has been left when this share of its height remains
_FIRST_SHARE = 1e-3  # of the run; below it there is no telling a plateau from a start
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Plateau(NamedTuple):
    """Where a curve stands still before it falls."""

    begin: float
    end: float
    height: float
    escape: float  # when half of the height is left

    @property
    def length(self) -> float:
        """How long it stands still."""
        return self.end - self.begin


def crossing_times(data: xr.Dataset, level: float, observable: str = "risk") -> Vector:
    """When every replica first falls to `level`, between saved times by interpolation; nan where it never does.

    df.crossing_times(df.simulate(problem), 0.01).mean()
    """
    values, time = data[observable].values, data["time"].values
    return np.array([crossing(time, curve, level) for curve in values.reshape(len(time), -1).T])


def plateau(data: xr.Dataset, observable: str = "risk") -> Plateau | None:
    """The longest stretch on which the mean over replicas stands still before it falls by half; None without one.

    The fall must be shorter than the stretch: an exponential decay has no plateau.
    """
    values, time = data[observable].values, data["time"].values
    mean = values.reshape(len(time), -1).mean(axis=1)
    candidates = [found for first in range(len(time)) if (found := _from(time, mean, first))]
    return max(candidates, key=lambda one: one.length, default=None)


def _from(time: Vector, mean: Table, first: int) -> Plateau | None:
    """The plateau that begins at one of the saved times, if there is one."""
    if not mean[first] > 0:
        return None
    low, high = np.minimum.accumulate(mean[first:]), np.maximum.accumulate(mean[first:])
    last = first + int(np.sum(high <= _FLAT * low)) - 1
    height = float(np.mean(mean[first : last + 1]))
    escape = crossing(time[first:], mean[first:], _LEFT * height)
    begin, end = float(time[first]), float(time[last])
    still = end - begin > _FIRST_SHARE * time[-1]
    return Plateau(begin, end, height, escape) if still and escape - end < end - begin else None


def crossing(time: Vector, curve: Table, level: float) -> float:
    """When one curve first falls to a level, between saved times by interpolation; nan where it never does."""
    below = np.flatnonzero(curve <= level)
    if not below.size:
        return float("nan")
    at = int(below[0])
    if at == 0:
        return float(time[0])
    before, after = float(curve[at - 1]), float(curve[at])
    if after > 0 and level > 0:  # risks fall exponentially rather than linearly
        before, after, level = np.log([before, after, level])
    return float(time[at - 1] + (time[at] - time[at - 1]) * (before - level) / (before - after))
