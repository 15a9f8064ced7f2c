"""The exponents alpha and beta of a spectrum and a target, from a window of ranks (docs/theory/scaling.md, sections 5 and 6).

Single coefficients are mostly noise, so beta is read off the energies of tails. Ranks are weighted by 1/j: every decade counts
alike.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError

Vector = Float[np.ndarray, " _"]
FEWEST = 5  # ranks that a window must have
_EXPONENTS = (-2.0, 12.0)  # of energies


class Exponents(NamedTuple):
    """h_j ~ j^(-2 alpha), and energies of tails ~ j^(1 - 2 alpha - 2 beta); how far logarithms are from straight lines."""

    alpha: float
    beta: float
    residual_spectrum: float
    residual_tail: float


def exponents(eigenvalues: Vector, energies: Vector, first: int, last: int) -> Exponents:
    """Fits over the ranks first ... last, counted from 1."""
    if last - first + 1 < FEWEST or not 1 <= first <= last <= len(eigenvalues):
        raise ProblemError(
            f"a window of the ranks {first} to {last} out of {len(eigenvalues)} was given, and a power law needs at least "
            f"{FEWEST} of them; choose a wider window."
        )
    j = np.arange(first, last + 1.0)
    tails = np.cumsum(energies[::-1])[::-1]
    falling, left = _line(np.log(j), np.log(eigenvalues[first - 1 : last]), 1 / j)
    tail, tail_left = _line(np.log(j - 0.5), np.log(tails[first - 1 : last]), 1 / j)
    alpha = -falling / 2
    return Exponents(alpha, (1 - tail) / 2 - alpha, left, tail_left)


def energy_exponent(energies: Vector, first: int, last: int) -> float:
    """s of energies ~ j^(-s) from the ranks first ... last alone, whatever comes after them.

    Sums from j to `last` are compared with those of the power law, for the lower half of the ranks: the last sums have few terms.
    """
    from scipy.optimize import minimize_scalar

    ends = np.arange(first - 0.5, last + 1.0)  # of all ranks
    j = np.arange(first, max(last // 2, first + FEWEST - 1) + 1.0)
    summed = np.cumsum(energies[first - 1 : last][::-1])[::-1][: len(j)]
    if not summed.min() > 0:  # all of it is noise
        return np.nan
    sums = np.log(summed)

    def left(s: float) -> float:
        law = np.diff(ends ** (1 - s)) / (1 - s) if s != 1 else np.diff(np.log(ends))
        off = sums - np.log(np.cumsum(law[::-1])[::-1][: len(j)])
        share = 1 / j / np.sum(1 / j)
        return float(share @ (off - share @ off) ** 2)

    return float(minimize_scalar(left, bounds=_EXPONENTS, method="bounded", options={"xatol": 1e-6}).x)


def _line(x: Vector, y: Vector, weights: Vector) -> tuple[float, float]:
    """Slope of the straight line of least weighted squares, and the root of the mean weighted square that is left."""
    share = weights / weights.sum()
    dx, dy = x - share @ x, y - share @ y
    slope = float((share * dx) @ dy / ((share * dx) @ dx))
    return slope, float(np.sqrt(share @ (dy - slope * dx) ** 2))
