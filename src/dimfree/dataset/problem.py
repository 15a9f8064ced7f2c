"""The problem of multi-pass SGD on a finite data set: clusters or a teacher, a linear network, batches that are revisited.

docs/theory/dmft.md, section 1, in words: samples is alpha, variance Delta, learning_rate eta, batch_fraction b, persistence
tau, weight_decay lambda, overlap m_0 and the start's variance c_0.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from dimfree.dataset.features import Covariates, GivenOutliers, RandomFeatures, Table
from dimfree.errors import deprecated
from dimfree.problem.problem import Problem
from dimfree.problem.run import Run
from dimfree.problem.section import Section


class _DataSet(Section):
    title: ClassVar[str] = "[data]"
    samples: PositiveFloat = 2.0  # per dimension


class TwoClusters(_DataSet):
    """Two Gaussian clusters at +v/sqrt(d) and -v/sqrt(d) with variance `variance`; the label is the cluster."""

    kind: Literal["two-clusters"] = "two-clusters"
    variance: PositiveFloat = 0.5


class ThreeClusters(_DataSet):
    """A third cluster at 0 has label -1, both outer ones +1; the network says +1 where |h| exceeds `threshold`."""

    kind: Literal["three-clusters"] = "three-clusters"
    samples: PositiveFloat = 3.0
    variance: PositiveFloat = 0.05
    threshold: PositiveFloat = 0.7
    middle_fraction: float = Field(default=0.5, gt=0, lt=1)  # the part of the samples in the middle cluster

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """`door` and `middle` are former names."""
        former = {"door": "threshold", "middle": "middle_fraction"}
        for key in former.keys() & values.keys():
            deprecated(f"data.{key}", f"data.{former[key]}")
        return {former.get(key, key): value for key, value in values.items()}


class LinearTeacher(_DataSet):
    """Gaussian inputs and the label w*.x/sqrt(d) plus noise of variance `noise`; `outliers` follow another law."""

    kind: Literal["linear-teacher"] = "linear-teacher"
    noise: NonNegativeFloat = 0.0
    outliers: GivenOutliers = None


class SignTeacher(_DataSet):
    """Gaussian inputs and the sign of w*.x/sqrt(d), plus noise of variance `noise` before the sign, as label."""

    kind: Literal["sign-teacher"] = "sign-teacher"
    noise: NonNegativeFloat = 0.0  # variance of the noise before the sign


class PhaseRetrieval(_DataSet):
    """Gaussian inputs; |w*.x|/sqrt(d) is known and its sign is not; the loss is `scale` times (y² - h²)²."""

    kind: Literal["phase-retrieval"] = "phase-retrieval"
    samples: PositiveFloat = 4.0
    noise: NonNegativeFloat = 0.0
    scale: PositiveFloat = 0.25


def _is_one(width: object) -> bool:
    """Leave out widths at their default, so that problems keep the digest that they had before these losses existed."""
    return width == 1.0


class MultiPass(Section):
    """SGD that revisits a data set: each step takes learning_rate times the gradient summed over the batch.

    A sample is in the batch with probability `batch_fraction`: drawn anew at every step, or with `persistence` staying
    outside for that time on average. With gradient = "mean" the sum is divided by batch_fraction. Time is
    t = steps * learning_rate; `temperature` adds Langevin noise.
    """

    title: ClassVar[str] = "[training]"
    kind: Literal["multi-pass"] = "multi-pass"
    learning_rate: PositiveFloat = 0.2
    loss: Literal["logistic", "square", "smooth-hinge", "hinge", "huber", "absolute", "insensitive"] = "logistic"
    smoothing: PositiveFloat = 1.0  # the width over which loss = "smooth-hinge" is rounded
    threshold: Annotated[PositiveFloat, Field(exclude_if=_is_one)] = (
        1.0  # loss = "huber" is linear for larger residuals
    )
    tube: Annotated[PositiveFloat, Field(exclude_if=_is_one)] = 1.0  # loss = "insensitive" is 0 for smaller residuals
    batch_fraction: float = Field(default=1.0, gt=0, le=1)
    persistence: PositiveFloat | None = None
    gradient: Literal["sum", "mean"] = "sum"
    weight_decay: NonNegativeFloat = 0.0
    temperature: NonNegativeFloat = 0.0
    spherical: bool = False

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """A loss may be a table of its kind and its width, as in one-pass training."""
        loss = values.get("loss")
        if not isinstance(loss, dict):
            return values
        table = {("loss" if key == "kind" else key): value for key, value in loss.items()}
        return {key: value for key, value in values.items() if key != "loss"} | table

    @property
    def width(self) -> float:
        """The number that the loss reads."""
        return {"smooth-hinge": self.smoothing, "huber": self.threshold, "insensitive": self.tube}.get(self.loss, 1.0)


class AlignedStart(Section):
    """Weights with overlap w.v/d = `overlap` along v, the direction of the data, and |w|²/d = `variance` in all others."""

    title: ClassVar[str] = "[start]"
    kind: Literal["aligned"] = "aligned"
    overlap: float = 0.0
    variance: NonNegativeFloat = 1.0


DataSet = Annotated[
    TwoClusters | ThreeClusters | LinearTeacher | SignTeacher | PhaseRetrieval | Covariates | RandomFeatures | Table,
    Field(discriminator="kind"),
]


class DataSetProblem(Problem):
    """Everything that decides what multi-pass SGD will do; `dimension` is that of the simulation."""

    time_units: ClassVar[str] = "steps * learning_rate"
    shares_start: ClassVar[bool] = False
    data: DataSet = TwoClusters()
    training: MultiPass = MultiPass()
    start: AlignedStart = AlignedStart()
    run: Run = Run(until=16.0, spacing="linear")

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Labels of a linear teacher are real numbers, for which the square loss is the usual one."""
        data = values.get("data")
        linear = (LinearTeacher.model_fields["kind"].default, "linear")
        real = isinstance(data, dict) and (data.get("kind") in linear or data.get("labels") in linear)
        return {"training": {"loss": "square"}} if real else {}

    @model_validator(mode="after")
    def _own_starts(self) -> "DataSetProblem":
        if self.run.starts > 1:
            raise ValueError(
                f"run.starts = {self.run.starts}, but every replica on a data set has a start and data of its own; "
                "leave run.starts out."
            )
        return self

    @model_validator(mode="after")
    def _leaves_the_origin(self) -> "DataSetProblem":
        if self.start.overlap or self.start.variance:
            return self
        if self.training.spherical:
            raise ValueError(
                "start.overlap and start.variance are 0, and training.spherical = true keeps that norm, so that nothing is "
                "learned; give one that is not 0."
            )
        if isinstance(self.data, ThreeClusters | PhaseRetrieval) and not self.training.temperature:
            raise ValueError(
                f"start.overlap and start.variance are 0, where no gradient of data.kind = {self.data.kind!r} acts, so that "
                "nothing is learned; give one that is not 0."
            )
        return self

    @property
    def time_step(self) -> float:
        """A step takes the time learning_rate."""
        return self.training.learning_rate

    @property
    def remedy(self) -> str:
        """Recommend a smaller step."""
        return f"lower training.learning_rate (try {self.training.learning_rate / 4:.2g})"
