"""The problem of one-pass SGD: data, network, training rule, start and run, frozen and validated."""

from collections.abc import Iterator
from math import isinf
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union

import numpy as np
from pydantic import Field, model_validator

from dimfree.onepass.inputs.directions import Directions
from dimfree.onepass.inputs.spectrum import Spectrum
from dimfree.onepass.kind import DataSection, sections
from dimfree.onepass.sections.training import OnePass
from dimfree.problem import Problem
from dimfree.problem.loss import loss_name
from dimfree.problem.matrix import check_covariance
from dimfree.problem.network import TwoLayer
from dimfree.problem.schedule import begins
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart, Start, check_overlaps

_SECTIONS = {section.model_fields["kind"].default: section for section in sections()}
_EMBEDDED = next(iter(_SECTIONS.values()))  # the section of the embedded problem
_WITHOUT_NOISE = ("square", "absolute", "huber")  # losses whose risk above the teacher's is finite for every noise
_DEFAULT: DataSection = _EMBEDDED.model_validate({})

EXTREME = 1e6  # if training blows up, a number above this is blamed, whatever the steps are
if TYPE_CHECKING:
    Data = DataSection
else:
    Data = Annotated[Union[tuple(_SECTIONS.values())], Field(discriminator="kind")]  # noqa: UP007


