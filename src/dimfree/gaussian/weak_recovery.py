"""How many samples it takes to see a direction: linear filters and spectral estimators of preprocessed labels.

docs/theory/spectral.md, sections 3 and 4. Everything is an average over labels of Z = T(y), E[g | y] and E[g² | y].
"""

from collections.abc import Callable
from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dimfree.gaussian.labels import Labels
from dimfree.gaussian.nodes import Vector

_NOTHING = 1e-7  # a smaller power counts as zero: near critical labels float64 is not more accurate
_FEWEST, _MOST = 1e-6, 1e6  # range of samples per dimension in which thresholds are searched for


class Preprocessed(NamedTuple):
    """Labels after preprocessing: Z = T(y), how often, E[g² | y], and the least upper bound of Z."""

    Z: Vector
    weight: Vector
    second: Vector
    supremum: float

    def signal(self, ell: float) -> float:
        """E[Z (g² - 1)/(ell - Z)]; phi(ell) exceeds psi(ell) where it exceeds 1/alpha."""
        return float(self.weight @ (self.Z * (self.second - 1) / (ell - self.Z)))

    def spread(self, ell: float) -> float:
        """E[Z²/(ell - Z)²]; psi falls where it exceeds 1/alpha."""
        return float(self.weight @ (self.Z / (ell - self.Z)) ** 2)

    def slope(self, ell: float) -> float:
        """-phi'(ell) = E[Z² g²/(ell - Z)²]."""
        return float(self.weight @ (self.second * (self.Z / (ell - self.Z)) ** 2))

    def edge(self, alpha: float) -> float:
        """The minimum of psi beyond the supremum, where the bulk of the eigenvalues ends."""
        return _crossing(lambda ell: self.spread(ell) - 1 / alpha, self.supremum * (1 + 1e-9))


def optimal_preprocessing(second: Vector) -> Vector:
    """T*(y) = 1 - 1/E[g² | y]."""
    return 1 - 1 / second


def filter_power(seen: Labels) -> float:
    """E[E[g | y]²]: what labels say of g by their best function."""
    return _power(seen, seen.first)


def filter_overlap(power: float, alpha: float) -> float:
    """The squared overlap of sum_i E[g | y_i] x_i with the direction."""
    return alpha * power / (1 + alpha * power)


def optimal_threshold(seen: Labels) -> float:
    """1/E[(E[g² | y] - 1)²]: with fewer samples no matrix of preprocessed labels shows the direction; may be infinite."""
    power = _power(seen, seen.second - 1)
    return 1 / power if power else inf


def optimal_overlap(seen: Labels, alpha: float) -> float:
    """The squared overlap of the first eigenvector with the direction, by the best preprocessing."""
    Z = optimal_preprocessing(seen.second)
    best = Preprocessed(Z, seen.weight, seen.second, float(Z.max()))
    return spectral_overlap(best, alpha) if alpha > optimal_threshold(seen) else 0.0


def spectral_overlap(made: Preprocessed, alpha: float) -> float:
    """The squared overlap of the first eigenvector of sum_i T(y_i) x_i x_i' with the direction."""
    edge = made.edge(alpha)
    if made.signal(edge) <= 1 / alpha:
        return 0.0
    ell = _crossing(lambda ell: made.signal(ell) - 1 / alpha, edge)
    rise = 1 / alpha - made.spread(ell)
    return rise / (rise + made.slope(ell))


def spectral_threshold(made: Preprocessed) -> float:
    """The samples per dimension from which on the first eigenvector sees the direction; infinite when it never does."""

    def excess(logarithm: float) -> float:
        alpha = exp(logarithm)
        return alpha * made.signal(made.edge(alpha)) - 1

    if excess(log(_MOST)) <= 0:
        return inf
    return exp(brentq(excess, log(_FEWEST), log(_MOST), xtol=1e-13))


def _power(seen: Labels, values: Vector) -> float:
    power = float(seen.weight @ values**2)
    return power if power > _NOTHING else 0.0


def _crossing(function: Callable[[float], float], start: float) -> float:
    """The place beyond `start` from which on a function is negative; `start` itself if it is negative there."""
    if function(start) <= 0:
        return start
    far = max(abs(start), 1.0)
    while function(start + far) > 0:
        far *= 4
    return float(brentq(function, start, start + far, xtol=1e-15 * max(abs(start), 1e-3), rtol=4 * np.finfo(float).eps))
