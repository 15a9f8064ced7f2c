"""The problem of one-pass SGD: data, network, training rule, start and run, frozen and validated."""

from collections.abc import Iterator
from math import isinf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import model_validator

from dimfree.machine import refuse_above_memory
from dimfree.onepass.sections.covariance import Features, Isotropic
from dimfree.onepass.sections.data import Data, HiddenManifold, Teacher, TwoGaussians, check_covariance
from dimfree.onepass.sections.directions import Directions
from dimfree.onepass.sections.hypercube import Hypercube
from dimfree.onepass.sections.network import TwoLayer
from dimfree.onepass.sections.start import GaussianStart, OverlapStart, SphereStart, Start, WeightsStart
from dimfree.onepass.sections.training import OnePass
from dimfree.onepass.spectrum import Spectrum, dimension_of, spectrum
from dimfree.problem import Problem
from dimfree.problem.schedule import begins

if TYPE_CHECKING:
    from dimfree.onepass.manifold import Manifold

EXTREME = 1e6  # a number above this is the reason why training blows up, whatever its steps are
_MOST_FEATURES = 5_000  # of a hidden manifold, whose covariance has no structure to be used
_EMBEDDED = (TwoGaussians, Hypercube)  # data with an embedded problem of their own

_MATRICES = 4  # overlaps of all pairs of teachers that are there at once


