"""The lowest test error on clusters that any rule has (docs/theory/losses.md, section 3).

What an input tells about its cluster is in its coordinates along the directions of the means and in the length of the rest. Where
all variances are equal the rest tells nothing; XOR and two clusters then have closed forms. Otherwise the errors of the best rule
are counted at fixed points, at the dimension of the problem, because in many dimensions the length of the rest alone
distinguishes clusters of different variance.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr

from dimfree.gaussian.points import normal_points
from dimfree.onepass.kinds.clusters.section import Clusters

_POINTS = 2**16
_FLAT = 1e-12  # directions with a smaller share of the largest eigenvalue count as absent


@lru_cache(maxsize=64)
def bayes_error(data: Clusters, dimension: int) -> float:
    """Against labels as they are drawn: flips are errors of the best rule, too, and may make a wrong class the right one."""
    others = data.label_classes - 1
    return data.flip + (1 - data.flip * (1 + 1 / others)) * _clean_error(data, dimension)


def _clean_error(data: Clusters, dimension: int) -> float:
    weights, v, y = (np.asarray(x, dtype=float) for x in (data.shares, data.spreads, data.labels))
    centres = _in_standard_directions(data)
    if data.shape == "xor" and data.overlap == "orthonormal":
        q = ndtr(data.separation / np.sqrt(2 * data.variance))
        return float(2 * q * (1 - q))
    equal = bool(np.all(v == v[0]))
    if len(y) == 2 and equal:  # both sides of a plane
        apart = np.linalg.norm(centres[0] - centres[1]) / np.sqrt(v[0])
        shift = np.log(weights[0] / weights[1]) / apart
        return float(weights @ ndtr(-apart / 2 - np.array([1.0, -1.0]) * shift))
    k = centres.shape[1]
    points, freedom = normal_points(k + 1, _POINTS), dimension - k
    rest = np.zeros(_POINTS) if equal or not freedom else 2 * gammaincinv(freedom / 2, ndtr(points[:, k]))
    lost = [
        np.mean(_least(centre + np.sqrt(own) * points[:, :k], own * rest, centres, weights, v, y, k + freedom))
        for centre, own in zip(centres, v, strict=True)
    ]
    return float(weights @ np.array(lost))


def _in_standard_directions(data: Clusters) -> NDArray[np.float64]:
    """Means along orthonormal directions: Aᵀ S with A Aᵀ = P."""
    values, vectors = np.linalg.eigh(data.teacher_overlap)
    kept = values > _FLAT * values.max()
    return data.coefficients @ (vectors[:, kept] * np.sqrt(values[kept]))


def _least(
    s: NDArray[np.float64],
    rest: NDArray[np.float64],
    centres: NDArray[np.float64],
    weights: NDArray[np.float64],
    v: NDArray[np.float64],
    y: NDArray[np.float64],
    dimension: int,
) -> NDArray[np.float64]:
    """The probability that every input is not of its most likely class."""
    squares = np.sum((s[:, None] - centres) ** 2, axis=-1) + rest[:, None]
    logarithm = np.log(weights) - dimension / 2 * np.log(v) - squares / (2 * v)
    share = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
    first = share @ (y[:, None] == np.unique(y)[1:]) / share.sum(axis=1, keepdims=True)  # all classes but one
    return np.minimum(first.sum(axis=1), 1 - first.max(axis=1))
