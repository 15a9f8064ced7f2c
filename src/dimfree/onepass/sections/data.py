"""What is learned: the law of inputs and labels."""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from dimfree.onepass.sections.covariance import AnyCovariance, Isotropic, spelled_covariance
from dimfree.onepass.sections.directions import GivenDirections
from dimfree.onepass.sections.hypercube import Hypercube
from dimfree.onepass.sections.network import Scaling
from dimfree.problem.activation import Activation
from dimfree.problem.section import Section

Matrix = tuple[tuple[float, ...], ...]


def _is_isotropic(covariance: object) -> bool:
    return isinstance(covariance, Isotropic)


# Isotropic inputs go without saying: problems keep the text and the digest that they had before there were others.
GivenCovariance = Annotated[AnyCovariance, Field(exclude_if=_is_isotropic)]


class TeacherNetwork(Section):
    """Labels from a network of `units` hidden units, plus label noise, whatever the inputs are."""

    title: ClassVar[str] = "[data]"
    kind: str
    units: PositiveInt = 2
    activation: Activation = "erf"
    second_layer: float | tuple[float, ...] = 1.0
    overlap: Literal["orthonormal"] | Matrix = "orthonormal"
    scaling: Scaling = "mean"
    noise: NonNegativeFloat = 1e-3

    @model_validator(mode="after")
    def _consistent(self) -> "TeacherNetwork":
        if isinstance(self.second_layer, tuple) and len(self.second_layer) != self.units:
            raise ValueError(
                f"second_layer has {len(self.second_layer)} entries for {self.units} units; give one per unit."
            )
        if self.overlap != "orthonormal":
            check_covariance(np.array(self.overlap, dtype=object), self.units, "overlap")
        norms = np.ones(self.units) if self.overlap == "orthonormal" else np.diag(np.array(self.overlap, dtype=float))
        if not np.any(np.broadcast_to(self.second_layer, (self.units,)) * norms):
            raise ValueError(
                "the label is constant: every unit of the teacher has 0 in second_layer or on the diagonal of overlap, so there "
                "is nothing to learn; give a unit for which both are not 0."
            )
        return self


