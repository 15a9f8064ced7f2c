"""Noisy neurons of two models that can be solved: <theta, x> and <theta, x>² (docs/theory/mean-field.md, (c.6) to (c.8)).

Inputs are x ~ N(0, I_3), labels <b, x> and |x|²/2. The population forces are known in closed form, so what is simulated is the
noise and the interaction of the neurons, without samples.
"""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

Thetas = Float64[np.ndarray, "n 3"]
Force = Callable[[Thetas], Thetas]
TARGET = np.array([1.0, -0.5, 0.25])


class Rule(NamedTuple):
    """Decay lambda, inverse temperature beta, and until when to go with which step."""

    decay: float
    beta: float
    until: float
    eps: float


LINEAR, QUADRATIC = Rule(0.5, 4.0, 8.0, 0.01), Rule(0.3, 5.0, 1.0, 0.001)


def linear_force(theta: Thetas) -> Thetas:
    """Minus grad Psi of neurons <theta, x> with labels <b, x>: the same for all."""
    return np.broadcast_to(TARGET - theta.mean(axis=0), theta.shape)


def quadratic_force(theta: Thetas) -> Thetas:
    """Minus grad Psi of neurons <theta, x>² with labels |x|²/2."""
    S, B = theta.T @ theta / len(theta), 0.5 * np.eye(3)
    A = np.trace(S - B) * np.eye(3) + 2 * (S - B)
    return -2 * theta @ A


def walk(force: Force, rule: Rule, neurons: int) -> Thetas:
    """Neurons that start from N(0, I) after all steps theta += eps (force - lambda theta) + noise of variance 2 eps/beta."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(neurons, 3))
    spread = sqrt(2 * rule.eps / rule.beta)
    for _ in range(round(rule.until / rule.eps)):
        drift = force(theta) - rule.decay * theta
        theta = theta + rule.eps * drift + spread * rng.normal(size=theta.shape)
    return theta
