"""The lowest risk that a budget of compute buys, over all sizes (docs/theory/scaling.md, section 4).

Compute is C = d * batch * steps. The best size is the lowest point of a parabola in (log d, log R) through the best three sizes
of a list; a minimum at an end of the list is no minimum.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " _"]


class Frontier(NamedTuple):
    """For every budget the lowest risk and the size that has it; nan where the list of sizes ends first."""

    compute: Vector
    risk: Vector
    size: Vector

    def samples(self) -> Vector:
        """How many samples the best size sees."""
        return self.compute / self.size

    def local_exponents(self) -> tuple[Vector, Vector]:
        """p of d* ~ C^p and q of R* ~ C^-q at every budget, from its neighbours."""
        logs = np.log(self.compute)
        return _slopes(logs, np.log(self.size)), -_slopes(logs, np.log(self.risk))


def lowest(sizes: Vector, risks: Float[np.ndarray, "d c"], compute: Vector) -> Frontier:
    """The frontier from the risks of all sizes at all budgets; a risk of nan is a size that a budget does not reach."""
    found = [_parabola(np.log(sizes), np.log(column)) for column in risks.T]
    return Frontier(compute, np.exp([low for _, low in found]), np.exp([place for place, _ in found]))


def _parabola(x: Vector, y: Vector) -> tuple[float, float]:
    held = np.isfinite(y)
    x, y = x[held], y[held]
    best = int(np.argmin(y)) if len(y) else 0
    if not 0 < best < len(y) - 1:
        return np.nan, np.nan
    a, b, c = np.polyfit(x[best - 1 : best + 2] - x[best], y[best - 1 : best + 2], 2)
    place = -b / (2 * a)
    return float(x[best] + place), float(c - b**2 / (4 * a))


def _slopes(x: Vector, y: Vector) -> Vector:
    return np.gradient(y, x) if len(x) > 1 else np.full(len(x), np.nan)
