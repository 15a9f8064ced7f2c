"""Two-point expectations by another way: dense composite Gauss-Legendre rules over u, and over w given u."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import erf

REACH = 9.0
_T, _W = leggauss(10)


class Function(NamedTuple):
    """A function with its derivatives between the kinks, and the jumps of its slope there."""

    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], np.ndarray]
    bends: dict[float, float] = {}  # noqa: RUF012


def _bell(x):
    return np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)


def _elu_tail(x):
    return np.exp(np.minimum(x, 0))


FUNCTIONS = {
    "erf": Function(lambda x: erf(x / np.sqrt(2)), _bell, lambda x: -x * _bell(x)),
    "tanh": Function(np.tanh, lambda x: np.cosh(x) ** -2.0, lambda x: -2 * np.tanh(x) * np.cosh(x) ** -2.0),
    "square": Function(lambda x: x**2, lambda x: 2 * x, lambda x: 2 + 0 * x),
    "he3": Function(lambda x: x**3 - 3 * x, lambda x: 3 * x**2 - 3, lambda x: 6 * x),
    "relu": Function(lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0), np.zeros_like, {0.0: 1.0}),
    "leaky-relu": Function(
        lambda x: np.where(x > 0, x, 0.01 * x), lambda x: np.where(x > 0, 1, 0.01), np.zeros_like, {0.0: 0.99}
    ),
    "hard-tanh": Function(
        lambda x: np.clip(x, -1, 1), lambda x: 1.0 * (np.abs(x) < 1), np.zeros_like, {-1.0: 1.0, 1.0: -1.0}
    ),
    "jax.nn:elu": Function(
        lambda x: np.where(x > 0, x, _elu_tail(x) - 1),
        _elu_tail,
        lambda x: np.where(x > 0, 0, _elu_tail(x)),
        {0.0: 0.0},
    ),
    "jax.nn:soft_sign": Function(
        lambda x: x / (1 + np.abs(x)),
        lambda x: (1 + np.abs(x)) ** -2.0,
        lambda x: -2 * np.sign(x) * (1 + np.abs(x)) ** -3.0,
        {0.0: 0.0},
    ),
}


def _nodes(breaks: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and normal weights on pieces of length one half, split at the breaks."""
    edges = np.unique(np.concatenate([np.arange(-REACH, REACH + 0.25, 0.5), [b for b in breaks if abs(b) < REACH]]))
    y = (edges[:-1, None] + np.diff(edges)[:, None] * (_T + 1) / 2).ravel()
    return y, (np.diff(edges)[:, None] * _W / 2).ravel() * np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi)


def _given(g: Function, mean: float, spread: float) -> tuple[float, float]:
    """E[g(w)] and E[g'(w)] for w = mean + spread y."""
    if spread == 0:
        return float(g.value(np.array(mean))), float(g.slope(np.array(mean)))
    y, weight = _nodes([(kink - mean) / spread for kink in g.bends])
    w = mean + spread * y
    return float(g.value(w) @ weight), float(g.slope(w) @ weight)


def expectations(sigma: Function, g: Function, q_u: float, c: float, q_w: float) -> tuple[float, float, float]:
    """kappa = E[sigma g], A = E[sigma'' g], B = E[sigma' g'], with second derivatives that know the kinks."""
    scale, slope = np.sqrt(q_u), c / np.sqrt(q_u)
    left = q_w - slope**2
    spread = np.sqrt(left) if left > 1e-14 * q_w else 0.0
    breaks = [kink / scale for kink in sigma.bends]
    if slope:
        breaks += [(kink + side * spread) / slope for kink in g.bends for side in (-8, -4, -2, -1, 0, 1, 2, 4, 8)]
    x, weight = _nodes(breaks)
    g_value, g_slope = np.array([_given(g, slope * at, spread) for at in x]).T
    at_kinks = sum(
        bend * np.exp(-(kink**2) / (2 * q_u)) / np.sqrt(2 * np.pi * q_u) * _given(g, c / q_u * kink, spread)[0]
        for kink, bend in sigma.bends.items()
    )
    u = scale * x
    return (
        float(weight @ (sigma.value(u) * g_value)),
        float(weight @ (sigma.curvature(u) * g_value)) + at_kinks,
        float(weight @ (sigma.slope(u) * g_slope)),
    )
