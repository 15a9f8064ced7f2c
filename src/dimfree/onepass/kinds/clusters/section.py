"""Gaussian clusters with labels of the cluster (docs/theory/losses.md, section 3)."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import PositiveFloat, model_validator

from dimfree.onepass.kind import DataSection
from dimfree.problem.matrix import Matrix, check_covariance

if TYPE_CHECKING:
    from dimfree.onepass.problem import OnePassProblem

_SUM = 1e-9  # the sum of the weights may differ from 1 by this much
_XOR = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))
_GIVEN = ("weights", "means", "variances", "classes")


class Clusters(DataSection):
    """Inputs in Gaussian clusters and a class for each cluster, +1 and -1 or 0, 1, ...; a share `flip` of the labels is wrong.

    A cluster has a weight, a class, a variance v and a mean along a few directions: x = sum_r means[r] b_r/dimension + sqrt(v) z
    with z of variance 1/dimension and directions b_r of norm sqrt(dimension), so that a mean of 1 is one standard deviation at
    v = 1. shape = "xor" puts four equal clusters of `variance` at +-`separation` along two directions, class +1 along the first.
    """

    embedded: ClassVar[dict[str, Any]] = {
        "dimension": 200,
        "network": {"width": 2, "activation": "square", "second_layer_start": "signs"},
        "training": {"learning_rate": 0.2},
        "run": {"until": 10.0, "replicas": 8, "points": 41, "spacing": "linear"},
    }
    any_loss: ClassVar[bool] = True
    kind: Literal["clusters"] = "clusters"
    shape: Literal["xor", "given"] = "xor"
    separation: PositiveFloat = 2.0
    variance: PositiveFloat = 0.5
    weights: tuple[float, ...] = ()
    means: Matrix = ()
    variances: float | tuple[float, ...] = ()
    classes: tuple[int, ...] = ()
    overlap: Literal["orthonormal"] | Matrix = "orthonormal"
    flip: float = 0.0
    noise: ClassVar[float] = 0.0  # labels are classes

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """If means are given, the shape is "given" even if it is left out."""
        return {**values, "shape": "given"} if "means" in values and "shape" not in values else values

    @model_validator(mode="after")
    def _consistent(self) -> "Clusters":
        if not 0 <= self.flip < 0.5:
            raise ValueError(f"flip must be at least 0 and below 0.5; got {self.flip:g} (swap the classes instead).")
        if self.shape == "xor":
            superfluous = [name for name in _GIVEN if getattr(self, name) != ()]
            if superfluous:
                raise ValueError(
                    f"shape = 'xor' already says what the clusters are; leave out {' and '.join(superfluous)}."
                )
        else:
            self._check_clusters()
        if self.overlap != "orthonormal":
            check_covariance(np.array(self.overlap, dtype=object), self.units, "overlap")
        return self

    def _check_clusters(self) -> None:
        clusters = len(self.means)
        if not clusters:
            raise ValueError("means is empty; give one row for each cluster, as in means = [[1.0, 0.0], [-1.0, 0.0]].")
        if len({len(row) for row in self.means}) != 1 or not self.means[0]:
            raise ValueError("all rows of means need the same length, one number for each direction.")
        spread = (self.variances,) * clusters if isinstance(self.variances, float | int) else self.variances
        for name, given in (("weights", self.weights), ("variances", spread), ("classes", self.classes)):
            if len(given) != clusters:
                raise ValueError(f"{name} has {len(given)} entries for {clusters} clusters; give one for each cluster.")
        if min(self.weights) <= 0:
            raise ValueError(f"weights must be above 0; got {min(self.weights):g} (leave that cluster out).")
        if abs(sum(self.weights) - 1) > _SUM:
            raise ValueError(f"weights add up to {sum(self.weights):.6g}; they must add up to 1.")
        if min(spread) <= 0:
            raise ValueError(f"variances must be above 0; got {min(spread):g}.")
        if len({*self.classes}) == 1:
            raise ValueError(
                f"every cluster has class {self.classes[0]}, so that there is nothing to learn; give clusters of both classes."
            )
        if not {*self.classes} <= {1, -1} and {*self.classes} != {*range(max(self.classes) + 1)}:
            raise ValueError(
                f"classes are 1 and -1, or 0, 1, ... without gaps for several outputs; got {sorted({*self.classes})}."
            )
        if not np.any(np.asarray(self.means) - np.asarray(self.means)[0]) and len({*spread}) == 1:
            raise ValueError("all clusters lie at one place, so that there is nothing to learn; give different means.")

    @property
    def units(self) -> int:
        """How many directions the means lie along."""
        return 2 if self.shape == "xor" else len(self.means[0])

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of every cluster."""
        return (0.25,) * 4 if self.shape == "xor" else self.weights

    @property
    def coefficients(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """S, the mean of every cluster along the directions."""
        return self.separation * np.array(_XOR) if self.shape == "xor" else np.array(self.means, dtype=float)

    @property
    def spreads(self) -> tuple[float, ...]:
        """The variance of every cluster."""
        if self.shape == "xor":
            return (self.variance,) * 4
        return (float(self.variances),) * len(self.means) if isinstance(self.variances, float | int) else self.variances

    @property
    def labels(self) -> tuple[int, ...]:
        """The class of every cluster."""
        return (1, 1, -1, -1) if self.shape == "xor" else self.classes

    @property
    def signs(self) -> bool:
        """Whether classes are +1 and -1."""
        return {*self.labels} <= {1, -1}

    @property
    def label_classes(self) -> int:
        """How many classes there are."""
        return len({*self.labels})

    @property
    def outputs(self) -> tuple[int, ...]:
        """The output of the class of every cluster, where there are several: the first is that of class 1 or of class 0."""
        return tuple((1 - label) // 2 if self.signs else label for label in self.labels)

    @property
    def unusual(self) -> str | None:
        """The clusters, for which most limits are not derived."""
        return "inputs in clusters"

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, as it was given."""
        return super().teacher_overlap if self.overlap == "orthonormal" else np.array(self.overlap, dtype=float)

    def check(self, problem: "OnePassProblem") -> None:
        """Refuse momentum: it needs averages for every cluster, which are not worked out."""
        if problem.training.momentum:
            raise ValueError(
                "momentum is not worked out for inputs in clusters; set training.momentum = 0, or choose another kind of data."
            )
