"""Families of schedules with a few numbers each, which are tried before a schedule is optimised freely.

They are those that a problem can name (problem/schedule.py); a constant rate is a schedule of one knot.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.schedule import Schedule, Written, schedule
from dimfree.problem import ExponentialDecay, HoldThenPower, PowerDecay, WarmUpCosine
from dimfree.programs.compiled import brief_program
from dimfree.questions.schedules.grid import Bounds, Vector
from dimfree.questions.schedules.search import Curve

_SHARES = (1e-3, 1e3)  # the shortest and the longest scale of a decay, as shares of the run
_EXPONENTS = (1e-3, 100.0)
_LONG, _LARGE = 100.0, 90.0  # a longer scale counts as endless, a larger power as an exponential


class Family(NamedTuple):
    """Schedules of one kind: the free numbers, where they lie, and where to begin the search."""

    section: Callable[..., Written]  # makes the schedule from its numbers
    free: tuple[str, ...]
    bounds: Callable[[float, Bounds], tuple[Bounds, ...]]  # from the end of the run and the bounds on factors
    guesses: Callable[[float, float], tuple[tuple[float, ...], ...]]  # from the end of the run and the best constant
    template: str  # its numbers in words: rates, and samples per dimension
    until: bool = False  # whether it depends on when the run ends

    def written(self, parameters: Vector, until: float) -> Written:
        """The schedule in the form that a problem takes."""
        known = {"until": until} if self.until else {}
        return self.section(**dict(zip(self.free, map(float, parameters), strict=True)), **known)

    def words(self, parameters: Vector, rate: float, clock: float, until: float) -> str:
        """Its numbers in rates and samples per dimension (`clock` of them per unit of time), or what it degenerates to."""
        found = dict(zip(self.free, map(float, parameters), strict=True))
        if found.get("scale", 0.0) > _LONG * until and found.get("exponent", 0.0) < _LARGE:
            return f"degenerates to the constant {rate * found['top']:.4g}"
        if found.get("exponent", 0.0) >= _LARGE and "scale" in found:
            return f"degenerates to {rate * found['top']:.4g} exp(-α/{clock * found['scale'] / found['exponent']:.4g})"
        rates = {name: rate * found[name] for name in ("top", "end") if name in found}
        spans = {name: clock * found[name] for name in ("scale", "warm_up", "hold") if name in found}
        return self.template.format(**found | rates | spans)

    def curve(self, points: Vector, until: float) -> Curve:
        """Its factors at all points of a grid, and their derivatives with respect to the free numbers."""
        times = jax.device_put(points)

        def of(parameters: Vector) -> tuple[Vector, Float[np.ndarray, "points _"]]:
            factors, slopes = _curve(schedule(self.written(parameters, until)), times)
            return np.asarray(factors), np.stack([np.asarray(getattr(slopes, name)) for name in self.free], axis=1)

        return of


FAMILIES = {
    "exponential": Family(
        ExponentialDecay,
        ("top", "scale"),
        lambda until, box: (box, _spread(until)),
        lambda until, constant: ((2 * constant, until / 2), (constant, 10 * until)),
        "{top:.4g} exp(-α/{scale:.4g})",
    ),
    "power": Family(
        PowerDecay,
        ("top", "scale", "exponent"),
        lambda until, box: (box, _spread(until), _EXPONENTS),
        lambda until, constant: ((2 * constant, until / 4, 1.0), (constant, until, 0.1)),
        "{top:.4g} (1 + α/{scale:.4g})^-{exponent:.3g}",
    ),
    "cosine": Family(
        WarmUpCosine,
        ("top", "warm_up", "end"),
        lambda until, box: (box, (1e-3 * until, until / 2), box),
        lambda until, constant: ((2 * constant, until / 50, constant / 10), (constant, until / 30, 0.9 * constant)),
        "warm-up until α = {warm_up:.3g}, then {top:.4g} to {end:.3g}",
        until=True,
    ),
    "hold-power": Family(
        HoldThenPower,
        ("top", "hold", "exponent"),
        lambda until, box: (box, (1e-3 * until, until), _EXPONENTS),
        lambda until, constant: ((2 * constant, until / 2, 3.0), (constant, 0.9 * until, 5.0)),
        "{top:.4g} until α = {hold:.4g}, then α^-{exponent:.3g}",
    ),
}


def _spread(until: float) -> Bounds:
    return _SHARES[0] * until, _SHARES[1] * until


@brief_program
def _curve(one: Schedule, times: Float[Array, " points"]) -> tuple[Float[Array, " points"], Schedule]:
    """Factors, and their derivatives with respect to every number of the schedule."""
    return one(times), jax.jacfwd(lambda numbers: numbers(times))(one)
