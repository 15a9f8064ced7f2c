"""Learning-rate schedules as they are written in a problem."""

from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

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
