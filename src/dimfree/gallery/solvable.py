"""Two noisy mean-field models with closed solutions, to test every other solver on (docs/theory/mean-field.md, (c.6) to (c.8)).

Gaussian laws stay Gaussian in both: neurons <theta, x> with labels <b, x>, and neurons <theta, x>² with labels b |x|².
"""

from math import e, exp, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError


class LinearLaw(NamedTuple):
    """The mean and the variance per coordinate of the Gaussian law, and its free energy."""

    mean: Float[np.ndarray, " D"]
    variance: float
    free_energy: float


def linear_law(
    b: Float[Any, " D"], decay: float, beta: float, time: float, m0: Float[Any, " D"], c0: float
) -> LinearLaw:
    """The linear model from N(m0, c0 I) at a time; time = inf is the stationary law."""
    _check(beta)
    if not decay > 0:
        raise ProblemError(f"the decay lambda is {decay:g}; the linear model needs a positive one.")
    if not c0 > 0:
        raise ProblemError(f"the variance c0 of the start is {c0:g}; it must be positive.")
    target = np.asarray(b, dtype=float)
    goal, rest = target / (1 + decay), 1 / (beta * decay)
    mean = goal + (np.asarray(m0) - goal) * exp(-(1 + decay) * time)
    variance = rest + (c0 - rest) * exp(-2 * decay * time)
    D = goal.size
    energy = 0.5 * float(np.sum((mean - target) ** 2)) + 0.5 * decay * (float(np.sum(mean**2)) + D * variance)
    return LinearLaw(mean, variance, energy - D / (2 * beta) * log(2 * pi * e * variance))


def quadratic_variance(b: float, D: int, decay: float, beta: float, time: float, s0: float) -> float:
    """The variance s per coordinate of the quadratic model from N(0, s0 I): s' = -2 [(2D+4)(s-b) + lambda] s + 2/beta."""
    _check(beta)
    if not s0 >= 0:
        raise ProblemError(f"the variance s0 of the start is {s0:g}; it must not be negative.")
    g = 2 * D + 4
    middle, root = g * b - decay, sqrt((g * b - decay) ** 2 + 4 * g / beta)
    high, low = (middle + root) / (2 * g), (middle - root) / (2 * g)
    ratio = (s0 - high) / (s0 - low) * exp(-2 * root * time)
    return (high - low * ratio) / (1 - ratio)


def _check(beta: float) -> None:
    if not beta > 0:
        raise ProblemError(f"beta is {beta:g}; the inverse temperature must be positive.")
