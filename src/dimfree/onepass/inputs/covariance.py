"""How the inputs are correlated: x ~ N(0, Sigma/d), with Sigma given by eigenvalues, as a matrix, or by rows of your own.

The trace of Sigma is the dimension unless `normalise` is false, so that a learning rate means about the same for all of them.
"""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from dimfree.problem.section import Section
from dimfree.temporary_arrays import array_file

_TITLE = "[data.covariance]"


class Isotropic(Section):
    """Independent coordinates, all alike."""

    title: ClassVar[str] = _TITLE
    kind: Literal["isotropic"] = "isotropic"


class Levels(Section):
    """A few eigenvalues, each with a share of all directions, or with as many as `multiplicities` says."""

    title: ClassVar[str] = _TITLE
    kind: Literal["levels"] = "levels"
    values: tuple[NonNegativeFloat, ...] = Field(min_length=1)
    shares: tuple[PositiveFloat, ...] = ()
    multiplicities: tuple[PositiveInt, ...] = ()
    normalise: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> "Levels":
        if bool(self.shares) == bool(self.multiplicities):
            raise ValueError("levels need either shares or multiplicities, one per value; give one of the two.")
        given = "shares" if self.shares else "multiplicities"
        if len(self.shares or self.multiplicities) != len(self.values):
            raise ValueError(
                f"there are {len(self.values)} values and {len(self.shares or self.multiplicities)} {given}; give one per value."
            )
        if self.shares and abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(f"shares add up to {sum(self.shares):.6g}; they must add up to 1.")
        if not any(self.values):
            raise ValueError("all values are 0, so that inputs vanish; give a positive one.")
        return self


class Power(Section):
    """Eigenvalues k^-exponent, k = 1, ..., dimension."""

    title: ClassVar[str] = _TITLE
    kind: Literal["power"] = "power"
    exponent: NonNegativeFloat = Field(examples=[1.0])
    normalise: bool = True


class SpectrumFile(Section):
    """As many eigenvalues as there are dimensions, from a .npy or .csv file; coordinates are those of the file."""

    title: ClassVar[str] = _TITLE
    kind: Literal["spectrum"] = "spectrum"
    file: Path
    normalise: bool = True


class MatrixFile(Section):
    """Sigma itself, dimension x dimension, from a .npy or .csv file."""

    title: ClassVar[str] = _TITLE
    kind: Literal["matrix"] = "matrix"
    file: Path
    normalise: bool = True


class Features(Section):
    """The covariance of rows of your own: a .npy or .csv file, or the name of a data set of scikit-learn such as "digits".

    Rows are centred and, with scale = "common", divided by one number, so that their mean square norm is 1; with "each" every
    column is first divided by its standard deviation. Constant columns are dropped. With `labels` (a file, or "target" for
    those that a named data set has) they are what is learned, centred and of variance 1: the teacher is their best linear fit,
    or the one that data.directions names. With missing = "drop" rows that have NaN are left out, else they are an error. With a
    `width`, features are that many random ReLU features of the scaled columns, drawn from `seed`. The last `held_out` rows of
    the file are never drawn and do not count for covariance, means and scales: `rows` measures its risk on them.
    """

    title: ClassVar[str] = _TITLE
    kind: Literal["features"] = "features"
    file: Path
    scale: Literal["common", "each"] = "common"
    labels: Path | None = None
    missing: Annotated[Literal["refuse", "drop"], Field(exclude_if=lambda given: given == "refuse")] = "refuse"
    width: Annotated[PositiveInt | None, Field(exclude_if=lambda given: given is None)] = None
    seed: Annotated[int, Field(ge=0, lt=2**63, exclude_if=lambda given: given == 0)] = 0
    held_out: Annotated[NonNegativeInt, Field(exclude_if=lambda given: given == 0)] = 0


AnyCovariance = Annotated[
    Isotropic | Levels | Power | SpectrumFile | MatrixFile | Features, Field(discriminator="kind")
]


def spelled_covariance(values: dict[str, Any]) -> dict[str, Any]:
    """The keys of a problem, with kind = "features" where a covariance names a file and no kind."""
    given = values.get("covariance")
    if isinstance(given, dict) and "file" in given and "kind" not in given:
        return {**values, "covariance": {"kind": "features", **given}}
    return values


class Covariance:
    """Covariances in Python, where arrays may stand for files: df.Covariance.features(X), df.Covariance.power(1.0)."""

    @staticmethod
    def power(exponent: float) -> Power:
        """Eigenvalues k^-exponent."""
        return Power(exponent=exponent)

    @staticmethod
    def levels(values: Any, shares: Any) -> Levels:
        """A few eigenvalues, each with a share of all directions."""
        return Levels(values=tuple(map(float, values)), shares=tuple(map(float, shares)))

    @staticmethod
    def spectrum(values: Any) -> SpectrumFile:
        """One eigenvalue per dimension."""
        return SpectrumFile(file=_as_file(values))

    @staticmethod
    def matrix(Sigma: Any) -> MatrixFile:
        """The matrix itself."""
        return MatrixFile(file=_as_file(Sigma))

    @staticmethod
    def features(X: Any, labels: Any = None, scale: Literal["common", "each"] = "common", **others: Any) -> Features:
        """Rows of your own, as an array, a file, or the name of a data set of scikit-learn."""
        return Features(file=_as_file(X), scale=scale, labels=None if labels is None else _as_file(labels), **others)


def _as_file(given: Any) -> Path:
    """A path stays as it is; an array is written to a temporary file."""
    if isinstance(given, str | Path):
        return Path(given)
    return array_file(given)
