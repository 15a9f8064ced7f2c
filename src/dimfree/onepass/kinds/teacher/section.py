"""Labels of a teacher: a network, or a polynomial, of a few directions of Gaussian inputs."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from dimfree.onepass.inputs.covariance import AnyCovariance, Features, Isotropic, spelled_covariance
from dimfree.onepass.inputs.directions import Directions, GivenDirections
from dimfree.onepass.inputs.spectrum import Spectrum, dimension_of, spectrum
from dimfree.onepass.kind import DataSection
from dimfree.onepass.labelled import OF_OUTPUTS, Labelled, default_noise
from dimfree.problem.activation import Activation, Activations
from dimfree.problem.hermite_terms import HermiteTerms
from dimfree.problem.matrix import Matrix, check_covariance
from dimfree.problem.network import Scaling
from dimfree.problem.start import OverlapStart, WeightsStart

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem


def _is_isotropic(covariance: object) -> bool:
    return isinstance(covariance, Isotropic)


# Isotropic inputs are not written: problems keep the text and the digest that they had before there were other inputs.
GivenCovariance = Annotated[AnyCovariance, Field(exclude_if=_is_isotropic)]


class TeacherNetwork(Labelled):
    """Labels from a network of `units` hidden units, plus label noise, whatever the inputs are.

    Labels "argmax" and "softmax" are those of several outputs: `second_layer` is then a matrix, classes x units, and one number
    or one per unit makes every unit an output of its own.
    """

    units: PositiveInt = 2
    activation: Activation = "erf"
    second_layer: float | tuple[float, ...] | Matrix = 1.0
    overlap: Literal["orthonormal"] | Matrix = "orthonormal"
    scaling: Scaling = "mean"
    noise: NonNegativeFloat = Field(default_factory=default_noise)

    @model_validator(mode="after")
    def _consistent(self) -> "TeacherNetwork":
        if _rows(self.second_layer) or self.labels in OF_OUTPUTS:
            self._check_outputs(_rows(self.second_layer))
        elif isinstance(self.second_layer, tuple) and len(self.second_layer) != self.units:
            raise ValueError(
                f"second_layer has {len(self.second_layer)} entries for {self.units} units; give one per unit."
            )
        if self.overlap != "orthonormal":
            check_covariance(np.array(self.overlap, dtype=object), self.units, "overlap")
        norms = 1.0 if self.overlap == "orthonormal" else np.diag(np.array(self.overlap, dtype=float))
        given = np.asarray(self.second_layer, dtype=float)  # without a list of all units, which may be far too long
        if not np.any((np.ptp(given, axis=0) if given.ndim == 2 else given) * norms):
            raise ValueError(
                "the label is constant: every unit of the teacher has 0 in second_layer or on the diagonal of overlap, so there "
                "is nothing to learn; give a unit for which both are not 0."
            )
        return self

    def _check_outputs(self, matrix: Matrix) -> None:
        if self.labels not in OF_OUTPUTS:
            raise ValueError(
                f"second_layer is a matrix, classes x units, and labels = {self.labels!r} are those of one output; set labels = "
                '"argmax" or "softmax", or give one number per unit.'
            )
        wrong = [len(row) for row in matrix if len(row) != self.units]
        if wrong or len(matrix) == 1:
            shape = f"a row of {wrong[0]} numbers" if wrong else "one row"
            raise ValueError(
                f"second_layer has {shape}; give two rows or more, each of {self.units} numbers (classes x units)."
            )
        if not matrix and isinstance(self.second_layer, tuple) and len(self.second_layer) != self.units:
            raise ValueError(
                f"second_layer has {len(self.second_layer)} entries for {self.units} units; give one per unit."
            )
        if not matrix and self.units == 1:
            raise ValueError(
                f"one unit is one output, and labels = {self.labels!r} choose among several; raise units, or give "
                "second_layer as a matrix, classes x units."
            )

    @property
    def label_classes(self) -> int | None:
        """The outputs of the teacher, where labels choose among them."""
        return (len(_rows(self.second_layer)) or self.units) if self.labels in OF_OUTPUTS else None

    @property
    def layer(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """The second layer: one number per unit, or a row of them for every class."""
        given = np.asarray(self.second_layer, dtype=float)
        if given.ndim == 2:
            return given
        row = np.broadcast_to(given, (self.units,))
        return row if self.label_classes is None else np.diag(row)

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, as it was given."""
        return super().teacher_overlap if self.overlap == "orthonormal" else np.array(self.overlap, dtype=float)


def _rows(layer: float | tuple[float, ...] | Matrix) -> Matrix:
    """The rows of a second layer that is a matrix; none of one that is not."""
    return tuple(row for row in layer if isinstance(row, tuple)) if isinstance(layer, tuple) else ()


