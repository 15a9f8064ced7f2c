"""The problem of a two-layer network on a data set: the same sections as with fresh samples, and `samples` of them.

docs/theory/committee-dmft.md, section 1, in words: samples is alpha, learning_rate eta, batch_fraction b, persistence tau,
weight_decay lambda, second_layer_rate eta_a, momentum beta.
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeFloat,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from dimfree.dataset.committee.protocol import Protocol, check_protocol
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.problem import MultiPass
from dimfree.errors import ProblemError
from dimfree.problem.activation import Activation
from dimfree.problem.hermite_terms import HermiteTerms
from dimfree.problem.loss import CROSS_ENTROPY, NAMES, NEED_SIGNS, Hinge, UserLoss, loss_name, read_loss, write_loss
from dimfree.problem.matrix import Matrix, check_covariance
from dimfree.problem.network import Scaling, TwoLayer, canonical_layer
from dimfree.problem.noise_law import NoiseLaw
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.schedule import Schedule
from dimfree.problem.section import Section
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart, check_overlaps

_NOISE = 1e-3  # of values; classes have none unless it is asked for
_WITH_WIDTH = {"smooth-hinge": "smoothing", "huber": "threshold", "insensitive": "tube"}  # keys of their widths
_OF_CLASSES = NEED_SIGNS | {"smooth-hinge"}


def _read_loss(value: Any) -> Any:
    """Losses of one-pass training, and those of data sets."""
    if value == CROSS_ENTROPY:
        raise ValueError(
            "cross-entropy is for several outputs, and networks on a data set have one; choose another loss."
        )
    return value if isinstance(value, str) and value in _WITH_WIDTH else read_loss(value)


GivenLoss = Annotated[
    str | Hinge | UserLoss | Callable[..., Any],
    BeforeValidator(_read_loss),
    PlainSerializer(write_loss, when_used="json"),
    Field(examples=[*(name for name in NAMES if name != CROSS_ENTROPY), "smooth-hinge", "insensitive"]),
]


def _default_noise(values: dict[str, Any]) -> float:
    return _NOISE if values.get("labels", "value") == "value" else 0.0


class _LabelledSet(Section):
    """Gaussian inputs, `samples` of them per dimension, with labels that a teacher gives.

    labels = "value" are its output f* plus noise of variance `noise`; with noise_law = {student = 3.0} it has heavy tails, and
    `noise` is its squared scale. labels = "sign" are the sign of f* plus noise, the wrong one with probability `flip`; labels =
    "logistic" are +1 with probability 1/(1 + exp(-slope f*)) and else -1.
    """

    title: ClassVar[str] = "[data]"
    kind: str
    samples: PositiveFloat = 2.0  # per dimension
    labels: Literal["value", "sign", "logistic"] = "value"
    flip: Annotated[float, Field(exclude_if=lambda given: given == 0)] = 0.0
    slope: Annotated[PositiveFloat, Field(exclude_if=lambda given: given == 1)] = 1.0
    noise: NonNegativeFloat = Field(default_factory=_default_noise)
    noise_law: NoiseLaw = "gaussian"  # "gaussian", or {student = 3.0} for heavy tails

    @model_validator(mode="after")
    def _labelled(self) -> "_LabelledSet":
        if not 0 <= self.flip < 0.5:
            raise ValueError(f"flip must be at least 0 and below 0.5; got {self.flip:g} (swap the classes instead).")
        for key, given, kind in (
            ("flip", self.flip != 0, "sign"),
            ("slope", self.slope != 1, "logistic"),
            ("noise_law", self.noise_law != "gaussian", "value"),
        ):
            if given and self.labels != kind:
                raise ValueError(f'{key} is for labels = "{kind}", and labels are {self.labels!r}; leave it out.')
        if self.noise and self.labels == "logistic":
            raise ValueError(
                f'noise = {self.noise:g} does not go with labels = "logistic", which are random by themselves; leave noise out, '
                "or lower slope."
            )
        return self


class DataSetTeacher(_LabelledSet):
    """Labels of a teacher network of `units` hidden units.

    A single-index link is a teacher with one unit and the link as its activation.
    """

    kind: Literal["teacher"] = "teacher"
    units: PositiveInt = 2
    activation: Activation = "erf"
    second_layer: float | tuple[float, ...] = 1.0
    overlap: Literal["orthonormal"] | Matrix = "orthonormal"
    scaling: Scaling = "mean"

    @model_validator(mode="after")
    def _consistent(self) -> "DataSetTeacher":
        if isinstance(self.second_layer, tuple) and len(self.second_layer) != self.units:
            raise ValueError(
                f"second_layer has {len(self.second_layer)} entries for {self.units} units; give one per unit."
            )
        if self.overlap != "orthonormal":
            check_covariance(np.array(self.overlap, dtype=object), self.units, "overlap")
            if np.linalg.eigvalsh(self.teacher_overlap)[0] < 1e-9:
                raise ValueError(
                    "overlap is singular: a teacher is a combination of the others; give independent ones."
                )
        if not np.any(self.second_layer):
            raise ValueError("the label is constant: second_layer is 0 for every unit, so there is nothing to learn.")
        return self

    @property
    def in_words(self) -> str:
        """For the title of a figure."""
        return f"teacher of {self.units} {self.activation}"

    @property
    def teacher_overlap(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        """P, as it was given."""
        return np.eye(self.units) if self.overlap == "orthonormal" else np.array(self.overlap, dtype=float)


class DataSetMultiIndex(HermiteTerms, _LabelledSet):
    """Labels of a polynomial of a few orthonormal directions, in Hermite products (as for fresh samples)."""

    kind: Literal["multi-index"] = "multi-index"

    @property
    def in_words(self) -> str:
        """For the title of a figure."""
        return f"polynomial of {self.units} directions" if self.link == "terms" else self.link

    @property
    def teacher_overlap(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        """Directions are orthonormal."""
        return np.eye(self.units)


class NetworkMultiPass(MultiPass):
    """Training of a network that revisits a data set: each step takes learning_rate times the gradient summed over the batch.

    `batches`: "random" ones are drawn anew at every step, or stay with `persistence`; "cyclic" and "reshuffle" cut the data set
    into 1/batch_fraction groups, one after the other, which "reshuffle" draws anew in every epoch; "one-pass" uses every group
    once and "twice" two times in a row, then never again. `momentum` is the share of a velocity that is carried on (heavy ball).
    The second layer moves at second_layer_rate * learning_rate / dimension, offsets at learning_rate / dimension, with the
    decay of the first layer.
    """

    loss: GivenLoss = "square"  # type: ignore[assignment]  # more than of one unit
    batches: Literal["random", "cyclic", "reshuffle", "one-pass", "twice"] = "random"
    momentum: float = Field(default=0.0, ge=0, lt=1)
    schedule: Schedule | None = None  # how the learning rate changes in time
    second_layer_rate: NonNegativeFloat = 1.0
    second_layer_decay: NonNegativeFloat | Literal["same"] = 0.0  # "same": that of the first layer

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A loss may be a table of its kind and its width."""
        loss = values.get("loss")
        return super().spelled(values) if isinstance(loss, dict) and loss.get("kind") in _WITH_WIDTH else values

    @model_validator(mode="after")
    def _one_protocol(self) -> "NetworkMultiPass":
        if self.persistence is not None and self.batches != "random":
            raise ValueError(
                f"persistence is for random batches, and batches are {self.batches!r}; leave out one of them."
            )
        return self

    @property
    def protocol(self) -> Protocol:
        """The law of batches, by its name in the theory."""
        if self.batches == "random":
            return "vanilla" if self.persistence is None else "persistent"
        return self.batches


