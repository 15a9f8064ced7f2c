"""Whether a table can be what the theory takes it for (docs/theory/static.md, section c)."""

from math import pi

from dimfree.dataset.learning_curves.model import EndModel
from dimfree.dataset.learning_curves.source import Pool

_WELL_KNOWN = (
    10  # samples per feature from which on the pool's covariance is that of fresh samples within a few per cent
)


def signal(model: EndModel) -> float:
    """R² pi/2, R² being the part of the labels that is linear in the features: no Gaussian teacher has more than 1."""
    assert model.task is not None
    return float(model.task.covariates.explained / model.task.covariates.rho) * pi / 2


def remarks(model: EndModel) -> tuple[str, ...]:
    """How a table was read, and what is promised about it."""
    if not isinstance(model.source, Pool):
        return ()
    read = ("labels 0 and 1 were read as -1 and 1.",) if model.source.mapped else ()
    promise = (
        f"real samples: a pool of {len(model.source.y)}, {model.dimension} features; theory takes them for Gaussian ones "
        "with the pool's covariances, and how far it is off is reported, not promised."
    )
    return (*read, promise)


def misfits(model: EndModel) -> tuple[str, ...]:
    """What to distrust in predictions for a table, one sentence each; nothing for data that are drawn."""
    if not isinstance(model.source, Pool) or model.task is None:
        return ()
    said = []
    if model.task.labels == "sign" and (strength := signal(model)) > 1:
        said.append(
            f"Gaussian teacher, not valid for these labels: R² pi/2 = {strength:.2f} exceeds 1, which no sign of a Gaussian "
            "has, so that errors of classification will be overestimated; the square loss needs no teacher."
        )
    per_feature = len(model.source.y) / model.dimension
    if per_feature < _WELL_KNOWN:
        said.append(
            f"the pool has {per_feature:.1f} samples per feature: errors on samples outside of the pool will be larger than "
            "those on the pool, which are shown."
        )
    return tuple(said)
