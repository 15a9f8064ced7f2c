"""The law of labels after a given preprocessing, and its least upper bound, which the theory needs.

docs/theory/spectral.md, section 4.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Array

from dimfree.errors import ProblemError
from dimfree.functions.understand import jumps
from dimfree.gaussian.labels import labels
from dimfree.gaussian.level_sets import LevelSets, level_sets
from dimfree.gaussian.links import Link, on_points
from dimfree.gaussian.nodes import Table, Vector
from dimfree.gaussian.weak_recovery import Preprocessed

Preprocessing = Callable[..., Array]
_FAR, _NEAR = (
    10.0 ** np.arange(1, 9),
    10.0 ** -np.arange(4, 13),
)  # decades in which a maximum is searched for, far out and near cuts
_GROWS = 0.05  # a maximum that grows by a larger share over the last two decades is taken to be infinite


def preprocessed(link: Link, noise: float, preprocessing: Preprocessing) -> Preprocessed:
    """Z = preprocessing(y) for labels of a link with noise; refuses what is not bounded from above, or never positive."""
    levels, T = level_sets(link), on_points(preprocessing, "preprocessing")
    cuts = () if noise else jumps(lambda g: T(levels.value(g)))
    seen = labels(link, noise, cuts)
    Z = T(seen.y)
    if not np.isfinite(Z).all():
        raise ProblemError(
            f"the preprocessing is not finite at the label {seen.y[~np.isfinite(Z)][0]:.4g}; it must be finite for all labels."
        )
    supremum = max(float(Z.max()), *(_settled(T, one) for one in _probes(levels, noise, np.array(cuts))))
    if supremum <= 0:
        raise ProblemError(
            f"the preprocessing is nowhere above {supremum:.3g}; the first eigenvector needs positive values; "
            "change its sign, or add to it."
        )
    return Preprocessed(Z, seen.weight, seen.second, supremum)


def _probes(levels: LevelSets, noise: float, cuts: Vector) -> tuple[Table, ...]:
    """Labels ever farther out, and ever nearer to the places where something happens: a row per decade."""
    far = np.stack([-_FAR, _FAR], axis=1)
    sharp = np.concatenate([levels.cuts(), cuts])
    near = (sharp + _NEAR[:, None, None] * np.array([-1.0, 1.0])[:, None]).reshape(len(_NEAR), -1)
    seen = tuple(levels.value(g.ravel()).reshape(g.shape) for g in (far, near))
    return (*seen, far) if noise else seen


def _settled(T: Callable[[Vector], Vector], y: Table) -> float:
    """The largest value over all labels; an error when it still grows in the last rows."""
    values = np.where(np.isfinite(y), T(np.where(np.isfinite(y), y, 0.0).ravel()).reshape(y.shape), -np.inf)
    running = np.maximum.accumulate(np.nan_to_num(values, nan=-np.inf, posinf=np.inf).max(axis=1, initial=-np.inf))
    if running[-1] == np.inf or running[-1] > (1 + _GROWS) * max(running[-3], 0.0):
        raise ProblemError(
            f"the preprocessing is not bounded from above: it reaches {running[-1]:.3g}, and grows; "
            "its largest values would make the first eigenvector, so truncate it."
        )
    return float(running[-1])
