"""The user's own rows and labels, read and checked for missing numbers, constant columns and sizes that do not match."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from dimfree.errors import ProblemError
from dimfree.machine import refuse_above_memory
from dimfree.onepass.inputs.covariance import Features
from dimfree.tables import BUNDLED, bundled, mixed_columns, read_table

OWN_LABELS = "target"  # the labels that a named data set has
_COPIES, _SQUARES = 8, 6  # how many arrays of all rows, and how many covariances of columns, are in memory at once
_NAMED = 8  # how many rows an error names
_LEFT = 0.5  # at least this share of all rows must be left when those with NaN are dropped

Matrix = Float[np.ndarray, "_ _"]
Vector = Float[np.ndarray, " _"]


class OwnRows(NamedTuple):
    """Centred rows of columns that vary, scaled, and their labels as they were given."""

    x: Matrix
    labels: Vector | None
    constant: int  # columns that were dropped
    lost: int  # rows that were dropped
    drawn: int  # rows that are learned from; the others, which follow, are held out


def read_rows(given: Features) -> OwnRows:
    """Rows and labels from the files, or the data set, that a problem names."""
    name = given.file.name
    X, own = bundled(str(given.file)) if str(given.file) in BUNDLED else (read_table(given.file), None)
    if X.ndim != 2 or len(X) < 2:
        raise ProblemError(
            f"{name} has shape {X.shape}; features are a table with at least two rows, give one row per sample."
        )
    columns = given.width or X.shape[1]
    refuse_above_memory(
        8.0 * (_COPIES * len(X) * columns + _SQUARES * columns**2),
        f"the covariance of {len(X)} rows of {columns} features",
        "give fewer of them",
    )
    y = None if given.labels is None else _labels(given, own, len(X))
    held = _finite(name, X, given.missing)
    if y is not None:
        assert given.labels is not None
        held &= _finite(given.labels.name, y[:, None], given.missing)
    if held.mean() < _LEFT:
        raise ProblemError(
            f"{name} has NaN in {np.sum(~held)} of {len(X)} rows, too many to be dropped; remove the columns that have most of "
            "them, or replace them."
        )
    drawn = int(np.sum(held[: max(len(X) - given.held_out, 0)]))
    if drawn < 2:
        raise ProblemError(
            f"{name} has {len(X)} rows, and held_out = {given.held_out} leaves {drawn} of them to learn from; hold out fewer."
        )
    X, y = X[held], None if y is None else y[held]
    if y is not None and np.ptp(y[:drawn]) == 0:
        raise ProblemError(
            f"all labels are {y[0]:g}; there is nothing to learn from labels of one class, give two or more."
        )
    x = X - X[:drawn].mean(axis=0)
    spread = x[:drawn].std(axis=0)
    varies = spread > 1e-12 * spread.max()
    if not varies.any():
        raise ProblemError(f"all rows of {name} are the same; give features that vary.")
    x = x[:, varies] / (spread[varies] if given.scale == "each" else np.sqrt(np.mean(spread**2)))
    if given.width:
        x = np.maximum(mixed_columns(x, given.width, given.seed), 0.0)
        x -= x[:drawn].mean(axis=0)
    return OwnRows(x, y, int(np.sum(~varies)), int(np.sum(~held)), drawn)


def check_finite(name: str, values: Matrix) -> None:
    """Refuse values that are not finite numbers, and name their rows."""
    _finite(name, values, "refuse")


def _finite(name: str, values: Matrix, missing: str) -> Bool[np.ndarray, " n"]:
    """Which rows have numbers everywhere; where others are not to be dropped, an error names them."""
    held = np.isfinite(values).all(axis=1)
    lost = np.flatnonzero(~held)
    if lost.size and missing == "refuse":
        named = ", ".join(map(str, lost[:_NAMED])) + (", ..." if lost.size > _NAMED else "")
        what = "NaN" if np.isnan(values[lost]).any() else "numbers that are not finite"
        raise ProblemError(f"{name} contains {what} in rows {named}; remove or replace them.")
    return np.asarray(held)


def _labels(given: Features, own: Vector | None, count: int) -> Vector:
    """The labels as they are given; for digits the label is whether the digit is even."""
    assert given.labels is not None
    if str(given.labels) == OWN_LABELS:
        if own is None:
            raise ProblemError(f"{given.file.name} has no labels of its own; name a file of labels.")
        y = np.where(own % 2 == 0, 1.0, -1.0) if str(given.file) == "digits" else own
    else:
        y = np.squeeze(read_table(given.labels))
    if y.shape != (count,):
        raise ProblemError(f"there are {count} rows and labels of shape {y.shape}; give one label per row.")
    return y
