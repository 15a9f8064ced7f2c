"""Experiments with the estimators on drawn samples of a single-index target.

docs/theory/spectral.md, sections 3 and 4. The direction is the first axis, without loss of
generality: the law of inputs is rotation-invariant.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from dimfree.gaussian.nodes import Table, Vector
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.spectral.estimators import Estimator

LARGEST = 2000  # dimension of a dense eigensolver; iterative ones converge badly on matrices unbounded from below
_BLOCK = 4096  # samples in memory


class Target(NamedTuple):
    """The target whose samples are drawn."""

    link: Callable[[Vector], Vector]
    noise: float
    dimension: int

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Table, Vector]:
        x = rng.standard_normal((count, self.dimension))
        return x, self.link(x[:, 0]) + np.sqrt(self.noise) * rng.standard_normal(count)


def measured_overlaps(
    target: Target,
    estimators: Sequence[Estimator],
    counts: Sequence[int],
    seeds: Sequence[tuple[int, int]],
    watch: PartWatcher = nobody,
) -> Float[np.ndarray, "estimator count seed"]:
    """Squared overlaps with the direction; larger counts (they increase) contain the samples of smaller ones."""
    found = np.zeros((len(estimators), len(counts), len(seeds)))
    for number, seed in enumerate(seeds):
        watch("experiments", number / len(seeds))
        with threadpool_limits(1):  # several threads would wait for each other longer than the eigenvectors take
            found[:, :, number] = _one_seed(target, estimators, counts, np.random.default_rng(seed))
    watch("experiments", 1.0)
    return found


def seconds(dimension: int, counts: Sequence[int], matrices: int, seeds: int) -> float:
    """CPU seconds of such a measurement: products of matrices, eigenvectors, and random numbers."""
    products = 6e-11 * max(counts) * dimension**2 + 1e-10 * len(counts) * dimension**3
    return seeds * (matrices * products + 2.5e-8 * max(counts) * dimension)


def _one_seed(
    target: Target, estimators: Sequence[Estimator], counts: Sequence[int], rng: np.random.Generator
) -> Float[np.ndarray, "estimator count"]:
    d = target.dimension
    sums: list[Table] = [np.zeros((d,) if one.linear else (d, d)) for one in estimators]
    found = np.zeros((len(estimators), len(counts)))
    for column, (before, count) in enumerate(pairwise([0, *counts])):
        for start in range(before, count, _BLOCK):
            x, y = target.draw(min(_BLOCK, count - start), rng)
            for one, total in zip(estimators, sums, strict=True):
                weights = one.weights(y)
                total += weights @ x if one.linear else x.T @ (weights[:, None] * x)
        found[:, column] = [_squared_overlap(total) for total in sums]
    return found


def _squared_overlap(total: Table) -> float:
    """The squared overlap of a vector, or of the first eigenvector of a matrix, with the first axis."""
    last = len(total) - 1
    v = total if total.ndim == 1 else eigh(total, subset_by_index=(last, last))[1][:, 0]
    return float(v[0] ** 2 / (v @ v))
