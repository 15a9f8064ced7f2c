"""Data of learning curves: Gaussian covariates, random features, tables of your own (docs/theory/static.md, sections b and c).

`samples` counts samples per feature, and `dimension` of the problem is the number of features.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from dimfree.problem.activation import FeatureActivation
from dimfree.problem.section import Section


class Outliers(Section):
    """A `fraction` of real labels is slope * z plus noise of variance `variance`, where z is what the teacher says."""

    title: ClassVar[str] = "[data.outliers]"
    fraction: float = Field(default=0.1, ge=0, lt=1)
    slope: float = 0.0
    variance: NonNegativeFloat = 5.0


def _is_none(outliers: object) -> bool:
    return outliers is None


# Problems without outliers leave the key out, and so keep the text and the digest that they had before outliers existed.
GivenOutliers = Annotated[Outliers | None, Field(exclude_if=_is_none, examples=[{"fraction": 0.1}])]


class _Featured(Section):
    title: ClassVar[str] = "[data]"
    samples: PositiveFloat = 2.0


def _check_outliers(outliers: Outliers | None, labels: str) -> None:
    if outliers is not None and labels == "sign":
        raise ValueError(
            "outliers are among real labels, and these are signs; set labels = 'linear', or leave outliers out."
        )


class Covariates(_Featured):
    """Gaussian features with this spectrum, labelled by a teacher in their eigenbasis, or covariances from a file.

    Every eigenvalue has an equal part of the directions; `teacher` are the teacher's weights there, z = theta.v/sqrt(d), and
    `unexplained` is a variance of z that no feature sees. A file is an .npz archive with Psi, Phi, Omega and theta.
    """

    kind: Literal["covariates"] = "covariates"
    labels: Literal["sign", "linear"] = "sign"  # the sign of what the teacher says, or its value
    noise: NonNegativeFloat = 0.0  # variance of the noise on what the teacher says
    spectrum: tuple[NonNegativeFloat, ...] = Field(default=(1.0,), min_length=1)  # eigenvalues of the covariance
    teacher: tuple[float, ...] = Field(default=(1.0,), min_length=1)  # weights of the teacher, one per eigenvalue
    unexplained: NonNegativeFloat = 0.0
    file: Path | None = None  # an .npz file with Psi, Phi, Omega and theta
    outliers: GivenOutliers = None  # labels that follow another law

    @model_validator(mode="after")
    def _one_source(self) -> "Covariates":
        _check_outliers(self.outliers, self.labels)
        if self.file is not None and {"spectrum", "teacher", "unexplained"} & self.model_fields_set:
            raise ValueError("covariances come either from a file or from spectrum and teacher; leave one out.")
        if len(self.spectrum) != len(self.teacher):
            raise ValueError(
                f"spectrum has {len(self.spectrum)} eigenvalues and teacher {len(self.teacher)} weights; give one per eigenvalue."
            )
        if not any(a * b for a, b in zip(self.spectrum, self.teacher, strict=True)):
            raise ValueError("no feature sees the teacher; give an eigenvalue and its weight that are not zero.")
        return self


class RandomFeatures(_Featured):
    """Features activation(F x/sqrt(D)) - mean of Gaussian inputs, `per_input` of them per input; the teacher sees the inputs."""

    kind: Literal["random-features"] = "random-features"
    labels: Literal["sign", "linear"] = "sign"  # the sign of what the teacher says, or its value
    noise: NonNegativeFloat = 0.0  # variance of the noise on what the teacher says
    per_input: PositiveFloat = 2.0
    activation: FeatureActivation = "erf"
    outliers: GivenOutliers = None  # labels that follow another law

    @model_validator(mode="after")
    def _real_labels(self) -> "RandomFeatures":
        _check_outliers(self.outliers, self.labels)
        return self


class Table(_Featured):
    """Features and labels of your own: .npy or .csv files, or features = "digits" for scikit-learn's bundled images.

    Samples are drawn from the table as from a pool. With an `activation` the features are `dimension` random ones of the columns.
    """

    kind: Literal["table"] = "table"
    features: Path = Path("digits")  # a .npy or .csv file, or "digits"
    labels: Path | None = None  # left out for "digits", where the label is whether the digit is even
    activation: FeatureActivation | None = None
    seed: int = Field(default=0, ge=0, lt=2**63)  # seed of the random features
