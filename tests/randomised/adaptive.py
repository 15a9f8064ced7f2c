"""Gaussian averages by adaptive quadrature that is split at the kinks, with the quadrature's own estimate of its error."""

from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from plain_functions import Plain
from scipy.integrate import quad_vec

REACH = 9.5
_NODES, _WEIGHTS = leggauss(12)


class Average(NamedTuple):
    """Values, what the quadrature says of its error, and the roots of the averages of squares."""

    value: np.ndarray
    error: np.ndarray
    size: np.ndarray


def _density(x: np.ndarray | float) -> np.ndarray:
    return np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)


def _rule(breaks: list[float], longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes with Gaussian weights on pieces no longer than `longest` between the breaks."""
    edges = np.linspace(-REACH, REACH, 2 + int(2 * REACH / longest))
    edges = np.unique(np.concatenate([edges, [b for b in breaks if abs(b) < REACH]]))
    y = (edges[:-1, None] + np.diff(edges)[:, None] * (_NODES + 1) / 2).ravel()
    return y, (np.diff(edges)[:, None] * _WEIGHTS / 2).ravel() * _density(y)


def _adaptive(integrand, breaks: list[float], count: int) -> Average:
    """Of a function of x with `count` results, each with its square further on."""
    inner = sorted({float(b) for b in breaks if abs(b) < REACH} | {0.0})
    size = np.maximum(np.abs(integrand(0.3)), np.abs(integrand(-0.9)))
    size = np.tile(np.sqrt(size[count:]), 2) ** np.repeat([1, 2], count) + 1e-300

    def scaled(x: float) -> np.ndarray:
        return integrand(x) / size * _density(x)

    found, error, info = quad_vec(
        scaled, -REACH, REACH, points=inner, epsabs=1e-13, epsrel=1e-12, norm="max", limit=2000, full_output=True
    )
    assert info.status in (0, 2), info.message  # 2: as exact as rounding lets it be
    found, error = found * size, error * size[:count]
    return Average(found[:count], error, np.sqrt(found[count:]))


def one_point(f: Plain, q: float, count: int) -> Average:
    """E[f^(j)(sqrt(q) x)] for j below `count`, as E[f(sqrt(q) x) He_j(x)]/q^(j/2)."""
    scale = np.sqrt(q)

    def integrand(x: float) -> np.ndarray:
        he = [1.0, x]
        for j in range(2, count):
            he.append(x * he[-1] - (j - 1) * he[-2])
        terms = f.value(np.array(scale * x)) * np.array(he[:count]) / scale ** np.arange(count)
        return np.concatenate([terms, terms**2])

    return _adaptive(integrand, [kink / scale for kink in f.kinks], count)


def two_point(f: Plain, g: Plain, q_u: float, c: float, q_w: float) -> Average:
    """E[f g], E[f'' g] and E[f' g'] of a pair (u, w), where f'' knows the jumps of f' at its kinks.

    w is u's share and an independent rest; the average over the rest is a rule split at the kinks of g, taken twice, once with
    pieces half as long: the largest difference is an error bar.
    """
    scale, slope = np.sqrt(q_u), c / np.sqrt(q_u)
    rest = np.sqrt(max(q_w - slope**2, 0.0))
    longest = min(0.5, 0.35 / max(rest, 1e-9))
    gap = 0.0

    def given(mean: float, piece: float) -> np.ndarray:
        y, weight = _rule([(kink - mean) / rest for kink in g.kinks] if rest > 0 else [], piece)
        w = mean + rest * y
        value, steep = g.value(w), g.slope(w)
        return np.array([value, steep, value**2, steep**2]) @ weight

    def integrand(x: float) -> np.ndarray:
        u, inner = np.array(scale * x), given(slope * x, longest)
        f_u, steep, curved = f.value(u), f.slope(u), f.curvature(u)
        terms = np.array([f_u * inner[0], curved * inner[0], steep * inner[1]])
        squares = np.array([f_u**2 * inner[2], (u * steep / q_u) ** 2 * inner[2], steep**2 * inner[3]])
        return np.concatenate([terms, squares])

    breaks = [kink / scale for kink in f.kinks]
    if slope:
        layer = [-8, -4, -2, -1, 0, 1, 2, 4, 8] if g.kinks else []
        breaks += [(kink + side * rest) / slope for kink in g.kinks for side in layer]
    found = _adaptive(integrand, breaks, 3)
    for x in (-2.1, -0.4, 0.0, 1.3):
        coarse, fine = given(slope * x, longest), given(slope * x, longest / 2)
        root = np.sqrt(fine[2:]) + 1e-100
        gap = max(gap, float(np.max(np.abs(coarse - fine) / np.concatenate([root, root**2]))))
    at_kinks = sum(
        bend * _density(kink / scale) / scale * given(slope * kink / scale, longest)[0]
        for kink, bend in f.bends.items()
    )
    value = found.value + np.array([0.0, float(at_kinks), 0.0])
    size = found.size + np.array([0.0, abs(c) / q_u * found.size[2], 0.0])
    return Average(value, found.error + (gap + 1e-14) * size, size)
