"""Power laws: the slope of one logarithm against another, with an error bar from independent runs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Real


class Fit(NamedTuple):
    """A slope and its standard error."""

    value: float
    standard_error: float


def fit(values: Float[np.ndarray, " x"], errors: Float[np.ndarray, "x s"]) -> Fit:
    """The slope of log mean error against log value; its standard error is the jackknife over seeds."""
    seeds = errors.shape[1]
    left = [slope(values, np.delete(errors, seed, axis=1)) for seed in range(seeds)]
    return Fit(slope(values, errors), float(np.sqrt((seeds - 1) * np.var(left))))


def slope(values: Float[np.ndarray, " x"], errors: Float[np.ndarray, "x s"]) -> float:
    """The same without its error."""
    return power(values, errors.mean(axis=1))


def power(x: Sequence[float] | Real[np.ndarray, " n"], y: Sequence[float] | Real[np.ndarray, " n"]) -> float:
    """The exponent with which y scales in x: least squares of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
