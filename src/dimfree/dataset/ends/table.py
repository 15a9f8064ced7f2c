"""Tables of real samples: reading and checking them, and the moments of the pool (docs/theory/static.md, section c)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dimfree.dataset.ends.covariates import ROUNDING, Covariates, from_spectrum
from dimfree.dataset.ends.source import Moments, Pool
from dimfree.dataset.ends.task import Labels
from dimfree.dataset.features import Table
from dimfree.errors import ProblemError
from dimfree.functions.features import feature
from dimfree.machine import refuse_above_memory
from dimfree.tables import bundled, mixed_columns, read_table

DIGITS = "digits"  # scikit-learn's bundled images, 1797 of 8 x 8 pixels; the label is whether the digit is even

_COPIES, _SQUARES = 8, 6  # arrays of all features, and of their covariances, that are in memory together

Matrix = Float[np.ndarray, "n k"]
Vector = Float[np.ndarray, " n"]


class Columns(NamedTuple):
    """A table as it was read, labels of classes as -1 and 1."""

    X: Matrix
    y: Vector
    mapped: bool  # whether labels were 0 and 1


def pool_of(data: Table, dimension: int, real_labels: bool) -> Pool:
    """The pool of a problem: columns or random features, centred."""
    X, y, mapped = columns(data, real_labels)
    k = X.shape[1] if data.activation is None else dimension
    refuse_above_memory(
        8.0 * (_COPIES * len(X) * k + _SQUARES * k**2),
        f"a table of {len(X)} samples of {k} features",
        "give fewer of them",
    )
    v = X if data.activation is None else _random_features(data, X, dimension)
    v = v - v.mean(axis=0)
    v = v[:, v.any(axis=0)]
    n, d = v.shape
    if d != dimension:
        raise ProblemError(f"the table has {d} columns that are not constant; set dimension = {d}, or an activation.")
    if n <= d:
        raise ProblemError(
            f"{n} samples cannot determine the covariance of {d} features; use fewer features, or more samples than features."
        )
    return Pool(jnp.asarray(v), jnp.asarray(y), mapped, moments_of(v, y))


def width_of(data: Table, real_labels: bool) -> int:
    """How many columns of a table are not constant."""
    X = columns(data, real_labels).X
    return int(np.sum(np.ptp(X, axis=0) > 0))


def moments_of(v: Matrix, y: Vector) -> Moments:
    """The averages over a table that theory needs; directions without variance are left out."""
    n, d = v.shape
    omega, directions = np.linalg.eigh(v.T @ v / n)
    omega = np.where(omega > ROUNDING * max(omega.max(), 0.0), omega, 0.0)
    along = np.where(omega > 0, directions.T @ (v.T @ y) / n, 0.0)
    weights = np.divide(along, omega, where=omega > 0, out=np.zeros(d))
    power, left = np.mean(y**2), (y - v @ (directions @ weights)) ** 2
    numbers = (omega, along, power, along @ weights / power, left.std() / np.sqrt(n) / power)
    return Moments(*(jnp.asarray(one, dtype=float) for one in numbers))


def estimated(pool: Pool, labels: Labels) -> Covariates:
    """The covariates that the theory uses for a pool: Omega, phi = E[z v] and rho = E[z²] of the field z behind the labels."""
    found = pool.moments
    rho = found.power if labels == "linear" else 1.0
    phi = found.z_over_y(labels) * found.along
    return from_spectrum(np.asarray(found.omega), np.asarray(phi) ** 2, float(rho))


def columns(data: Table, real_labels: bool) -> Columns:
    """Features and labels of a table, checked."""
    X, y = _digits() if str(data.features) == DIGITS and data.labels is None else _read(data)
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise ProblemError(
            f"the features have shape {X.shape} and the labels {y.shape}; give samples x features, and one label a sample."
        )
    for name, values in (("features", X), ("labels", y)):
        if not np.isfinite(values).all():
            raise ProblemError(
                f"{np.sum(~np.isfinite(values))} of the {name} are not finite numbers; remove or replace them."
            )
    if real_labels:
        return Columns(X, y, False)
    kinds = np.unique(y)
    if len(kinds) == 1:
        raise ProblemError(f"all labels are {kinds[0]:g}; a classifier needs samples of two classes.")
    if set(kinds) == {0.0, 1.0}:
        return Columns(X, 2 * y - 1, True)
    if set(kinds) != {-1.0, 1.0}:
        raise ProblemError(
            f"the labels have {len(kinds)} values ({', '.join(f'{k:g}' for k in kinds[:4])}{', ...' if len(kinds) > 4 else ''}), "
            "and a classifier needs -1 and 1 (or 0 and 1); map them, or set training.loss = 'square'."
        )
    return Columns(X, y, False)


def _random_features(data: Table, X: Matrix, dimension: int) -> Float[np.ndarray, "n d"]:
    """activation(F x/sqrt(D)) of columns with mean 0 and variance 1."""
    spread = X.std(axis=0)
    x = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    assert data.activation is not None
    return np.asarray(feature(data.activation)(jnp.asarray(mixed_columns(x, dimension, data.seed))))


def _digits() -> tuple[Matrix, Vector]:
    X, digit = bundled(DIGITS)
    return X / 16, np.where(digit % 2 == 0, 1.0, -1.0)


def _read(data: Table) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    if data.labels is None:
        raise ProblemError(
            f"there are features {str(data.features)!r} without labels; name a file of labels, or the table 'digits'."
        )
    X, y = read_table(data.features), read_table(data.labels)
    return X, y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
