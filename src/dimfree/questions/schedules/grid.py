"""The times at which rates are needed: dense at both ends of the run, where optimal schedules have boundary layers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

Vector = Float[np.ndarray, " _"]
Bounds = tuple[float, float]
_GATHERED = 0.7  # spacing of points at the ends over that in the middle is (1 - this) to (1 + this)
_EVENLY = 0.2  # the share of placed knots that are spread like the grid


@dataclass(frozen=True)
class Grid:
    """Steps from 0 to `until`; knots are some of its points, so that no step has a kink inside."""

    until: float
    steps: int

    @cached_property
    def times(self) -> Float[np.ndarray, " n"]:
        """The ends of all steps."""
        s = np.linspace(0, 1, self.steps + 1)
        return self.until * (s - _GATHERED * np.sin(2 * np.pi * s) / (2 * np.pi))

    @cached_property
    def points(self) -> Float[np.ndarray, " points"]:
        """The ends and middles of all steps."""
        points = np.empty(2 * self.steps + 1)
        points[::2], points[1::2] = self.times, (self.times[1:] + self.times[:-1]) / 2
        return points

    def chosen(self, count: int) -> Int[np.ndarray, " count"]:
        """The indices of `count` of its times, the first and the last included."""
        return np.unique(np.linspace(0, self.steps, count).round().astype(int))

    def knots(self, count: int) -> Float[np.ndarray, " count"]:
        """This many knots; a single knot is a constant."""
        return self.times[self.chosen(count)] if count > 1 else self.times[:1]

    def placed(self, factors: Float[np.ndarray, " n"], count: int) -> Float[np.ndarray, " count"]:
        """Knots where straight lines between them follow the factors (given at all times) best, relative to their size.

        The error on an interval of length h is |r''| h²/8, so that knots lie as densely as the root of |r''|/r; a share of
        them is spread like the grid, for what a curvature at single points does not show.
        """
        bend = np.abs(np.gradient(np.gradient(factors, self.times), self.times)) / factors
        passed = np.append(0.0, np.cumsum(np.diff(self.times) * np.sqrt((bend[1:] + bend[:-1]) / 2)))
        spread = np.linspace(0, 1, self.steps + 1)
        place = (1 - _EVENLY) * passed / max(passed[-1], np.finfo(float).tiny) + _EVENLY * spread
        chosen = np.interp(np.linspace(0, place[-1], count), place, np.arange(self.steps + 1)).round().astype(int)
        return self.times[_distinct(chosen, self.steps)]

    def weights(self, knots: Float[np.ndarray, " count"]) -> Float[np.ndarray, "points count"]:
        """The weight of every knot at every point, for linear interpolation of the factors."""
        return np.stack([np.interp(self.points, knots, unit) for unit in np.eye(len(knots))], axis=1)


def _distinct(chosen: Int[np.ndarray, " count"], last: int) -> Int[np.ndarray, " count"]:
    """Increasing numbers from 0 to `last` near given ones: where two would meet, the later one moves on."""
    order = np.arange(len(chosen))
    upwards = np.maximum.accumulate(chosen - order) + order
    return np.minimum(upwards, last - order[::-1])
