"""When a network with two learning rates learns which degree of its target (docs/theory/mean-field.md, section e).

Everywhere eps = first-layer rate / second-layer rate = 1/training.second_layer_rate (in the scaling 1/width): a small eps is a
fast second layer, and it alone gives these scales. Published displays disagree on the direction.
"""

from collections.abc import Sequence
from math import factorial, log, sqrt

import numpy as np

from dimfree.description import Times, Values
from dimfree.errors import ProblemError
from dimfree.onepass.kinds.teacher.section import MultiIndex
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem.network import prefactor

LEFT = 0.25  # a component counts as learned once it stays below this share of its value at the start


def rate_ratio(problem: OnePassProblem) -> float:
    """eps = first-layer rate / second-layer rate, in the canonical scaling of the network."""
    width, rate = problem.network.width, problem.training.second_layer_rate
    if problem.network.second_layer == "fixed" or rate == 0:
        raise ProblemError("a second layer that does not learn has no rate; set network.second_layer = 'trained'.")
    return 1 / (rate * (width * prefactor(problem.network.scaling, width)) ** 2)


def single_index(phi: Sequence[float], noise: float = 0.0) -> MultiIndex:
    """The target sum_k phi_k he_k(<u*, x>) with the orthonormal he_k = He_k/sqrt(k!)."""
    present = [k for k, value in enumerate(phi) if value]
    return MultiIndex(
        terms=tuple((k,) for k in present),
        coefficients=tuple(phi[k] / sqrt(factorial(k)) for k in present),
        noise=noise,
    )


def predicted_time_scale(eps: float, degree: int, sigma_1: float = 1.0, phi_1: float = 1.0) -> float:
    """When degree k is learned as eps to 0: eps, then sqrt(eps) log(1/eps)/(4 sigma_1 |phi_1|), then eps^(1/2k) up to a constant.

    sigma_1 and phi_1 are the first orthonormal Hermite coefficients of activation and target; only k = 1 asks for them.
    """
    if not 0 < eps < 1:
        raise ProblemError(f"eps = {eps:g} was given; the time scales are those of a fast second layer, 0 < eps < 1.")
    if degree < 0:
        raise ProblemError(f"degree {degree} was given; degrees are 0, 1, 2, ...")
    if degree == 0:
        return eps
    if degree > 1:
        return float(eps ** (1 / (2 * degree)))
    if sigma_1 * phi_1 == 0:
        raise ProblemError(
            "sigma_1 phi_1 = 0: activation or target have no part of degree 1, which is then never learned first."
        )
    return sqrt(eps) * log(1 / eps) / (4 * abs(sigma_1 * phi_1))


def measured_time_scale(times: Times, component: Values, left: float = LEFT) -> float:
    """The last time at which a component of the risk exceeds `left` of its first value, between saved times by log-log lines.

    Infinite if it does so at the end.
    """
    above = np.flatnonzero(component > left * component[0])
    last = int(above[-1])
    if last == len(times) - 1:
        return float("inf")
    if times[last] <= 0:
        raise ProblemError(
            f"the component is learned before the first saved time, t = {times[1]:.3g}; save earlier ones."
        )
    (low, high), (early, late) = np.log(component[last : last + 2]), np.log(times[last : last + 2])
    share = (np.log(left * component[0]) - low) / (high - low)
    return float(np.exp(early + share * (late - early)))
