"""A covariance in numbers: its distinct eigenvalues, the basis they belong to, and the rows it was measured on.

docs/theory/structured.md, sections 0 and 3. A level is one eigenvalue with all directions that have it. Everything later happens
in the eigenbasis, where coordinates of one level stand side by side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dimfree.errors import ProblemError
from dimfree.machine import refuse_above_memory
from dimfree.onepass.inputs.covariance import (
    AnyCovariance,
    Features,
    Isotropic,
    Levels,
    MatrixFile,
    Power,
    SpectrumFile,
)
from dimfree.onepass.inputs.own_rows import check_finite, read_rows
from dimfree.setting import Scale
from dimfree.tables import read_table

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

_EQUAL = 1e-9  # eigenvalues closer than this share of the largest one are one level
_COPIES, _SQUARES = 8, 6  # how many arrays of all eigenvalues, and how many matrices, are in memory at once

Matrix = Float[np.ndarray, "_ _"]
Vector = Float[np.ndarray, " _"]


class HeldOut(NamedTuple):
    """Rows that are never drawn, on which risks are measured, with their labels."""

    rows: Float[np.ndarray, "H d"]
    labels: Float[np.ndarray, " H"] | None
    classes: Float[np.ndarray, " H"] | None


@dataclass(frozen=True, eq=False)  # compared by identity, so that caches need not compare rows
class Pool:
    """Rows of the user's own in the eigenbasis, centred, of mean square norm 1, from which SGD draws; their labels, if given."""

    rows: Float[np.ndarray, "N d"]
    labels: Float[np.ndarray, " N"] | None
    dropped: int  # constant columns
    lost: int  # rows that were dropped because a number is missing
    name: str  # of the file
    classes: Float[np.ndarray, " N"] | None  # the labels as they were given, where they are +1 and -1
    held: HeldOut | None = None

    def left_out(self) -> Iterator[str]:
        """Sentences about the rows and columns of a table that are not used."""
        if self.dropped:
            columns = "constant column; it is" if self.dropped == 1 else "constant columns; they are"
            yield f"{self.name} has {self.dropped} {columns} dropped (dimension {self.rows.shape[1]})."
        if self.lost:
            yield f"NaN in {self.lost} rows of {self.name} or its labels; they are dropped, and {len(self.rows)} rows are left."


