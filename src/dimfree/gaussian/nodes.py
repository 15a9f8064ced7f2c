"""Quadrature nodes for standard Gaussian averages, as NumPy constants (computed once, closed over by jit)."""

from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import roots_legendre

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@lru_cache(maxsize=64)
def trapezoid(step: float, dimension: int, radius: float) -> tuple[Table, Vector]:
    """Product trapezoidal rule inside a ball: spectrally accurate for smooth functions (docs/theory, section 3.2)."""
    reach = step * ceil(radius / step)
    axis = np.arange(-reach, reach + step / 2, step)
    points = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    squared = np.sum(points**2, axis=1)
    points, squared = points[squared <= radius**2], squared[squared <= radius**2]
    weights = np.exp(-0.5 * squared)
    return points, weights / weights.sum()


@lru_cache(maxsize=64)
def gauss_hermite(count: int, dimension: int) -> tuple[Table, Vector]:
    """Product Gauss-Hermite rule: exact for polynomials of degree below 2 count in each variable."""
    x, w = hermite_e.hermegauss(count)
    points = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    weights = np.stack(np.meshgrid(*[w / sqrt(2 * np.pi)] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    return points, weights.prod(axis=1)


@lru_cache(maxsize=64)
def gauss_legendre(count: int) -> tuple[Vector, Vector]:
    """Gauss-Legendre rule on [0, 1]."""
    x, w = roots_legendre(count)  # NumPy's are eigenvalues of a full matrix: seconds for hundreds of nodes
    return (x + 1) / 2, w / 2
