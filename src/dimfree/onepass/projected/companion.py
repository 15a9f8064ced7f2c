"""The companion transform of a projected population, and what the real axis says (docs/theory/scaling.md, section 2).

Capacity, edges of the spectrum and the limit of stability are roots of sums over the population: no matrix, no cells.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Complex

from dimfree.onepass.projected.population import Population

Points = Complex[np.ndarray, " z"]
_NEWTON = 60  # iterations at most
_ROUNDING = 1e-14


def inverse(population: Population, d: float, s: float) -> float:
    """x(s), the point of the real axis outside of the spectrum at which the transform is s."""
    return float(-1 / s + np.sum(population.counts * population.h / (1 + population.h * s)) / d)


def crowding(population: Population, s: float) -> float:
    """Sum of (h s)²/(1 + h s)²: below d wherever the transform is s outside of the spectrum, and d at its edges."""
    hs = population.h * s
    return float(np.sum(population.counts * (hs / (1 + hs)) ** 2))


def transform(population: Population, d: float, z: Points, guess: Points) -> Points:
    """m~(z) by Newton's method from a guess in the upper half plane; steps that would leave it are halved."""
    m, h, share = guess.copy(), population.h, population.counts / d
    for _ in range(_NEWTON):
        kept = 1 / (1 + m[:, None] * h)
        value = 1 + z * m - (1 - kept) @ share
        slope = z - (h * kept**2) @ share
        step = -value / slope
        left = (m + step).imag <= 0
        while left.any():
            step = np.where(left, step / 2, step)
            left = (m + step).imag <= 0
        m = m + step
        if np.all(np.abs(step) <= _ROUNDING * np.abs(m)):
            break
    return m


def high_above(population: Population, d: float, z: Points) -> Points:
    """m~(z) where Im z is at least of the size of Re z: the equation itself contracts there."""
    m = -1 / z
    for _ in range(_NEWTON):
        m = 1 / (-z + (population.h / (1 + m[:, None] * population.h)) @ (population.counts / d))
    return transform(population, d, z, m)


def anywhere(population: Population, d: float, z: Points) -> Points:
    """m~(z) at any points of the upper half plane, step by step from above."""
    height = np.maximum(4 * np.abs(z), z.imag)
    m = high_above(population, d, z.real + 1j * height)
    while (height > z.imag).any():
        height = np.maximum(height / 1.5, z.imag)
        m = transform(population, d, z.real + 1j * height, m)
    return m


def signal(population: Population, z: Points, m: Points) -> Points:
    """s_F of (2.1), the transform of the signal."""
    return -((1 / (1 + m[:, None] * population.h)) @ population.e) / z


def noise(population: Population, z: Points, m: Points) -> Points:
    """s_K of (2.1), the transform of the noise up to a polynomial, in the form without cancellation."""
    hm = m[:, None] * population.h
    return z * ((hm / (1 + hm)) @ population.counts)


def capacity(population: Population, d: float) -> tuple[float, float]:
    """Kappa, and the part Delta_W of the target that d projections cannot reach."""
    population.check_size(d)
    h, counts = population.h, population.counts
    low, high = h.min() * 1e-3 * (population.inputs / d - 1), population.trace / d
    kappa = np.exp(_root(lambda logarithm: counts @ (h / (h + np.exp(logarithm))) - d, np.log(low), np.log(high)))
    return float(kappa), float(kappa * np.sum(population.e / (h + kappa)))


def edges(population: Population, d: float, kappa: float) -> tuple[float, float]:
    """The smallest and the largest eigenvalue."""
    highest = np.log(population.inputs / d * 1e3 / (population.h.min() * min(1.0, population.inputs / d - 1)))
    s = np.exp(_root(lambda logarithm: crowding(population, np.exp(logarithm)) - d, -np.log(kappa), highest))
    return inverse(population, d, float(s)), inverse(population, d, _upper(population, d))


def stability(population: Population, d: float, gamma: float, batch: float, momentum: float = 0.0) -> float:
    """Chi, the sum over all times of the kernel: the mean risk stays bounded below 1; infinite beyond the spectrum's edge."""
    wide, edge = widening(batch, momentum), _upper(population, d)
    z = 2 * (1 - momentum) / (gamma * wide)
    if z <= inverse(population, d, edge):
        return np.inf
    s = _root(lambda s: inverse(population, d, s) - z, edge, -1 / (z + population.trace))
    return _chi(population, s, batch * wide)


def critical_rate(population: Population, d: float, batch: float = 1, momentum: float = 0.0) -> float:
    """The rate at which chi = 1, or at which the largest eigenvalue itself becomes unstable."""
    wide, edge = widening(batch, momentum), _upper(population, d)
    s = edge
    if _chi(population, edge, batch * wide) > 1:
        s = _root(lambda s: _chi(population, s, batch * wide) - 1, edge, edge * 1e-12)
    return 2 * (1 - momentum) / (wide * inverse(population, d, s))


def widening(batch: float, momentum: float) -> float:
    """w, with which chi = G/batch * sum lambda/(2 - G w lambda) for G = gamma/(1 - momentum); 1 + 1/batch for plain SGD."""
    return (1 - momentum) / (1 + momentum) + 1 / batch


def _upper(population: Population, d: float) -> float:
    """The transform at the upper edge, between -1/h_1 and 0."""
    h = float(population.h[0])
    first = float(population.counts[0])
    # with u = h s and the first level alone: first (u/(1 + u))² = d; other levels move the edge towards 0
    alone = -1 / (1 + np.sqrt(first / d)) / h
    if crowding(population, alone) <= d:
        return alone
    return _root(lambda s: crowding(population, s) - d, alone, alone * 1e-9)


def _chi(population: Population, s: float, widened: float) -> float:
    hs = population.h * s
    return float(-np.sum(population.counts * hs / (1 + hs)) / widened)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # slow to import, and rarely needed

    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-14, maxiter=500))
