"""The law of labels y = f(g) + noise, as estimators need it: E[g | y] and E[g² | y], and an average over y.

docs/theory/spectral.md, section 2.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dimfree.errors import ProblemError
from dimfree.gaussian.level_sets import REACH, LevelSets, density, level_sets
from dimfree.gaussian.links import Link
from dimfree.gaussian.nodes import Table, Vector, gauss_legendre
from dimfree.gaussian.noisy_labels import smeared

_HIGHEST = 20
_NODES = 120  # nodes between two cuts


class Labels(NamedTuple):
    """A quadrature rule over labels, and for every label the conditional moments E[g | y] and E[g² | y] (`moments`)."""

    y: Vector
    weight: Vector
    first: Vector
    second: Vector
    moments: Callable[[Vector], tuple[Vector, Vector]]


def labels(link: Link, noise: float = 0.0, cuts: Sequence[float] = ()) -> Labels:
    """The labels of a link, with Gaussian noise of this variance; `cuts` are values of g at which integrals are split."""
    if noise:
        y, weight, first, second = smeared(level_sets(link), noise)
        return Labels(y, weight, first, second, lambda seen: (np.interp(seen, y, first), np.interp(seen, y, second)))
    levels = level_sets(link)

    def moments(seen: Vector) -> tuple[Vector, Vector]:
        _, first, second = levels.hermite(seen, 3)
        return first, 1 + second

    y, weight = _rule(levels, cuts)
    return Labels(y, weight, *moments(y), moments)


@lru_cache(maxsize=64)
def generative_exponent(link: Link, tolerance: float = 1e-6) -> int:
    """The lowest k >= 1 for which E[He_k(g) | y] is not zero for all labels; noise on the labels does not change it.

    Zero means a mean size below `tolerance` of the root mean square of He_k. (Its own root mean square would see the few labels
    so close to a critical one that float64 does not tell their preimages apart.)
    """
    levels = level_sets(link)
    y, weight = _rule(levels)
    size = np.abs(levels.hermite(y, _HIGHEST + 1)[1:]) @ weight
    present = size > tolerance * np.sqrt(np.cumprod(np.arange(1.0, _HIGHEST + 1)))
    if not present.any():
        raise ProblemError(
            f"the labels say nothing of the direction: E[He_k(g) | y] vanishes for all k from 1 to {_HIGHEST}; "
            "choose a link that is not constant."
        )
    return int(np.argmax(present)) + 1


def _rule(levels: LevelSets, more_cuts: Sequence[float] = ()) -> tuple[Vector, Vector]:
    """Labels without noise, and weights.

    Beside a preimage of a critical label expectations change like a root of the distance: g = a + (b - a) sin²(pi t/2) between
    two cuts a and b makes them smooth in t.
    """
    edges = np.unique(np.concatenate([levels.cuts(), [x for x in more_cuts if abs(x) < REACH]]))
    edges = edges[np.diff(edges, prepend=-np.inf) > 1e-9]
    t, w = gauss_legendre(_NODES)
    width = np.diff(edges)[:, None]
    g = (edges[:-1, None] + width * np.sin(0.5 * np.pi * t) ** 2).ravel()
    weight = (width * w * 0.5 * np.pi * np.sin(np.pi * t)).ravel() * density(g)
    moves = ((levels.left[:, None] < g) & (g < levels.right[:, None])).any(axis=0)
    held: Table = np.array([(0.5 * (atom.low + atom.high), atom.probability) for atom in levels.atoms]).reshape(-1, 2)
    return np.concatenate([levels.value(g[moves]), held[:, 0]]), np.concatenate([weight[moves], held[:, 1]])