class Spectrum(NamedTuple):
    """Levels in the order of the eigenbasis, and how to get there from the user's coordinates."""

    values: Float[np.ndarray, " b"]  # s_b, the eigenvalue of each level
    multiplicities: Int[np.ndarray, " b"]  # d_b, how many directions have it
    basis: Float[np.ndarray, "d d"] | Int[np.ndarray, " d"] | None = None  # columns, or a permutation; None: no change
    pool: Pool | None = None

    @property
    def dimension(self) -> int:
        """d, the number of coordinates of an input."""
        return int(self.multiplicities.sum())

    @property
    def weights(self) -> Float[np.ndarray, " b"]:
        """rho_b = d_b/d, the share of all directions of each level."""
        return self.multiplicities / self.dimension

    @property
    def mean(self) -> float:
        """tau = tr Sigma/d, the mean over all directions."""
        return float(self.values @ self.weights)

    @property
    def largest(self) -> float:
        """s_max, of all levels."""
        return float(self.values.max())

    @property
    def effective_rank(self) -> float:
        """(tr Sigma)²/tr Sigma²: how many directions matter, d where all are alike."""
        return float((self.values @ self.multiplicities) ** 2 / (self.values**2 @ self.multiplicities))

    @property
    def coordinates(self) -> Float[np.ndarray, " d"]:
        """The eigenvalue of every coordinate."""
        return np.repeat(self.values, self.multiplicities)

    def into_eigenbasis(self, vectors: Matrix) -> Matrix:
        """Turn rows of vectors from the user's coordinates into those of the eigenbasis."""
        if self.basis is None:
            return vectors
        return vectors[:, self.basis] if self.basis.ndim == 1 else vectors @ self.basis

    def explained(self, phi: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*k d"]:
        """Sigma^-1 phi in the eigenbasis: a linear fit, from the correlations phi of inputs and labels; 0 where inputs vanish."""
        s = self.coordinates
        return np.divide(phi, s, out=np.zeros_like(phi), where=s > _EQUAL * s.max())

    @property
    def linear_teacher(self) -> tuple[Vector, float]:
        """The best linear fit w* to the labels, in the eigenbasis, and the variance that it leaves (section 3 of the sheet)."""
        assert self.pool is not None
        assert self.pool.labels is not None
        rows, labels, s = self.pool.rows, self.pool.labels, self.coordinates
        w = self.explained(self.dimension * rows.T @ labels / len(labels))
        return w, float(np.mean(labels**2) - w**2 @ s / self.dimension)


def spectrum(covariance: AnyCovariance, dimension: int) -> Spectrum:
    """The spectrum of a covariance at this dimension."""
    match covariance:
        case Isotropic():
            return Spectrum(np.ones(1), np.array([dimension]))
        case Levels():
            return _scaled(_levels(covariance, dimension), covariance.normalise)
        case Power():
            refuse_above_memory(_COPIES * 8.0 * dimension, f"{dimension} eigenvalues", "lower dimension")
            return _scaled(_sorted(np.arange(1.0, dimension + 1) ** -covariance.exponent), covariance.normalise)
        case _:
            found = _from_file(covariance, _stamp(covariance))
            if found.dimension != dimension:
                raise ProblemError(_another_size(covariance, found, dimension))
            return found


def levels_of(problem: "OnePassProblem") -> dict[str, Scale]:
    """Eigenvalue and share of directions of every block for which results have overlaps."""
    if not problem.structured:
        return {}
    found = problem.spectrum
    return {
        "eigenvalue": Scale("block", found.values, "eigenvalue of the covariance of the inputs"),
        "weight": Scale("block", found.weights, "share of all directions that have this eigenvalue"),
    }


def dimension_of(covariance: AnyCovariance) -> int | None:
    """The dimension that a covariance determines; None if it fits any."""
    match covariance:
        case Isotropic() | Power():
            return None
        case Levels():
            return sum(covariance.multiplicities) or None
        case _:
            return _from_file(covariance, _stamp(covariance)).dimension


def _levels(given: Levels, dimension: int) -> Spectrum:
    if given.multiplicities:
        if sum(given.multiplicities) != dimension:
            raise ProblemError(
                f"multiplicities add up to {sum(given.multiplicities)} and dimension is {dimension}; leave dimension out or "
                f"give {dimension} directions."
            )
        return Spectrum(np.array(given.values), np.array(given.multiplicities))
    directions = np.array(given.shares) * dimension
    for share, number in zip(given.shares, directions, strict=True):
        if abs(number - round(number)) > 1e-6 or round(number) < 1:
            whole = next(
                (m for m in range(1, 10_001) if all(abs(x * m - round(x * m)) < 1e-6 for x in given.shares)), 0
            )
            choose = f"choose a multiple of {whole}, or give multiplicities" if whole else "give multiplicities"
            raise ProblemError(f"share {share:g} of dimension {dimension} is {number:g} directions; {choose}.")
    return Spectrum(np.array(given.values), np.rint(directions).astype(int))


def _sorted(values: Vector) -> Spectrum:
    """Levels of one eigenvalue per coordinate, largest first."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    firsts = np.flatnonzero(np.concatenate([[True], -np.diff(falling) > _EQUAL * falling[0]]))
    counts = np.diff(np.append(firsts, len(values)))
    levels = np.add.reduceat(falling, firsts) / counts
    return Spectrum(levels, counts, None if np.array_equal(order, np.arange(len(order))) else order)


def _scaled(found: Spectrum, normalise: bool) -> Spectrum:
    """With a trace equal to the dimension, if that is asked for."""
    return found._replace(values=found.values / found.mean) if normalise else found


def _stamp(covariance: SpectrumFile | MatrixFile | Features) -> tuple[tuple[int, int], ...]:
    """When the files were last written: what was read before is not read again."""
    files = [covariance.file, *([covariance.labels] if isinstance(covariance, Features) and covariance.labels else [])]
    found = [file.stat() for file in files if file.exists()]
    return tuple((one.st_mtime_ns, one.st_size) for one in found)


@lru_cache(maxsize=8)
def _from_file(covariance: SpectrumFile | MatrixFile | Features, stamp: tuple[tuple[int, int], ...]) -> Spectrum:
    """The spectrum that files give; `stamp` is here for the cache alone, which forgets files that have changed."""
    match covariance:
        case SpectrumFile():
            values = np.squeeze(read_table(covariance.file))
            if values.ndim != 1:
                raise ProblemError(
                    f"{covariance.file.name} has shape {values.shape}; a spectrum is a list, give one eigenvalue per dimension."
                )
            check_finite(covariance.file.name, values[:, None])
            return _scaled(_sorted(_non_negative(values)), covariance.normalise)
        case MatrixFile():
            return _scaled(_of_matrix(covariance.file), covariance.normalise)
        case _:
            return _of_features(covariance)


def _of_matrix(file: Path) -> Spectrum:
    Sigma = read_table(file)
    if Sigma.ndim != 2 or Sigma.shape[0] != Sigma.shape[1]:
        raise ProblemError(
            f"{file.name} has shape {Sigma.shape}; a covariance is a square matrix, give dimension x dimension numbers."
        )
    check_finite(file.name, Sigma)
    apart = float(np.abs(Sigma - Sigma.T).max())
    if apart > 1e-9 * np.abs(Sigma).max():
        raise ProblemError(f"{file.name} is not symmetric: entries differ by up to {apart:.2g}; give (S + S.T)/2.")
    return diagonalised(Sigma)


def diagonalised(Sigma: Matrix, pool: Pool | None = None) -> Spectrum:
    """A covariance by its eigenvalues and eigenvectors."""
    refuse_above_memory(_SQUARES * Sigma.nbytes, f"the eigenvectors of {len(Sigma)} features", "give fewer features")
    values, vectors = np.linalg.eigh((Sigma + Sigma.T) / 2)
    found = _sorted(_non_negative(values[::-1]))
    return Spectrum(found.values, found.multiplicities, vectors[:, ::-1], pool)


def _non_negative(values: Vector) -> Vector:
    smallest, largest = float(values.min()), float(values.max())
    if smallest < -1e-8 * max(largest, 0.0) or not largest > 0:
        raise ProblemError(
            f"covariance has a negative eigenvalue {smallest:.1g} (largest {largest:.2g}); give a positive semi-definite matrix."
            if smallest < 0
            else "all eigenvalues of the covariance are 0, so that inputs vanish; give a positive one."
        )
    return np.maximum(values, 0.0)


def _of_features(given: Features) -> Spectrum:
    """Sigma = d mean(x xᵀ) of centred rows with mean |x|² = 1 (section 3 of the sheet)."""
    x, raw, constant, lost, drawn = read_rows(given)
    x /= np.sqrt(np.mean(np.sum(x[:drawn] ** 2, axis=1)))
    found = diagonalised(x.shape[1] * x[:drawn].T @ x[:drawn] / drawn)
    labels = classes = None
    if raw is not None:
        labels = (raw - raw[:drawn].mean()) / raw[:drawn].std()
        classes = raw if np.all(np.abs(raw) == 1) else None
    rows, learnt, later = x @ np.asarray(found.basis), slice(drawn), slice(drawn, None)
    held = HeldOut(rows[later], _part(labels, later), _part(classes, later)) if drawn < len(rows) else None
    name, first = given.file.name, (_part(labels, learnt), constant, lost)
    return found._replace(pool=Pool(rows[learnt], *first, name, _part(classes, learnt), held))


def _part(values: Vector | None, chosen: slice) -> Vector | None:
    return None if values is None else values[chosen]


def _another_size(covariance: SpectrumFile | MatrixFile | Features, found: Spectrum, dimension: int) -> str:
    if isinstance(covariance, Features):
        return (
            f"{covariance.file.name} has {found.dimension} columns that vary and dimension is {dimension}; leave dimension out, "
            f"or set it to {found.dimension}."
        )
    has = {"spectrum": "entries", "matrix": "rows and columns"}[covariance.kind]
    return (
        f"{covariance.file.name} has {found.dimension} {has} and dimension is {dimension}; leave dimension out or give "
        f"{dimension}."
    )
