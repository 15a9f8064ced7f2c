"""The lowest risk that a budget of compute buys, over all sizes (docs/theory/scaling.md, section 4).

The best size is the lowest point of a parabola in (log d, log R) through the best three sizes of a list; a minimum at an end of
the list is no minimum.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Vector = Float[np.ndarray, " _"]
_NEIGHBOURS = 2  # budgets on both sides


class Frontier(NamedTuple):
    """For every budget the lowest risk and the size that has it; nan where the list of sizes ends first.

    `wider`, if it is there, is the frontier of the same risks by polynomials of degree four through five sizes.
    """

    compute: Vector
    risk: Vector
    size: Vector
    wider: "Frontier | None" = None

    def samples(self) -> Vector:
        """How many samples the best size sees."""
        return self.compute / self.size

    def local_exponents(self) -> tuple[Vector, Vector]:
        """p of d* ~ C^p and q of R* ~ C^-q at every budget, from its neighbours."""
        logs = np.log(self.compute)
        return _slopes(logs, np.log(self.size)), -_slopes(logs, np.log(self.risk))

    def exponent_errors(self) -> tuple[Vector, Vector]:
        """How far p and q are from those through five sizes, near every budget: what the list of sizes leaves open."""
        assert self.wider is not None
        p, q = (
            _around(np.abs(a - b)) for a, b in zip(self.local_exponents(), self.wider.local_exponents(), strict=True)
        )
        return p, q


def with_error(value: float, error: float) -> str:
    """A number of three decimals, with the error of the last ones in brackets."""
    if not np.isfinite(value):
        return ""
    return f"{value:.3f}" + (f"({max(round(1000 * error), 1)})" if np.isfinite(error) else "")


def lowest(sizes: Vector, risks: Float[np.ndarray, "d c"], compute: Vector) -> Frontier:
    """The frontier from the risks of all sizes at all budgets; a risk of nan is a size that a budget does not reach."""
    narrow, wide = ([_minimum(np.log(sizes), np.log(column), reach) for column in risks.T] for reach in (1, 2))
    found, wider = (
        Frontier(compute, np.exp([low for _, low in listed]), np.exp([place for place, _ in listed]))
        for listed in (narrow, wide)
    )
    return found._replace(wider=wider)


def _minimum(x: Vector, y: Vector, reach: int) -> tuple[float, float]:
    """Place and value of the lowest point of a polynomial through the best point and so many on both sides of it."""
    held = np.isfinite(y)
    x, y = x[held], y[held]
    best = int(np.argmin(y)) if len(y) else 0
    if not 0 < best < len(y) - 1:
        return np.nan, np.nan
    near = slice(max(best - reach, 0), best + reach + 1)
    curve = np.polynomial.Polynomial.fit(x[near] - x[best], y[near], len(x[near]) - 1)
    turns = curve.deriv().roots()
    inside = turns.real[
        (np.abs(turns.imag) < 1e-9) & (turns.real > x[best - 1] - x[best]) & (turns.real < x[best + 1] - x[best])
    ]
    if not len(inside):
        return np.nan, np.nan
    place = float(inside[np.argmin(curve(inside))])
    return float(x[best]) + place, float(curve(place))


def _around(errors: Vector) -> Vector:
    """The largest of neighbours, because differences that change their sign are 0 in between."""
    padded = np.pad(errors, _NEIGHBOURS, constant_values=-np.inf)
    near = np.lib.stride_tricks.sliding_window_view(np.nan_to_num(padded, nan=-np.inf), 2 * _NEIGHBOURS + 1)
    return np.where(np.isfinite(errors), near.max(axis=1), np.nan)


def _slopes(x: Vector, y: Vector) -> Vector:
    return np.gradient(y, x) if len(x) > 1 else np.full(len(x), np.nan)
