"""Estimators of a direction from preprocessed labels: their weights of samples, and the theory of their overlaps.

docs/theory/spectral.md, sections 3 and 4.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

from scipy.optimize import brentq

from dimfree.gaussian.labels import labels
from dimfree.gaussian.links import Link, on_points
from dimfree.gaussian.nodes import Vector
from dimfree.gaussian.preprocessing import Preprocessing, preprocessed
from dimfree.gaussian.weak_recovery import (
    filter_overlap,
    filter_power,
    optimal_overlap,
    optimal_preprocessing,
    optimal_threshold,
    spectral_overlap,
    spectral_threshold,
)

_MOST = 1e6  # samples per dimension


class Estimator(NamedTuple):
    """One way to find the direction."""

    name: str
    linear: bool  # sum of T(y) x; otherwise the first eigenvector of the sum of T(y) x x'
    weights: Callable[[Vector], Vector]  # T, on labels
    threshold: float  # samples per dimension from which on it sees the direction
    overlap: Callable[[float], float]  # the squared overlap at so many samples per dimension

    def samples_for(self, overlap: float) -> float:
        """Samples per dimension for a squared overlap; infinite when it never gets there."""
        if self.threshold == inf or self.overlap(_MOST) < overlap:
            return inf
        return float(brentq(lambda alpha: self.overlap(alpha) - overlap, max(self.threshold, 1e-9), _MOST))


def estimators(link: Link, noise: float, preprocessing: Preprocessing | None = None) -> tuple[Estimator, ...]:
    """The linear filter and the spectral estimator with the best preprocessing, where they see anything, and a given one."""
    best = tuple(_best(link, noise))
    return best if preprocessing is None else (*best, _given(link, noise, preprocessing))


def _best(link: Link, noise: float) -> Iterator[Estimator]:
    seen = labels(link, noise)
    power, threshold = filter_power(seen), optimal_threshold(seen)
    if power:
        yield Estimator(
            "linear filter", True, lambda y: seen.moments(y)[0], 0.0, lambda alpha: filter_overlap(power, alpha)
        )
    if threshold < inf:
        yield Estimator(
            "spectral",
            False,
            lambda y: optimal_preprocessing(seen.moments(y)[1]),
            threshold,
            lambda alpha: optimal_overlap(seen, alpha),
        )


def _given(link: Link, noise: float, preprocessing: Preprocessing) -> Estimator:
    made = preprocessed(link, noise, preprocessing)
    weights = on_points(preprocessing, "preprocessing")
    return Estimator("given", False, weights, spectral_threshold(made), lambda alpha: spectral_overlap(made, alpha))