class Teacher(TeacherNetwork):
    """Gaussian inputs, labels from a teacher network of `units` hidden units, plus label noise.

    A single-index link is a teacher with one unit and the link as its activation. Inputs are isotropic unless a `covariance` is
    given; `overlap` is then that of the teacher's preactivations.
    """

    kind: Literal["teacher"] = "teacher"
    covariance: GivenCovariance = Isotropic()
    directions: GivenDirections = "random"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A file of rows is enough to mean their covariance."""
        return spelled_covariance(values)


class HiddenManifold(TeacherNetwork):
    """Inputs are features of a few hidden Gaussian variables, and the teacher sees these variables, not the features.

    With `latent` variables z, x_i = features(F_i.z/sqrt(latent)) over sqrt(dimension), of variance 1/dimension. The directions F,
    at random, and the teacher's are drawn from run.seed: all starts share them.
    """

    kind: Literal["hidden-manifold"] = "hidden-manifold"
    latent: Annotated[int, Field(ge=1, le=10_000)] = 150
    features: Literal["sign", "erf", "tanh", "linear"] = "sign"


class MultiIndex(Section):
    """Gaussian inputs and a polynomial of a few orthonormal directions z_r = w*_r.x, in Hermite products.

    The label is sum_n coefficients[n] prod_r He_{terms[n][r]}(z_r) + noise. For example terms = [[1, 0], [1, 1]] with
    coefficients [1, 1] is z_1 + z_1 z_2. A name ("staircase-3", "parity-2") stands for the terms.
    """

    title: ClassVar[str] = "[data]"
    kind: Literal["multi-index"] = "multi-index"
    link: Literal["terms", "staircase-2", "staircase-3", "staircase-4", "parity-2", "parity-3"] = "staircase-2"
    terms: tuple[tuple[Annotated[int, Field(ge=0, le=20)], ...], ...] = ()
    coefficients: tuple[float, ...] = ()
    noise: NonNegativeFloat = 1e-3
    covariance: GivenCovariance = Isotropic()
    directions: GivenDirections = "random"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Whoever gives terms need not say that the link is made of them."""
        told = spelled_covariance(values)
        return {**told, "link": "terms"} if "terms" in told and "link" not in told else told

    @model_validator(mode="after")
    def _consistent(self) -> "MultiIndex":
        if self.link != "terms":
            if self.terms or self.coefficients:
                raise ValueError(f"link = {self.link!r} already names the terms; leave out terms and coefficients.")
            return self
        if not self.terms:
            raise ValueError("terms is empty; give at least one Hermite multi-index such as terms = [[1, 0], [1, 1]].")
        if len({len(term) for term in self.terms}) != 1:
            raise ValueError("all terms need the same length, one degree per direction.")
        if self.coefficients and len(self.coefficients) != len(self.terms):
            raise ValueError(f"{len(self.coefficients)} coefficients for {len(self.terms)} terms; give one per term.")
        if all(sum(term) == 0 for term in self.terms):
            raise ValueError("the link is constant: no term has a positive degree, so there is nothing to learn.")
        if not any(c for term, c in zip(*self.expansion, strict=True) if sum(term)):
            raise ValueError(
                "the link is constant: all terms of positive degree have the coefficient 0, so there is nothing to learn; give "
                "one that is not 0."
            )
        return self

    @property
    def expansion(self) -> tuple[tuple[tuple[int, ...], ...], tuple[float, ...]]:
        """Multi-indices and coefficients, with names and defaults spelled out."""
        terms = self.terms
        if self.link != "terms":
            shape, size = self.link.rsplit("-", 1)
            k = int(size)
            rows = range(1, k + 1) if shape == "staircase" else (k,)
            terms = tuple(tuple(int(r < n) for r in range(k)) for n in rows)
        return terms, self.coefficients or (1.0,) * len(terms)

    @property
    def units(self) -> int:
        """How many directions the label depends on."""
        return len(self.expansion[0][0])


class TwoGaussians(Section):
    """Labels +1 and -1, equally likely, and centred inputs of variance (1 + label * contrast)²/dimension.

    With `signal` only so many coordinates are that telling; the others have variance 1/dimension in both classes. Left out,
    the other sections are those of the literature on distributional dynamics: many neurons, of which the first layer learns.
    """

    title: ClassVar[str] = "[data]"
    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 40,
        "network": {"width": 400, "activation": {"knots": [0.5, 1.5], "values": [-2.5, 7.5]}},
        "training": {"learning_rate": 0.32, "scheduled": "everything", "second_layer_decay": "same"},
        "start": {"kind": "gaussian", "scale": 0.8},
        "run": {"until": 10.0, "replicas": 4, "points": 21, "spacing": "linear"},
    }
    kind: Literal["two-gaussians"] = "two-gaussians"
    contrast: float = Field(default=0.8, gt=0, lt=1)
    signal: PositiveInt | None = None
    noise: ClassVar[float] = 0.0  # labels are exact

    @property
    def units(self) -> int:
        """No direction is told apart from the others."""
        return 0


Data = Annotated[Teacher | MultiIndex | TwoGaussians | Hypercube | HiddenManifold, Field(discriminator="kind")]


def check_covariance(given: "np.ndarray[tuple[int, ...], np.dtype[np.object_]]", size: int, name: str) -> None:
    """Complain unless the matrix is a covariance: square of the given size, symmetric, positive semi-definite."""
    if given.shape != (size, size):
        raise ValueError(f"{name} has shape {given.shape}; it must be {size} x {size}.")
    matrix = given.astype(float)
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-9):
        raise ValueError(f"{name} is not symmetric; largest difference {np.abs(matrix - matrix.T).max():.2g}.")
    smallest = float(np.linalg.eigvalsh(matrix).min())
    if smallest < -1e-8 * max(1.0, float(np.abs(matrix).max())):
        raise ValueError(
            f"{name} is not positive semi-definite: its smallest eigenvalue is {smallest:.3g}; no weights have these overlaps."
        )
