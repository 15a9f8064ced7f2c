"""The problem of a two-layer network on a data set: the same sections as with fresh samples, and `samples` of them.

docs/theory/committee-dmft.md, section 1, in words: samples is alpha, learning_rate eta, batch_fraction b, persistence tau,
weight_decay lambda, second_layer_rate eta_a, momentum beta.
"""

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from dimfree.dataset.committee.protocol import Protocol, check_protocol
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.problem import MultiPass
from dimfree.errors import ProblemError
from dimfree.problem.activation import Activation
from dimfree.problem.matrix import Matrix, check_covariance
from dimfree.problem.network import Scaling, TwoLayer, canonical_layer
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.schedule import Schedule
from dimfree.problem.section import Section
from dimfree.problem.start import GaussianStart, OverlapStart, SphereStart

_NOISE = 1e-3  # of values; classes have none unless it is asked for


def _default_noise(values: dict[str, Any]) -> float:
    return _NOISE if values.get("labels", "value") == "value" else 0.0


class DataSetTeacher(Section):
    """Gaussian inputs, labels from a teacher network of `units` hidden units plus label noise, `samples` of them per dimension.

    labels = "sign" are the sign of the teacher plus noise, the wrong one with probability `flip`; labels = "logistic" are +1 with
    probability 1/(1 + exp(-slope f*)) and else -1, f* being the output of the teacher. A single-index link is a teacher with one
    unit and the link as its activation.
    """

    title: ClassVar[str] = "[data]"
    kind: Literal["teacher"] = "teacher"
    samples: PositiveFloat = 2.0  # per dimension
    units: PositiveInt = 2
    activation: Activation = "erf"
    second_layer: float | tuple[float, ...] = 1.0
    overlap: Literal["orthonormal"] | Matrix = "orthonormal"
    scaling: Scaling = "mean"
    labels: Literal["value", "sign", "logistic"] = "value"
    flip: Annotated[float, Field(exclude_if=lambda given: given == 0)] = 0.0
    slope: Annotated[PositiveFloat, Field(exclude_if=lambda given: given == 1)] = 1.0
    noise: NonNegativeFloat = Field(default_factory=_default_noise)

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
        self._check_labels()
        if not np.any(self.second_layer):
            raise ValueError("the label is constant: second_layer is 0 for every unit, so there is nothing to learn.")
        return self

    def _check_labels(self) -> None:
        if not 0 <= self.flip < 0.5:
            raise ValueError(f"flip must be at least 0 and below 0.5; got {self.flip:g} (swap the classes instead).")
        for key, given, kind in (("flip", self.flip != 0, "sign"), ("slope", self.slope != 1, "logistic")):
            if given and self.labels != kind:
                raise ValueError(f'{key} is for labels = "{kind}", and labels are {self.labels!r}; leave it out.')
        if self.noise and self.labels == "logistic":
            raise ValueError(
                f'noise = {self.noise:g} does not go with labels = "logistic", which are random by themselves; leave noise out, '
                "or lower slope."
            )

    @property
    def teacher_overlap(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        """P, as it was given."""
        return np.eye(self.units) if self.overlap == "orthonormal" else np.array(self.overlap, dtype=float)


class NetworkMultiPass(MultiPass):
    """Training of a network that revisits a data set: each step takes learning_rate times the gradient summed over the batch.

    `batches`: "random" ones are drawn anew at every step, or stay with `persistence`; "cyclic" and "reshuffle" cut the data set
    into 1/batch_fraction groups, one after the other, which "reshuffle" draws anew in every epoch; "one-pass" uses every group
    once and "twice" two times in a row, then never again. `momentum` is the share of a velocity that is carried on (heavy ball).
    The second layer moves at second_layer_rate * learning_rate / dimension.
    """

    loss: Literal["logistic", "square", "smooth-hinge", "hinge", "huber", "absolute", "insensitive"] = "square"
    batches: Literal["random", "cyclic", "reshuffle", "one-pass", "twice"] = "random"
    momentum: float = Field(default=0.0, ge=0, lt=1)
    schedule: Schedule | None = None
    second_layer_rate: NonNegativeFloat = 1.0
    second_layer_decay: NonNegativeFloat | Literal["same"] = 0.0  # "same": that of the first layer

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
    data: DataSetTeacher = DataSetTeacher()
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
        if network.outputs > 1 or network.has_offsets:
            raise ValueError(
                "networks on a data set have one output and no offsets; leave out network.outputs and network.bias_start, and "
                "'bias' of network.trained."
            )
        if "first-layer" not in network.trained:
            raise ValueError("the first layer must learn on a data set; put 'first-layer' into network.trained.")
        if self.data.labels == "value" and self.training.loss in ("logistic", "hinge", "smooth-hinge"):
            raise ValueError(
                f'loss {self.training.loss!r} needs labels of ±1; set data.labels = "sign", or training.loss = "square".'
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
        p, k = self.network.width, self.data.units
        M = np.array(start.M, dtype=object)
        if M.shape != (p, k):
            raise ValueError(f"start.M has shape {M.shape}; it must be {p} x {k} (network.width x data.units).")
        check_covariance(np.array(start.Q, dtype=object), p, "start.Q")
        if self.training.spherical and not np.all(np.diag(np.array(start.Q, dtype=float)) > 0):
            raise ValueError(
                "start.Q has a unit of norm 0, which training.spherical = true cannot keep on a sphere; give norms above 0."
            )
        given = CommitteeStart(M.astype(float), np.array(start.Q, dtype=float), canonical_layer(self.network))
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
