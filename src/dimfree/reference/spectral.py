"""Adapters for spectral estimators and linear filters (docs/theory/spectral.md); polynomial links by ascending coefficients."""

from typing import Any

from dimfree.functions import Polynomial
from dimfree.gaussian.labels import Labels, labels
from dimfree.gaussian.weak_recovery import filter_overlap, filter_power, optimal_overlap, optimal_threshold

Values = dict[str, Any]


def spectral(inputs: Values) -> Values:
    """Threshold and squared overlaps of the best preprocessing, by samples per dimension."""
    seen = _labels(inputs)
    return {"alpha_weak": optimal_threshold(seen)} | {
        f"overlap2[{alpha}]": optimal_overlap(seen, alpha) for alpha in inputs["alphas"]
    }


def linear_filter(inputs: Values) -> Values:
    """The power of the best filter and its squared overlaps, by samples per dimension."""
    power = filter_power(_labels(inputs))
    return {"e": power} | {f"overlap2[{alpha}]": filter_overlap(power, alpha) for alpha in inputs["alphas"]}


def _labels(inputs: Values) -> Labels:
    return labels(Polynomial(tuple(inputs["link_coef_ascending"])))