class GaussianInputs(DataSection):
    """Gaussian inputs, isotropic unless a `covariance` is given, and where the teacher lies in its eigenbasis."""

    covariance: GivenCovariance = Isotropic()
    directions: GivenDirections = "random"

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """If a file of rows is given, the covariance is theirs even if its kind is left out."""
        return spelled_covariance(super().spelled(values))

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A covariance from a file determines the dimension."""
        others, data = super().left_out(values), values.get("data")
        if not isinstance(data, dict) or not data.get("covariance") or "dimension" in values:
            return others
        given = dimension_of(Teacher(covariance=cls.spelled(data)["covariance"]).covariance)
        return {**others, "dimension": given} if given else others

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse what cannot be combined with a covariance, with labels of the user's own or with given directions."""
        if isinstance(problem.start, OverlapStart) and self.correlated:
            raise ValueError(
                "start.kind = 'overlaps' does not say how overlaps are shared out to the eigenvalues of data.covariance; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
        if self.learns_labels and not self.fitted and not self._is_linear(problem.network.activation):
            raise ValueError(
                "true labels with a non-linear network need a teacher that was fitted to them; name its file in data.directions "
                "(dimfree plan writes one), or set data.units = 1 and both activations to 'linear'."
            )
        drawn = self.fitted and getattr(self, "labels", None) == "logistic"  # what theory takes the user's classes for
        if self.learns_labels and (self.signs or self.beyond_square) and not drawn:
            raise ValueError(
                "data.labels and data.noise_law say how a label follows from a teacher, and data.covariance.labels are labels "
                "themselves; leave out one of them."
            )
        if self.learns_labels and isinstance(problem.start, WeightsStart):
            raise ValueError(
                "start.kind = 'weights' brings a teacher, and data.covariance.labels are another one; "
                "choose 'gaussian' or 'sphere'."
            )
        brings_teacher = (self.learns_labels and not self.fitted) or isinstance(problem.start, WeightsStart)
        if self.given_directions and (brings_teacher or not self.correlated):
            raise ValueError(
                "data.directions say where a teacher lies in the eigenbasis of data.covariance; give a covariance (with labels "
                "only beside directions from a file), and a start that brings no teacher of its own, or leave directions out."
            )

    @property
    def correlated(self) -> bool:
        """Whether a covariance is given."""
        return not isinstance(self.covariance, Isotropic)

    @property
    def learns_labels(self) -> bool:
        """Whether labels are those of the user's rows."""
        return isinstance(self.covariance, Features) and self.covariance.labels is not None

    @property
    def given_directions(self) -> Directions | None:
        return self.directions if isinstance(self.directions, Directions) else None

    @property
    def fitted(self) -> bool:
        """Whether limits describe a teacher from a file that was fitted to the labels of the rows."""
        return self.given_directions is not None and self.given_directions.file is not None

    @property
    def unusual(self) -> str | None:
        """A covariance, for which most limits are not derived."""
        return "a structured covariance" if self.correlated else None

    def spectrum(self, problem: "OnePassProblem") -> Spectrum:
        """The spectrum of the covariance."""
        return spectrum(self.covariance, problem.dimension)

    def given_teachers(self, problem: "OnePassProblem") -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
        """The best linear fit to labels of the user's own, unless another fit is given."""
        return self.spectrum(problem).linear_teacher[0][None] if self.learns_labels and not self.fitted else None

    def _is_linear(self, activation: Activation) -> bool:
        both = (activation, getattr(self, "activation", None))
        return both == ("linear", "linear") and self.units == 1


class Teacher(GaussianInputs, TeacherNetwork):
    """Gaussian inputs, labels from a teacher network of `units` hidden units, plus label noise.

    A single-index link is a teacher with one unit and the link as its activation. Inputs are isotropic unless a `covariance` is
    given; `overlap` is then that of the teacher's preactivations. Units may differ: `activation` is then a list, one for each,
    `bias` has their offsets, and `constant` is added to the label.
    """

    kind: Literal["teacher"] = "teacher"
    activation: Activations = "erf"  # type: ignore[assignment]  # more than other kinds of data know
    bias: Annotated[tuple[float, ...], Field(exclude_if=lambda given: not given)] = ()
    constant: Annotated[float, Field(exclude_if=lambda given: given == 0)] = 0.0

    @model_validator(mode="after")
    def _units_that_differ(self) -> "Teacher":
        for name, given in (("activation", self.activation), ("bias", self.bias)):
            if isinstance(given, tuple) and given and len(given) != self.units:
                raise ValueError(f"{name} has {len(given)} entries for {self.units} units; give one per unit.")
        if self.activation == ():
            raise ValueError("activation is an empty list; give one per unit, or one for all.")
        if self.unlike and self.labels in OF_OUTPUTS:
            raise ValueError(
                f"labels = {self.labels!r} compare outputs of units that are alike; leave out bias and constant, and give one "
                "activation for all units."
            )
        return self

    @property
    def unlike(self) -> bool:
        """Whether units have functions or offsets of their own, or labels a constant."""
        return isinstance(self.activation, tuple) or any(self.bias) or self.constant != 0


class MultiIndex(HermiteTerms, GaussianInputs, Labelled):
    """Gaussian inputs and a polynomial of a few orthonormal directions z_r = w*_r.x, in Hermite products.

    The label is sum_n coefficients[n] prod_r He_{terms[n][r]}(z_r) + noise. For example terms = [[1, 0], [1, 1]] with
    coefficients [1, 1] is z_1 + z_1 z_2. A name ("staircase-3", "parity-2") stands for the terms.
    """

    kind: Literal["multi-index"] = "multi-index"
    noise: NonNegativeFloat = Field(default_factory=default_noise)

    @model_validator(mode="after")
    def _consistent(self) -> "MultiIndex":
        if self.labels in OF_OUTPUTS:
            raise ValueError(
                f"labels = {self.labels!r} compare outputs of a teacher network, and a polynomial has one; set kind = "
                '"teacher", or labels = "sign".'
            )
        return self