class NetworkProblem(Problem):
    """Everything that decides what a two-layer network learns from a data set; `dimension` is that of the simulation."""

    time_units: ClassVar[str] = "steps * learning_rate"
    shares_start: ClassVar[bool] = False  # all data sets do, but more starts than one cannot be asked for
    dimension: int = Field(default=300, gt=0, le=10**6)
    data: Annotated[DataSetTeacher | DataSetMultiIndex, Field(discriminator="kind")] = DataSetTeacher()
    network: TwoLayer = TwoLayer()
    training: NetworkMultiPass = NetworkMultiPass(learning_rate=1.0)
    start: Annotated[GaussianStart | SphereStart | OverlapStart, Field(discriminator="kind")] = GaussianStart()
    run: Run = Run(until=30.0, spacing="linear", points=31)

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Classes have no noise and the logistic loss, unless others are given."""
        data = values.get("data")
        signs = isinstance(data, dict) and data.get("labels", "value") != "value"
        return {"data": {"noise": 0.0}, "training": {"loss": "logistic"}} if signs else {}

    @model_validator(mode="after")
    def _consistent(self) -> "NetworkProblem":
        p, k, network = self.network.width, self.data.units, self.network
        if p + k > self.dimension:
            raise ValueError(f"{p} units and {k} teachers do not fit into dimension {self.dimension}; raise dimension.")
        if network.outputs > 1:
            raise ValueError(
                f"networks on a data set have one output, and network.outputs is {network.outputs}; leave it out."
            )
        if "first-layer" not in network.trained:
            raise ValueError("the first layer must learn on a data set; put 'first-layer' into network.trained.")
        if self.data.labels == "value" and (name := loss_name(self.training.loss)) in _OF_CLASSES:
            raise ValueError(
                f'loss {name!r} needs labels of ±1; set data.labels = "sign", or training.loss = "square".'
            )
        if self.run.starts > 1:
            raise ValueError(
                f"run.starts = {self.run.starts}, but all data sets begin at one start; leave run.starts out."
            )
        self._check_batches()
        if isinstance(self.start, OverlapStart):
            self._check_overlaps(self.start)
        return self

    def _check_batches(self) -> None:
        training = self.training
        try:
            check_protocol(
                training.protocol,
                training.learning_rate,
                training.batch_fraction,
                training.persistence or 0.0,
                self.steps(self.run.until),
            )
        except ProblemError as failure:
            raise ValueError(str(failure)) from None

    def _check_overlaps(self, start: OverlapStart) -> None:
        check_overlaps(start, self.network.width, self.data.units, self.training.spherical)
        M, Q = (np.array(given, dtype=float) for given in (start.M, start.Q))
        given = CommitteeStart(M, Q, canonical_layer(self.network))
        try:
            given.rest(self.data.teacher_overlap)
        except ProblemError as failure:
            raise ValueError(str(failure)) from None

    @property
    def time_step(self) -> float:
        """The learning rate."""
        return self.training.learning_rate

    @property
    def remedy(self) -> str:
        """A smaller step."""
        return f"lower training.learning_rate (try {self.training.learning_rate / 4:.2g})"
