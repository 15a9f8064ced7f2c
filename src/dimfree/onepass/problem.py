"""The problem of one-pass SGD: data, network, training rule, start and run, frozen and validated."""

from typing import Any, ClassVar

import numpy as np
from pydantic import model_validator

from dimfree.onepass.sections.data import Data, Teacher, check_covariance
from dimfree.onepass.sections.network import TwoLayer
from dimfree.problem.problem import Problem
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, Start
from dimfree.onepass.sections.training import OnePass


class Problem(Problem):
    """Everything that decides what SGD will do; the default is the embedded problem of `dimfree compare`."""

    family: ClassVar[str] = "fresh samples"
    data: Data = Teacher()
    network: TwoLayer = TwoLayer()
    training: OnePass = OnePass()
    start: Start = GaussianStart()

    @model_validator(mode="before")
    @classmethod
    def _default_kinds(cls, values: Any) -> Any:
        """A section that names no kind is of the embedded problem's kind."""
        for name in ("data", "start"):
            if isinstance(values.get(name), dict) and "kind" not in values[name]:
                values = {**values, name: {"kind": cls.model_fields[name].default.kind, **values[name]}}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> "Problem":
        if self.data.units > self.dimension:
            raise ValueError(
                f"{self.data.units} independent teacher directions do not fit into dimension {self.dimension}; "
                "lower data.units or raise dimension."
            )
        if isinstance(self.start, OverlapStart):
            self._check_overlaps(self.start)
        return self

    def _check_overlaps(self, start: OverlapStart) -> None:
        p, k = self.network.width, self.data.units
        M = np.array(start.M, dtype=object)
        if M.shape != (p, k):
            raise ValueError(f"start.M has shape {M.shape}; it must be {p} x {k} (network.width x data.units).")
        check_covariance(np.array(start.Q, dtype=object), p, "start.Q")
        Omega = np.block([[np.array(start.Q), M.astype(float)], [M.astype(float).T, self.teacher_overlap]])
        check_covariance(Omega.astype(object), p + k, "the joint overlap matrix of start.Q, start.M and the teacher")
        if np.linalg.matrix_rank(Omega, tol=1e-8) > self.dimension:
            raise ValueError(
                f"start.Q and start.M need more than dimension = {self.dimension} directions; raise dimension."
            )

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, the overlap matrix of the teacher's directions."""
        overlap = getattr(self.data, "overlap", "orthonormal")
        return np.eye(self.data.units) if overlap == "orthonormal" else np.array(overlap, dtype=float)

    @property
    def time_step(self) -> float:
        """dt = learning_rate / (width * dimension), the time that one step takes."""
        return self.training.learning_rate / (self.network.width * self.dimension)
