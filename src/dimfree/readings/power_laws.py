"""Power laws: the slope of a logarithm, with an error bar from independent runs."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


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
    return float(np.polyfit(np.log(values), np.log(errors.mean(axis=1)), 1)[0])
