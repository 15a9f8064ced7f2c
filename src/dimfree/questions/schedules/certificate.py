"""Proof that a schedule is an optimum: Pontryagin's conditions along its own path (docs/theory/schedules.md, section 2).

With the costate lambda, the derivative of the final objective with respect to the state, an optimal factor is
-lambda·F1/(2 lambda·F2) wherever no bound holds it, and H = lambda·F is the same at all times.
"""

from typing import NamedTuple

import numpy as np

from dimfree.questions.schedules.grid import Bounds, Vector

_TOUCHES = 1e-3  # a rate this near to a bound, relative to it, counts as on the bound


class Conditions(NamedTuple):
    """Along the run: the rate of equation (2.1) over the one that was used, and H."""

    times: Vector
    ratio: Vector
    hamiltonian: Vector
    regular: bool  # whether lambda·F2 > 0 everywhere: the optimum is inside and not a bound


class Certificate(NamedTuple):
    """The numbers that show whether a schedule is an optimum."""

    pontryagin_error: float  # largest |ratio - 1| inside, where no bound is active
    hamiltonian_spread: float  # relative spread of H, inside
    knots_doubled_gain: float  # share by which twice as many knots would lower the risk
    starts_spread: float  # relative spread of the risks that different first guesses lead to
    active_bounds: dict[str, float]  # name of a bound -> share of the run that is spent on it
    grid_error: float  # relative difference between the grid and the adaptive solver
    regular: bool
    converged: bool


def inside(found: Conditions, knots: Vector) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The steps outside the first and the last interval between knots."""
    return (found.times >= knots[1]) & (found.times <= knots[-2])


def errors(found: Conditions, knots: Vector, factors: Vector, box: Bounds) -> tuple[float, float]:
    """The largest violation of (2.1) and the spread of H, inside; on a bound the rate cannot be the one of (2.1)."""
    chosen = inside(found, knots)
    free = chosen & ~_touches(np.interp(found.times, knots, factors), box).any(axis=0)
    worst = float(np.max(np.abs(found.ratio[free] - 1), initial=0.0))
    H = found.hamiltonian[chosen]
    return worst, float((H.max() - H.min()) / np.abs(H.mean()))


def active(knots: Vector, factors: Vector, box: Bounds) -> tuple[float, float]:
    """The shares of the run on the lower and on the upper bound."""
    times = np.linspace(0, knots[-1], 1001)
    low, high = _touches(np.interp(times, knots, factors), box).mean(axis=1)
    return float(low), float(high)


def _touches(factors: Vector, box: Bounds) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return np.stack([factors <= box[0] * (1 + _TOUCHES), factors >= box[1] * (1 - _TOUCHES)])