class OnePassProblem(Problem):
    """Everything that decides what SGD on fresh samples will do; the default is the embedded problem of `dimfree compare`."""

    time_units: ClassVar[str] = "steps * learning_rate / (width * dimension)"
    data: Data = _DEFAULT
    network: TwoLayer = TwoLayer()
    training: OnePass = OnePass()
    start: Start = GaussianStart()

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values that the kind of data fills in; a given start or run is left as it is."""
        data = values.get("data")
        given = data if isinstance(data, dict) else {}
        defaults = _SECTIONS.get(given.get("kind"), _EMBEDDED).left_out(values)
        return {key: value for key, value in defaults.items() if key not in {"start", "run"} & {*values}}

    @model_validator(mode="after")
    def _consistent(self) -> "OnePassProblem":
        if self.data.units > self.dimension:
            raise ValueError(
                f"{self.data.units} independent teacher directions do not fit into dimension {self.dimension}; "
                "lower data.units or raise dimension."
            )
        self.data.check(self)
        self._check_loss()
        if self.training.momentum and not self.data.units and not self.data.linear_momentum:
            raise ValueError(
                f"momentum is derived for labels of a teacher, and data.kind = {self.data.kind!r} has none; choose another kind "
                "of data, or set training.momentum = 0."
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

    def _check_loss(self) -> None:
        data = self.data
        if self.beyond_square and not data.any_loss:
            known = " or ".join(f"{name!r}" for name, section in _SECTIONS.items() if section.any_loss)
            raise ValueError(
                f"data.kind = {data.kind!r} does not go with {self.beyond_square}, worked out for {known}; choose one of these "
                "kinds, or the square loss of values without clipping."
            )
        self._check_outputs()
        if self.training.needs_signs and not data.signs and not data.learns_labels:
            raise ValueError(
                f'loss {loss_name(self.training.loss)!r} needs labels of ±1; set data.labels = "sign" (labels are values of the '
                "teacher now)."
            )
        loss = loss_name(self.training.loss)
        if data.noise_without_mean and loss not in _WITHOUT_NOISE:
            raise ValueError(
                f'{data.noise_without_mean} has no mean, so that the risk of the {loss} loss is infinite; use loss = "absolute" '
                'or "huber", or "square" with training.clip = {error = 1.0}.'
            )

    def _check_outputs(self) -> None:
        """Refuse several outputs without cross-entropy and labels of as many classes, and these without several outputs."""
        outputs, classes, loss = self.network.outputs, self.data.label_classes, loss_name(self.training.loss)
        if not self.training.needs_outputs:
            if outputs > 1:
                raise ValueError(
                    f"network.outputs = {outputs} goes with the cross-entropy loss, and the loss is {loss!r}; set training.loss "
                    '= "cross-entropy", or leave outputs out.'
                )
            if classes is not None and not self.data.signs:
                raise ValueError(
                    f"labels are one of {classes} classes, which loss {loss!r} does not know; set training.loss = "
                    f'"cross-entropy" and network.outputs = {classes}.'
                )
            return
        if classes is None:
            raise ValueError(
                'loss \'cross-entropy\' needs labels of several classes; set data.labels = "argmax" or "softmax" (labels are '
                f"{'signs' if self.data.signs else 'values'} of the teacher now)."
            )
        if outputs != classes:
            raise ValueError(
                f"loss 'cross-entropy' needs one output for each of the {classes} classes of labels, and network.outputs is "
                f"{outputs}; set network.outputs = {classes}."
            )

    def _check_that_something_learns(self) -> None:
        """Refuse problems in which nothing is learned, where that follows from two sections together."""
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

    def _check_overlaps(self, start: OverlapStart) -> None:
        p, k = self.network.width, self.data.units
        check_overlaps(start, p, k, self.training.spherical)
        M = np.array(start.M, dtype=float)
        Omega = np.block([[np.array(start.Q), M], [M.T, self.teacher_overlap]])
        check_covariance(Omega.astype(object), p + k, "the joint overlap matrix of start.Q, start.M and the teacher")
        if np.linalg.matrix_rank(Omega, tol=1e-8) > self.dimension:
            raise ValueError(
                f"start.Q and start.M need more than dimension = {self.dimension} directions; raise dimension."
            )

    @property
    def teacher_overlap(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """P, the overlap matrix of the teacher's directions."""
        return self.data.teacher_overlap

    @property
    def structured(self) -> bool:
        """Whether overlaps for every eigenvalue are needed: inputs have a covariance, or the rule has momentum."""
        return self.correlated or (self.training.momentum > 0 and not self.data.linear_momentum)

    @property
    def correlated(self) -> bool:
        """Whether inputs have a covariance of their own."""
        return self.data.correlated

    @property
    def learns_labels(self) -> bool:
        """Whether labels are those of the user's rows."""
        return self.data.learns_labels

    @property
    def directions(self) -> Directions | None:
        """Where teachers lie, unless that is random."""
        return self.data.given_directions

    @property
    def spectrum(self) -> Spectrum:
        """The covariance of the inputs in numbers."""
        return self.data.spectrum(self)

    @property
    def given_teachers(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
        """Teachers in the eigenbasis that belong to the data, not to a start; None where a start has its own."""
        return self.data.given_teachers(self)

    @property
    def unusual(self) -> str | None:
        """What most limits are not derived for, in words: a kind of data, momentum, or anything but the square loss of values."""
        return self.data.unusual or ("momentum" if self.training.momentum else None) or self.beyond_square

    @property
    def beyond_square(self) -> str | None:
        """A loss, clipping or labels for which equations of the square loss of values do not hold, in words."""
        return self.training.beyond_square or self.data.beyond_square

    @property
    def time_step(self) -> float:
        """dt = learning_rate / (width * dimension), the time that one step takes; momentum lengthens it."""
        return self.training.effective_rate / (self.network.width * self.dimension)

    @property
    def remedy(self) -> str:
        """What to change when training blows up: the step, weights that cannot grow, or a number that is far too large."""
        training, numbers = self.training, dict(self._numbers())
        name = max(numbers, key=lambda one: numbers[one])
        if numbers[name] > EXTREME:
            return f"lower {name}, which is {numbers[name]:.3g}"
        return smaller_steps(training.learning_rate, projectable=not training.spherical and not training.momentum)

    def _numbers(self) -> Iterator[tuple[str, float]]:
        """The numbers besides the step that can make training blow up, by their keys."""
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
