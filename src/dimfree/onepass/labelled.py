"""How labels follow from the output of a teacher: values with noise, or classes +1 and -1 (docs/theory/losses.md, section 0)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, model_validator

from dimfree.onepass.kind import DataSection
from dimfree.problem.noise_law import NoiseLaw, Student

VALUE = "value"
OF_OUTPUTS = ("argmax", "softmax")  # classes of a teacher with several outputs
_NOISE = 1e-3  # variance of the noise on values; classes have none by default


def default_noise(values: dict[str, Any]) -> float:
    """The variance of label noise where none is given."""
    return _NOISE if values.get("labels", VALUE) == VALUE else 0.0


class Labelled(DataSection):
    """Labels of a teacher with output f*: f* and noise, or signs.

    labels = "value": f* plus noise of variance `noise`; with noise_law = {student = 3.0} it has heavy tails, and `noise` is its
    squared scale. labels = "sign": the sign of f* plus Gaussian noise, the wrong one with probability `flip`. labels =
    "logistic": +1 with probability 1/(1 + exp(-slope f*)), else -1. Of a teacher with several outputs, labels = "argmax" is the
    number of the largest one, another one with probability `flip`; labels = "softmax" is drawn with probabilities proportional to
    exp(slope f*).
    """

    any_loss: ClassVar[bool] = True
    labels: Annotated[
        Literal["value", "sign", "logistic", "argmax", "softmax"], Field(exclude_if=lambda given: given == VALUE)
    ] = "value"
    flip: Annotated[float, Field(exclude_if=lambda given: given == 0)] = 0.0
    slope: Annotated[PositiveFloat, Field(exclude_if=lambda given: given == 1)] = 1.0
    noise_law: NoiseLaw = "gaussian"

    @classmethod
    def left_out(cls, values: dict[str, Any]) -> dict[str, Any]:
        """No noise by default for classes: noise before a sign would make probit labels."""
        defaults, data = super().left_out(values), values.get("data")
        if isinstance(data, dict) and data.get("labels", VALUE) != VALUE:
            return {**defaults, "data": {**defaults.get("data", {}), "noise": 0.0}}
        return defaults

    @model_validator(mode="after")
    def _labelled(self) -> "Labelled":
        if not 0 <= self.flip < 0.5:
            raise ValueError(f"flip must be at least 0 and below 0.5; got {self.flip:g} (swap the classes instead).")
        if self.flip and self.labels not in ("sign", "argmax"):
            raise ValueError(
                f'flip = {self.flip:g} is for labels = "sign" or "argmax", and labels are {self.labels!r}; leave it out.'
            )
        if self.slope != 1 and self.labels not in ("logistic", "softmax"):
            raise ValueError(
                f'slope = {self.slope:g} is for labels = "logistic" or "softmax", and labels are {self.labels!r}; leave it out.'
            )
        if self.noise and self.labels in ("logistic", "softmax"):
            raise ValueError(
                f'noise = {self.noise:g} does not go with labels = "{self.labels}", which are random by themselves; leave noise '
                "out, or lower slope."
            )
        if self.noise and self.labels == "argmax":
            raise ValueError(
                f'noise = {self.noise:g} on every output has no closed form for labels = "argmax"; leave noise out, and '
                'give flip, or labels = "softmax".'
            )
        if self.noise_law != "gaussian" and self.labels != VALUE:
            raise ValueError(f'noise_law is for labels = "value", and labels are {self.labels!r}; leave it out.')
        return self

    @property
    def signs(self) -> bool:
        """Whether labels are the classes +1 and -1."""
        return self.labels in ("sign", "logistic")

    @property
    def noise_without_mean(self) -> str | None:
        """Student noise of one degree of freedom or less."""
        law = self.noise_law
        return f"noise_law student = {law.student:g}" if isinstance(law, Student) and law.student <= 1 else None

    @property
    def beyond_square(self) -> str | None:
        """Say that labels are classes, or that noise has heavy tails; None if neither."""
        if self.signs:
            return "labels of ±1"
        if self.labels in OF_OUTPUTS:
            return "labels of several classes"
        return None if self.noise_law == "gaussian" else "Student noise"
