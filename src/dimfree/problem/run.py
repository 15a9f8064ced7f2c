"""How long, how often and with which seed."""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from dimfree.problem.section import Section


class Run(Section):
    """Until which time, how many replicas of the stochastic descriptions, how many saved times, which seed."""

    title: ClassVar[str] = "[run]"
    until: PositiveFloat = 500.0
    replicas: PositiveInt = 16
    seed: NonNegativeInt = 0
    points: int = Field(default=80, ge=2, le=100_000)
    spacing: Literal["log", "linear"] = "log"