class OnePassProblem(Problem):
    """Everything that decides what SGD on fresh samples will do; the default is the embedded problem of `dimfree compare`."""

    time_units: ClassVar[str] = "steps * learning_rate / (width * dimension)"
    data: Data = Teacher()
    network: TwoLayer = TwoLayer()
    training: OnePass = OnePass()
    start: Start = GaussianStart()

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Some data have an embedded problem of their own; a start and a run that are given are not completed from it.

        A covariance from a file says what the dimension is.
        """
        data = values.get("data")
        kind = data.get("kind") if isinstance(data, dict) else None
        embedded = next((one.embedded for one in _EMBEDDED if one.model_fields["kind"].default == kind), {})
        complete = {key: value for key, value in embedded.items() if key not in {"start", "run"} & {*values}}
        if isinstance(data, dict) and data.get("covariance") and "dimension" not in values:
            told = dimension_of(Teacher(covariance=Teacher.spelled(data)["covariance"]).covariance)
            return complete | ({"dimension": told} if told else {})
        return complete

    @model_validator(mode="after")
    def _consistent(self) -> "OnePassProblem":
        if self.data.units > self.dimension:
            raise ValueError(
                f"{self.data.units} independent teacher directions do not fit into dimension {self.dimension}; "
                "lower data.units or raise dimension."
            )
        if isinstance(self.data, TwoGaussians) and self.signal > self.dimension:
            raise ValueError(
                f"data.signal = {self.signal} coordinates do not fit into dimension {self.dimension}; "
                "lower data.signal or raise dimension."
            )
        if isinstance(self.data, Hypercube) and self.data.coordinates[-1] > self.dimension:
            raise ValueError(
                f"data.coefficients name the coordinate {self.data.coordinates[-1]} of inputs of dimension {self.dimension}; "
                "raise dimension, or count coordinates from 1."
            )
        if isinstance(self.data, Hypercube) and isinstance(self.start, OverlapStart):
            raise ValueError(
                "start.kind = 'overlaps' does not say what weights are along the axes of a hypercube; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
        if isinstance(self.data, HiddenManifold):
            self._check_manifold(self.data)
        if self.training.momentum and not self.data.units:
            raise ValueError(
                f"momentum is not derived for data.kind = {self.data.kind!r}; choose 'teacher' or 'multi-index', or set "
                "training.momentum = 0."
            )
        if isinstance(self.start, OverlapStart) and self.correlated:
            raise ValueError(
                "start.kind = 'overlaps' does not say how overlaps are shared out to the eigenvalues of data.covariance; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
        if self.learns_labels and not self._is_linear:
            raise ValueError(
                "true labels with a non-linear network have no Gaussian theory; give a teacher (leave out "
                "data.covariance.labels), or set data.units = 1 and both activations to 'linear'."
            )
        if self.learns_labels and isinstance(self.start, WeightsStart):
            raise ValueError(
                "start.kind = 'weights' brings a teacher, and data.covariance.labels are another one; "
                "choose 'gaussian' or 'sphere'."
            )
        if self.directions and (self.learns_labels or isinstance(self.start, WeightsStart) or not self.correlated):
            raise ValueError(
                "data.directions say where a teacher lies in the eigenbasis of data.covariance; give a covariance without "
                "labels, and a start that brings no teacher of its own, or leave directions out."
            )
        if isinstance(self.start, OverlapStart) and self.signal < self.dimension:
            raise ValueError(
                f"start.kind = 'overlaps' does not say where the {self.signal} coordinates of data.signal are; "
                "choose 'gaussian', 'sphere' or 'weights'."
            )
        if self.training.spherical and "first-layer" not in self.network.trained:
            raise ValueError(
                "training.spherical = true keeps the norms of a first layer that does not learn; "
                "put 'first-layer' into network.trained, or set training.spherical = false."
            )
        if self.run.starts > 1 and not isinstance(self.start, GaussianStart | SphereStart):
            raise ValueError(
                f"start.kind = {self.start.kind!r} is one start, and run.starts = {self.run.starts} asks for more; "
                "leave run.starts out, or choose 'gaussian' or 'sphere'."
            )
        if isinstance(self.start, OverlapStart):
            self._check_overlaps(self.start)
        self._check_that_something_learns()
        return self

    def _check_that_something_learns(self) -> None:
        """Data and network say by themselves where labels are constant or outputs stay 0; here is what takes two sections."""
        if (late := begins(self.training.schedule)) >= self.run.until:
            when = "at all times" if isinf(late) else f"until t = {late:g}, and run.until is {self.run.until:g}"
            raise ValueError(
                f"training.schedule keeps the learning rate at 0 {when}, so that nothing is learned; give a positive factor "
                "earlier, or leave the schedule out."
            )
        trained, still = self.network.trained, self.training.second_layer_rate == 0
        if "second-layer" in trained and still and (len(trained) == 1 or self.network.starts_at_zero):
            raise ValueError(
                "training.second_layer_rate = 0 keeps the second layer as it starts, and without it nothing is learned; raise it."
            )

    def _check_manifold(self, data: HiddenManifold) -> None:
        if data.units > data.latent:
            raise ValueError(
                f"{data.units} independent teacher directions do not fit into data.latent = {data.latent}; "
                "lower data.units or raise data.latent."
            )
        if self.dimension > _MOST_FEATURES:
            raise ValueError(
                f"dimension = {self.dimension} features of a hidden manifold have a covariance that is too large to be "
                f"diagonalised; lower dimension to at most {_MOST_FEATURES}."
            )
        if not isinstance(self.start, GaussianStart | SphereStart):
            raise ValueError(
                f"start.kind = {self.start.kind!r} brings overlaps with a teacher, and that of a hidden manifold sees other "
                "variables; choose 'gaussian' or 'sphere'."
            )

    def _check_overlaps(self, start: OverlapStart) -> None:
        p, k = self.network.width, self.data.units
        M = np.array(start.M, dtype=object)
        if M.shape != (p, k):
            raise ValueError(f"start.M has shape {M.shape}; it must be {p} x {k} (network.width x data.units).")
        check_covariance(np.array(start.Q, dtype=object), p, "start.Q")
        if self.training.spherical and not np.all(np.diag(np.array(start.Q, dtype=float)) > 0):
            raise ValueError(
                "start.Q has a unit of norm 0, which training.spherical = true cannot keep on a sphere; give norms above 0."
            )
        Omega = np.block([[np.array(start.Q), M.astype(float)], [M.astype(float).T, self.teacher_overlap]])
        check_covariance(Omega.astype(object), p + k, "the joint overlap matrix of start.Q, start.M and the teacher")
        if np.linalg.matrix_rank(Omega, tol=1e-8) > self.dimension:
            raise ValueError(
                f"start.Q and start.M need more than dimension = {self.dimension} directions; raise dimension."
            )

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, the overlap matrix of the teacher's directions."""
        overlap, units = getattr(self.data, "overlap", "orthonormal"), self.data.units
        if overlap != "orthonormal":
            return np.array(overlap, dtype=float)
        refuse_above_memory(_MATRICES * 8.0 * units**2, f"the overlaps of {units} teachers", "lower data.units")
        return np.eye(units)

    @property
    def structured(self) -> bool:
        """Whether inputs have a covariance of their own, or the rule has momentum: what overlaps of isotropic SGD do not say."""
        return self.correlated or self.training.momentum > 0

    @property
    def correlated(self) -> bool:
        """Whether inputs have a covariance of their own."""
        covariance = getattr(self.data, "covariance", Isotropic())
        return isinstance(self.data, HiddenManifold) or not isinstance(covariance, Isotropic)

    @property
    def learns_labels(self) -> bool:
        """Whether labels are those of the user's rows."""
        covariance = getattr(self.data, "covariance", None)
        return isinstance(covariance, Features) and covariance.labels is not None

    @property
    def directions(self) -> Directions | None:
        """Where teachers lie, unless that is random."""
        given = getattr(self.data, "directions", "random")
        return given if isinstance(given, Directions) else None

    @property
    def _is_linear(self) -> bool:
        both = (self.network.activation, getattr(self.data, "activation", None))
        return both == ("linear", "linear") and self.data.units == 1

    @property
    def spectrum(self) -> Spectrum:
        """The covariance of the inputs in numbers."""
        if isinstance(self.data, HiddenManifold):
            return self.manifold.spectrum
        return spectrum(getattr(self.data, "covariance", Isotropic()), self.dimension)

    @property
    def manifold(self) -> "Manifold":
        """Features of hidden variables in numbers."""
        from dimfree.onepass.manifold import manifold  # with Gaussian averages, which a problem is read without

        assert isinstance(self.data, HiddenManifold), f"{self.data.kind} has no hidden variables"
        return manifold(self.data.features, self.teacher_overlap, self.data.latent, self.dimension, self.run.seed)

    @property
    def given_teachers(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
        """Teachers in the eigenbasis that belong to the data, not to a start; None where a start has its own."""
        if isinstance(self.data, HiddenManifold):
            return self.manifold.teachers
        return self.spectrum.linear_teacher[0][None] if self.learns_labels else None

    @property
    def unusual(self) -> str | None:
        """A covariance, or momentum."""
        if isinstance(self.data, HiddenManifold):
            return "a hidden manifold"
        return "a structured covariance" if self.correlated else "momentum" if self.structured else None

    @property
    def signal(self) -> int:
        """How many coordinates tell two Gaussians apart: all of them unless the data say otherwise."""
        return getattr(self.data, "signal", None) or self.dimension

    @property
    def time_step(self) -> float:
        """dt = learning_rate / (width * dimension), the time that one step takes; momentum lengthens it."""
        return self.training.effective_rate / (self.network.width * self.dimension)

    @property
    def remedy(self) -> str:
        """A smaller step, or weights that cannot grow; where another number is beyond all that is meant, that one."""
        training, numbers = self.training, dict(self._numbers())
        name = max(numbers, key=lambda one: numbers[one])
        if numbers[name] > EXTREME:
            return f"lower {name}, which is {numbers[name]:.3g}"
        return smaller_steps(training.learning_rate, projectable=not training.spherical and not training.momentum)

    def _numbers(self) -> Iterator[tuple[str, float]]:
        """What training blows up with, besides its steps."""
        yield "data.noise", self.data.noise
        yield "training.weight_decay", self.training.weight_decay
        sizes = {
            "data.second_layer": getattr(self.data, "second_layer", 0.0),
            "network.second_layer_start": self.network.second_layer_start,
            "start.scale": getattr(self.start, "scale", 0.0),
        }
        for name, value in sizes.items():
            yield name, 1.0 if isinstance(value, str) else float(np.max(np.abs(np.asarray(value, dtype=float))))


def smaller_steps(rate: float, *, projectable: bool) -> str:
    """What to change when training blows up, as the end of a sentence; `projectable`, weights may be kept on a sphere."""
    keep = " or keep the norms with training.spherical = true" if projectable else ""
    return f"lower training.learning_rate (try {rate / 4:.2g}){keep}"
