"""Families of schedules with a few numbers each: what one tries before anything is optimised freely.

They are those that a problem can name (problem/schedule.py); a constant rate is a schedule of one knot.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from dimfree.compiled import brief_program
from dimfree.functions.schedule import Schedule, Written, schedule
from dimfree.problem import ExponentialDecay, HoldThenPower, PowerDecay, WarmUpCosine
from dimfree.questions.schedules.search import Bounds, Curve, Vector

_SHARES = (1e-3, 1e3)  # of the run: how short and how long the scale of a decay may be
_EXPONENTS = (1e-3, 100.0)


class Family(NamedTuple):
    """Schedules of one kind: the free numbers, where they lie, and where to begin the search."""

    section: Callable[..., Written]  # of all numbers
    free: tuple[str, ...]
    bounds: Callable[[float, Bounds], tuple[Bounds, ...]]  # of the end of the run and the bounds of factors
    guesses: Callable[[float, float], tuple[tuple[float, ...], ...]]  # of the end of the run and the best constant
    until: bool = False  # whether it knows when the run ends

    def written(self, parameters: Vector, until: float) -> Written:
        """The schedule as a problem has it."""
        known = {"until": until} if self.until else {}
        return self.section(**dict(zip(self.free, map(float, parameters), strict=True)), **known)

    def curve(self, points: Vector, until: float) -> Curve:
        """Its factors at all points of a grid, and their derivatives with respect to the free numbers."""
        times = jax.device_put(points)

        def of(parameters: Vector) -> tuple[Vector, Float[np.ndarray, "points n"]]:
            factors, slopes = _curve(schedule(self.written(parameters, until)), times)
            return np.asarray(factors), np.stack([np.asarray(getattr(slopes, name)) for name in self.free], axis=1)

        return of


FAMILIES = {
    "exponential": Family(
        ExponentialDecay,
        ("top", "scale"),
        lambda until, box: (box, _spread(until)),
        lambda until, constant: ((2 * constant, until / 2), (constant, 10 * until)),
    ),
    "power": Family(
        PowerDecay,
        ("top", "scale", "exponent"),
        lambda until, box: (box, _spread(until), _EXPONENTS),
        lambda until, constant: ((2 * constant, until / 4, 1.0), (constant, until, 0.1)),
    ),
    "cosine": Family(
        WarmUpCosine,
        ("top", "warm_up", "end"),
        lambda until, box: (box, (1e-3 * until, until / 2), box),
        lambda until, constant: ((2 * constant, until / 50, constant / 10), (constant, until / 30, 0.9 * constant)),
        until=True,
    ),
    "hold-power": Family(
        HoldThenPower,
        ("top", "hold", "exponent"),
        lambda until, box: (box, (1e-3 * until, until), _EXPONENTS),
        lambda until, constant: ((2 * constant, until / 2, 3.0), (constant, 0.9 * until, 5.0)),
    ),
}


def _spread(until: float) -> Bounds:
    return _SHARES[0] * until, _SHARES[1] * until


@brief_program
def _curve(one: Schedule, times: Float[Array, " points"]) -> tuple[Float[Array, " points"], Schedule]:
    """Factors, and their derivatives with respect to every number of the schedule."""
    return one(times), jax.jacfwd(lambda numbers: numbers(times))(one)
