"""Linear networks: the exact mean of SGD at finite dimension, without noise and without steps (docs/theory/structured.md, 1.6).

With one value |a|² of a fixed second layer only delta = mean of a* w* - mean of a w matters, at the rate gamma |a|²/p². Its
mean squares D_b in the directions of every eigenvalue obey linear equations: powers of one symmetric matrix give all times.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num

from dimfree.functions.activation import Polynomial
from dimfree.functions.target import Committee
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import second_layer
from dimfree.onepass.structured_model import StructuredModel

Vector = Float[np.ndarray, " b"]


class LinearRule(NamedTuple):
    """What decides the mean: eigenvalues and multiplicities, rate, label noise and batch of one linear unit."""

    s: Vector
    counts: Num[np.ndarray, " b"]
    gamma: float
    Delta: float
    batch: int

    @property
    def h(self) -> float:
        """gamma/d."""
        return self.gamma / float(self.counts.sum())


def exact_risks(rule: LinearRule, D: Vector, steps: Num[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """The mean risk after the given steps, equation (1.6): D/sqrt(d_b) moves by a symmetric matrix and a constant."""
    h, s, m, q = rule.h, rule.s, rule.batch, rule.s * np.sqrt(rule.counts)
    A = np.diag(-2 * h * s + h**2 * (1 + 1 / m) * s**2) + h**2 / m * np.outer(q, q)
    return _risks(A, h**2 / m * rule.Delta * q, q, D / np.sqrt(rule.counts), steps, discrete=True)


def ode_risks(rule: LinearRule, D: Vector, times: Float[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """The same in the limit of large dimension, at the time t = steps gamma/d."""
    rho = rule.counts / rule.counts.sum()
    q, weight = rule.s * np.sqrt(rho), rule.gamma / rule.batch
    A = -np.diag(2 * rule.s) + weight * np.outer(q, q)
    return _risks(A, weight * rule.Delta * q, q, D / np.sqrt(rho), times, discrete=False)


def momentum_risks(rule: LinearRule, beta: float, D: Vector, steps: Num[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """The mean risk with heavy-ball momentum from rest (section 4.2): D, <delta, v>/d and |v|²/d for every eigenvalue."""
    h, s, m, n = rule.h, rule.s, rule.batch, len(rule.s)
    one, shared = np.eye(n), h**2 / m * np.outer(s * rule.counts, s)
    growth = shared + np.diag(h**2 * (1 + 1 / m) * s**2)
    T = np.concatenate([growth, 2 * beta * h * np.diag(s), beta**2 * one], axis=1)
    S = np.concatenate([h * np.diag(s), beta * one, 0 * one], axis=1)
    step = np.concatenate([np.concatenate([one, 0 * one, 0 * one], axis=1) - 2 * S + T, S - T, T])
    noise = h**2 / m * s * rule.counts * rule.Delta
    affine = np.zeros((3 * n + 1, 3 * n + 1))
    affine[:-1, :-1], affine[:-1, -1], affine[-1, -1] = step, np.concatenate([noise, -noise, noise]), 1
    start = np.concatenate([D, np.zeros(2 * n), [1.0]])
    weights = np.concatenate([s, np.zeros(2 * n + 1)]) / 2
    return np.array([weights @ np.linalg.matrix_power(affine, int(count)) @ start for count in steps])


def stationary_risk(rule: LinearRule) -> float:
    """The mean risk after infinitely many steps, Delta chi/(1 - chi)/2; infinite where it diverges."""
    if rule.gamma >= critical_rate(rule.s, rule.counts, rule.batch):
        return np.inf
    chi = _chi(rule, rule.gamma)
    return rule.Delta * chi / (1 - chi) / 2


def critical_rate(s: Vector, counts: Num[np.ndarray, " b"], batch: int = 1) -> float:
    """The rate of one unit with second layer 1 at which chi = 1: above it the mean risk grows without end."""
    from scipy.optimize import brentq  # slow to import, and rarely needed

    rule = LinearRule(s, counts, 0.0, 0.0, batch)
    steepest = 2 * float(counts.sum()) / ((1 + 1 / batch) * float(s.max()))
    below = steepest * (1 - 1e-12)
    if _chi(rule, below) <= 1:  # many samples per step
        return below
    return float(brentq(lambda gamma: _chi(rule, gamma) - 1, 0.0, below, xtol=1e-14, rtol=1e-13))


def learning_rate_of_unit_rate(problem: OnePassProblem) -> float:
    """The learning_rate at which a linear network of this width and second layer moves as one unit does at rate 1.

    That unit moves at the rate Gamma |a|²/p²; infinite for a second layer of zeros, which moves nothing.
    """
    a = np.asarray(second_layer(problem))
    moved = float(a @ a) / problem.network.width**2
    return (1 - problem.training.momentum) / moved if moved else np.inf


def _chi(rule: LinearRule, gamma: float) -> float:
    hs, m = gamma * rule.s / rule.counts.sum(), rule.batch
    return float(np.sum(hs * rule.counts / (m * (2 - (1 + 1 / m) * hs))))


def _risks(
    A: Float[np.ndarray, "b b"], c: Vector, q: Vector, y: Vector, when: Num[np.ndarray, " t"], discrete: bool
) -> Float[np.ndarray, " t"]:
    """q.y/2 along y' = y + A y + c, or dy/dt = A y + c, by one eigenproblem: sums and integrals of powers in closed form."""
    values, U = np.linalg.eigh(A)
    t = np.asarray(when, dtype=float)[:, None]
    if discrete:
        growth = np.log(np.maximum(np.abs(1 + values), np.finfo(float).tiny))
        growth = np.where(
            values > -0.5, np.log1p(np.maximum(values, -0.5)), growth
        )  # exact for steps that change little
        turned = np.where((values < -1) & (np.rint(t) % 2 == 1), -1.0, 1.0)
        power, changed = (
            turned * np.exp(growth * t),
            np.where(turned > 0, np.expm1(growth * t), -np.exp(growth * t) - 1),
        )
    else:
        power, changed = np.exp(values * t), np.expm1(values * t)
    rest = np.where(values == 0, t, changed / np.where(values == 0, 1.0, values))
    return (power * (U.T @ y) + rest * (U.T @ c)) @ (U.T @ q) / 2


def is_linear(model: StructuredModel) -> bool:
    """Whether student and teacher are linear."""
    target = model.target
    both = (model.activation, target.activation if isinstance(target, Committee) else None)
    return all(isinstance(f, Polynomial) and f.coefficients == (0.0, 1.0) for f in both)
