"""The training rule."""

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from dimfree.problem.section import Section


class PowerDecay(Section):
    """The rate is learning_rate * (1 + t / scale)^(-exponent)."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["power"] = "power"
    scale: PositiveFloat = 1.0
    exponent: NonNegativeFloat = 0.5


class ExponentialDecay(Section):
    """The rate is learning_rate * exp(-t / scale)."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["exponential"] = "exponential"
    scale: PositiveFloat = 100.0


class Steps(Section):
    """The rate is learning_rate * factors[n] from times[n] on, and learning_rate before times[0]."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["steps"] = "steps"
    times: tuple[NonNegativeFloat, ...] = Field(min_length=1)
    factors: tuple[NonNegativeFloat, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "Steps":
        if len(self.times) != len(self.factors):
            raise ValueError(
                f"{len(self.times)} times and {len(self.factors)} factors were given; give one factor per time."
            )
        if any(right <= left for left, right in pairwise(self.times)):
            raise ValueError(f"times {list(self.times)} must increase strictly.")
        return self


Schedule = Annotated[PowerDecay | ExponentialDecay | Steps, Field(discriminator="kind")]


class OnePass(Section):
    """SGD that sees every sample once.

    Time is counted in units of the base learning rate: t = steps * learning_rate / (width * dimension), also while a
    schedule changes the rate. Both decays are per unit of that time. The second layer moves at
    second_layer_rate * learning_rate / dimension, so that both layers move on the same time scale.
    """

    title: ClassVar[str] = "[training]"
    kind: Literal["one-pass"] = "one-pass"
    learning_rate: PositiveFloat = 1.0
    schedule: Schedule | None = None
    batch: PositiveInt = 1
    second_layer_rate: NonNegativeFloat = 1.0
    weight_decay: NonNegativeFloat = 0.0
    second_layer_decay: NonNegativeFloat = 0.0
    spherical: bool = False
