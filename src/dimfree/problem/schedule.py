"""Learning-rate schedules as they are written in a problem."""

from itertools import pairwise
from math import inf
from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from dimfree.problem.section import Section


class PowerDecay(Section):
    """The rate is learning_rate * top * (1 + t / scale)^(-exponent)."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["power"] = "power"
    scale: PositiveFloat = 1.0
    exponent: NonNegativeFloat = 0.5
    top: PositiveFloat = 1.0


class ExponentialDecay(Section):
    """The rate is learning_rate * top * exp(-t / scale)."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["exponential"] = "exponential"
    scale: PositiveFloat = 100.0
    top: PositiveFloat = 1.0


class Steps(Section):
    """The rate is learning_rate * factors[n] from times[n] on, and learning_rate before times[0]."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["steps"] = "steps"
    times: tuple[NonNegativeFloat, ...] = Field(min_length=1, examples=[[0.0, 100.0]])
    factors: tuple[NonNegativeFloat, ...] = Field(min_length=1, examples=[[1.0, 0.1]])

    @model_validator(mode="after")
    def _consistent(self) -> "Steps":
        _check_table(self.times, self.factors)
        return self


class LinearKnots(Section):
    """The rate is learning_rate * factors[n] at times[n], on straight lines between them, and constant outside."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["linear"] = "linear"
    times: tuple[NonNegativeFloat, ...] = Field(min_length=1, examples=[[0.0, 100.0]])
    factors: tuple[NonNegativeFloat, ...] = Field(min_length=1, examples=[[1.0, 0.1]])

    @model_validator(mode="after")
    def _consistent(self) -> "LinearKnots":
        _check_table(self.times, self.factors)
        return self


class WarmUpCosine(Section):
    """The rate rises from 0 to learning_rate * top until `warm_up`, then falls on a cosine to learning_rate * end at `until`."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["cosine"] = "cosine"
    until: PositiveFloat = Field(examples=[500.0])
    warm_up: NonNegativeFloat = 0.0
    top: PositiveFloat = 1.0
    end: NonNegativeFloat = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "WarmUpCosine":
        if self.warm_up >= self.until:
            raise ValueError(
                f"warm_up = {self.warm_up:g} leaves no time for the cosine, which ends at until = {self.until:g}; "
                "lower warm_up, or raise until."
            )
        return self


class HoldThenPower(Section):
    """The rate is learning_rate * top until `hold`, and learning_rate * top * (t / hold)^(-exponent) from then on."""

    title: ClassVar[str] = "[training.schedule]"
    kind: Literal["hold-power"] = "hold-power"
    hold: PositiveFloat = Field(examples=[100.0])
    exponent: NonNegativeFloat = 1.0
    top: PositiveFloat = 1.0


def _check_table(times: tuple[float, ...], factors: tuple[float, ...]) -> None:
    if len(times) != len(factors):
        raise ValueError(f"{len(times)} times and {len(factors)} factors were given; give one factor per time.")
    if any(right <= left for left, right in pairwise(times)):
        raise ValueError(f"times {list(times)} must increase strictly.")


Schedule = Annotated[
    PowerDecay | ExponentialDecay | Steps | LinearKnots | WarmUpCosine | HoldThenPower, Field(discriminator="kind")
]


def begins(schedule: Schedule | None) -> float:
    """The time until which the rate is 0; infinite if it is never anything else."""
    if not isinstance(schedule, Steps | LinearKnots):
        return 0.0
    first = next((n for n, factor in enumerate(schedule.factors) if factor > 0), None)
    if first is None:
        return inf if isinstance(schedule, LinearKnots) or schedule.times[0] == 0 else 0.0
    if isinstance(schedule, Steps):
        return schedule.times[first] if schedule.times[0] == 0 else 0.0
    return schedule.times[first - 1] if first else 0.0
