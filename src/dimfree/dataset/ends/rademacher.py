"""How complex classes of perceptrons are, n = alpha d samples in dimension d (docs/theory/static.md, section a).

For classes of signs a complexity R_n bounds the error of every classifier without training errors: it is larger than the errors
themselves by far, and no bound where it exceeds 1/2.
"""

from collections.abc import Callable
from math import lgamma, log, pi, sqrt

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import norm

Curve = Float[np.ndarray, " n"]
_CAPACITY = 2.0  # samples per dimension up to which any labels are realised
LARGE_SAMPLES = sqrt(2 / pi) * (1 + (pi + 2 * log(1 + sqrt(2))) / (2 * sqrt(2)))  # point 5 of the section


def linear_class(alpha: Curve, radius: float = 1.0) -> Curve:
    """{w.x/sqrt(d), |w|² <= radius² d} in infinite dimension."""
    return radius / np.sqrt(alpha)


def linear_class_finite(samples: int, dimension: int, radius: float = 1.0) -> float:
    """The same for these numbers, exactly: radius E[chi_d]/sqrt(n)."""
    chi = sqrt(2) * np.exp(lgamma((dimension + 1) / 2) - lgamma(dimension / 2))
    return float(radius * chi / sqrt(samples))


def sign_replica_symmetric(alpha: Curve) -> Curve:
    """The replica-symmetric value for signs: exact (1) up to the capacity, an upper estimate beyond."""
    return _beyond_capacity(alpha, lambda a: 1 - 2 * norm.cdf(-_margin(a)))


def sign_counting(alpha: Curve) -> Curve:
    """Massart's bound with Cover's number of labellings: sqrt(2 h(1/alpha)), h the entropy in nats."""
    return _beyond_capacity(alpha, lambda a: min(1.0, sqrt(2 * _entropy(1 / a))))


def sign_bound(alpha: Curve) -> Curve:
    """The smaller of both."""
    return np.minimum(sign_replica_symmetric(alpha), sign_counting(alpha))


def sign_asymptote(alpha: Curve) -> Curve:
    """The complexity for many samples per dimension, of use from 20 on."""
    return LARGE_SAMPLES / np.sqrt(alpha)


def _beyond_capacity(alpha: Curve, value: Callable[[float], float]) -> Curve:
    return np.array([1.0 if a <= _CAPACITY else value(float(a)) for a in np.atleast_1d(alpha)])


def _margin(alpha: float) -> float:
    """a with int_0^a t² Dt = 1/alpha."""
    found: float = brentq(lambda a: norm.cdf(a) - 0.5 - a * norm.pdf(a) - 1 / alpha, 0.0, 40.0, xtol=1e-15)
    return found


def _entropy(share: float) -> float:
    return -share * log(share) - (1 - share) * log(1 - share)
