"""The schedule that ends lowest, by gradients through every step of the mean risk (docs/theory/scaling.md, sections 1 and 4).

The state form is linear in its state, so that one pass backwards gives the slope of the final risk with respect to all rates. The
rate is piecewise linear between knots. Three numbers certify the optimum: the slope that is left, how far searches from other
schedules end apart, and what twice the knots would gain.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.schedules import rates

Vector = Float[np.ndarray, " _"]
_STARTS = ("wsd", "cosine", "constant")
_SEARCHES = 200  # iterations at most
_HIGHEST = 1.5  # rate over the critical one; the risk bounds rates by itself
_RISEN, _HELD = 0.9, 0.5  # of the largest rate
_LEFT, _APART = 1e-2, 1e-2  # shares of the risk below which an optimum is certified


class Shape(NamedTuple):
    """The largest rate over the critical one, and shares of the run: until nine tenths of it, and to the last half of it."""

    peak: float
    risen: float
    held: float


class BestSchedule(NamedTuple):
    """Rates of all steps, the final risk, and what certifies it; `slope` is by how much the risk would fall, to first order, if
    every rate moved by a tenth of the critical one, over the risk."""

    rates: Vector
    limit: float  # the critical rate
    risk: float
    slope: float
    apart: float  # how far searches from other schedules end apart, over the risk
    finer: float  # what twice the knots gain, over the risk

    @property
    def certified(self) -> bool:
        """Whether all three numbers are small."""
        return self.slope < _LEFT and self.apart < _APART and self.finer < _APART

    @property
    def shape(self) -> "Shape":
        """What it looks like."""
        share, steps = self.rates / self.rates.max(), len(self.rates)
        risen, held = int(np.argmax(share >= _RISEN)), int(np.flatnonzero(share >= _HELD)[-1])
        return Shape(float(self.rates.max() / self.limit), risen / steps, held / steps)


def final_risk(measures: Measures, gammas: Vector, batch: float, Delta: float) -> tuple[float, Vector]:
    """The mean risk after all steps, and its derivative with respect to every rate."""
    x, y, k = measures.x, measures.y, measures.k
    wider, steps = 1 + 1 / batch, len(gammas)
    f, n, seen = np.empty((steps + 1, len(x))), np.empty((steps + 1, len(y))), np.empty(steps)
    f[0], n[0] = measures.f, 0.0
    for r, gamma in enumerate(gammas):
        seen[r] = measures.Delta_W + Delta + f[r].sum() + k @ n[r]
        f[r + 1] = (1 - gamma * x * (2 - gamma * wider * x)) * f[r]
        n[r + 1] = (1 - gamma * y * (2 - gamma * wider * y)) * n[r] + gamma**2 / batch * seen[r]
    slopes, of_f, of_n = np.empty(steps), np.full(len(x), 0.5), k / 2
    for r in range(steps - 1, -1, -1):
        gamma, driven = gammas[r], of_n.sum()
        turned = (2 * x * (1 - gamma * wider * x) * f[r]) @ of_f + (2 * y * (1 - gamma * wider * y) * n[r]) @ of_n
        slopes[r] = 2 * gamma / batch * seen[r] * driven - turned
        share = driven * gamma**2 / batch
        of_f = (1 - gamma * x * (2 - gamma * wider * x)) * of_f + share
        of_n = (1 - gamma * y * (2 - gamma * wider * y)) * of_n + share * k
    return float(measures.Delta_W + f[-1].sum() + k @ n[-1]) / 2, slopes


def best_schedule(
    measures: Measures,
    limit: float,
    batch: float,
    Delta: float,
    steps: int,
    knots: int = 12,
    starts: Sequence[str] = _STARTS,
) -> BestSchedule:
    """The best rates below 1.5 times the critical rate `limit`."""
    found = [_search(measures, limit, batch, Delta, _at_knots(name, steps, knots), steps) for name in starts]
    best = min(found, key=lambda one: one[1])
    places = np.linspace(0, 1, knots)
    finer = np.interp(np.linspace(0, 1, 2 * knots - 1), places, best[0])
    refined = _search(measures, limit, batch, Delta, finer, steps)
    ends, (gammas, slope) = [risk for _, risk in found], _slope(measures, limit, batch, Delta, best[0], steps)
    return BestSchedule(gammas, limit, best[1], slope / best[1], max(ends) / best[1] - 1, 1 - refined[1] / best[1])


def _at_knots(name: str, steps: int, knots: int) -> Vector:
    """A known form of schedule at the knots, at half the critical rate."""
    return np.interp(np.linspace(0, 1, knots), np.linspace(0, 1, steps), 0.5 * rates(name, steps))


def _spread(knots: int, steps: int) -> Float[np.ndarray, "r k"]:
    """The share of every knot in the rate of every step."""
    at = np.linspace(0, 1, steps)
    return np.stack([np.interp(at, np.linspace(0, 1, knots), one) for one in np.eye(knots)], axis=1)


def _search(
    measures: Measures, limit: float, batch: float, Delta: float, first: Vector, steps: int
) -> tuple[Vector, float]:
    from scipy.optimize import minimize

    spread = _spread(len(first), steps)

    def logarithm(u: Vector) -> tuple[float, Vector]:
        with np.errstate(over="ignore", invalid="ignore"):
            risk, slopes = final_risk(measures, limit * (spread @ u), batch, Delta)
        if not np.isfinite(risk) or not np.isfinite(slopes).all():
            return 700.0, np.ones(len(u))
        return float(np.log(risk)), limit * (slopes @ spread) / risk

    bounds, options = [(0.0, _HIGHEST)] * len(first), {"maxiter": _SEARCHES, "ftol": 1e-10, "gtol": 1e-5}
    done = minimize(logarithm, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(done.x), float(np.exp(done.fun))


def _slope(measures: Measures, limit: float, batch: float, Delta: float, u: Vector, steps: int) -> tuple[Vector, float]:
    """Rates, and the slope that is left along knots that are not at a bound."""
    spread = _spread(len(u), steps)
    gammas = limit * (spread @ u)
    slopes = limit * (final_risk(measures, gammas, batch, Delta)[1] @ spread)
    free = (u > 0) & (u < _HIGHEST) | ((u <= 0) & (slopes < 0)) | ((u >= _HIGHEST) & (slopes > 0))
    return gammas, float(0.1 * np.abs(slopes[free]).sum())
