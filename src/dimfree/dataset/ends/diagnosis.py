"""Whether the theory's assumptions can hold for a table (docs/theory/static.md, section c)."""

from math import pi

import numpy as np

from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.source import Pool
from dimfree.functions.loss import Square

_WELL_KNOWN = 10  # with more samples per feature, the covariance of the pool is right to within a few per cent
_SIGMAS = 3.0  # standard errors by which R² must exceed what a Gaussian teacher can have
_DOMINATED = 0.5  # if one direction has a larger share of the variance, the others hardly count
_UNEQUAL = 0.6  # if the larger class has a larger share, the theory, which assumes equal classes, is distrusted


def signal(pool: Pool) -> float:
    """R² pi/2, R² being the part of the labels that is linear in the features: no sign of a Gaussian has more than 1."""
    return float(pool.moments.linear) * pi / 2


def no_gaussian_teacher(model: EndModel) -> bool:
    """Whether the classes of a table have a larger linear part than signs of a Gaussian, beyond what chance adds to it."""
    if not isinstance(model.source, Pool) or model.task is None or model.task.labels != "sign":
        return False
    n, found = len(model.source.y), model.source.moments
    expected = 1 - (1 - float(found.linear)) * n / (n - model.dimension)  # less what d features fit by accident
    return expected - _SIGMAS * float(found.linear_error) > 2 / pi


def remarks(model: EndModel) -> tuple[str, ...]:
    """How a table was read, and how far the theory can be trusted for it."""
    if not isinstance(model.source, Pool):
        return ()
    read = ("labels 0 and 1 were read as -1 and 1.",) if model.source.mapped else ()
    promise = (
        f"real samples: a pool of {len(model.source.y)}, {model.dimension} features; theory assumes Gaussian samples with the "
        "pool's covariances, and how far it is off is reported, not promised."
    )
    return (*read, promise)


def misfits(model: EndModel) -> tuple[str, ...]:
    """What to distrust in predictions for a table, one sentence each; nothing for data that are drawn."""
    if not isinstance(model.source, Pool) or model.task is None:
        return ()
    said = []
    if no_gaussian_teacher(model):
        said.append(
            f"Gaussian teacher, not valid for these labels: R² pi/2 = {signal(model.source):.2f} exceeds 1, which is "
            "impossible for the sign of a Gaussian, so the errors are those of the nearest such teacher and only a rough guide; "
            "the square loss needs no teacher."
        )
    said += [*_not_gaussian(model), *_unequal(model), *_dominated(model), *_few_samples(model)]
    return tuple(said)


def _not_gaussian(model: EndModel) -> list[str]:
    assert model.task is not None
    if model.task.labels != "linear" or isinstance(model.task.loss, Square):
        return []
    return [
        "the theory assumes that the part of the labels that features do not explain is Gaussian noise, and the "
        f"{model.task.loss.name} loss is meant for other noise, to which its lines are no guide; "
        "the square loss needs no such assumption."
    ]


def _unequal(model: EndModel) -> list[str]:
    assert isinstance(model.source, Pool)
    assert model.task is not None
    larger = 0.5 + abs(float(np.mean(model.source.y))) / 2
    if model.task.labels != "sign" or larger < _UNEQUAL:
        return []
    return [
        f"the larger class has {100 * larger:.0f} % of the labels: theory assumes equally frequent classes, and the fits have no "
        "intercept; draw as many rows of each class."
    ]


def _dominated(model: EndModel) -> list[str]:
    assert isinstance(model.source, Pool)
    omega = np.asarray(model.source.moments.omega)
    share = float(omega.max() / omega.sum())
    if len(omega) == 1 or share < _DOMINATED:
        return []
    column = int(np.argmax(np.var(np.asarray(model.source.v), axis=0)))
    return [
        f"one direction has {100 * share:.0f} % of the variance of the {len(omega)} features (column {column + 1} varies most): "
        "a ridge that suits it leaves nothing of the others, and samples per feature say little; divide each column by its "
        "standard deviation first, or drop that column."
    ]


def _few_samples(model: EndModel) -> list[str]:
    assert isinstance(model.source, Pool)
    per_feature = len(model.source.y) / model.dimension
    if per_feature >= _WELL_KNOWN:
        return []
    return [
        f"the pool has {per_feature:.1f} samples per feature: errors on samples outside of the pool will be larger than "
        "those on the pool, which are shown."
    ]
