"""The section [run]: how long, how often, with which seed."""

from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from dimfree.problem.section import Section


class Run(Section):
    """How long to train, how many replicas from how many starts, how many saved times, and the seed."""

    title: ClassVar[str] = "[run]"
    until: PositiveFloat = 500.0
    replicas: PositiveInt = 8
    seed: int = Field(default=0, ge=0, lt=2**63)  # seed of all random numbers; equal seeds give equal results
    points: int = Field(default=80, ge=2, le=100_000)
    spacing: Literal["log", "linear"] = "log"
    times: tuple[PositiveFloat, ...] | None = None  # instead of points and spacing; 0 is always saved too
    starts: PositiveInt = 1  # how many starts share the replicas

    @classmethod
    def spelled(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values with `until` set to the last of the given times."""
        match values.get("times"):
            case [*_, int() | float() as last]:
                return {"until": last, **values}
            case _:
                return values

    @model_validator(mode="after")
    def _in_order(self) -> "Run":
        if self.times is None:
            return self
        if not self.times or any(late <= early for early, late in pairwise(self.times)):
            raise ValueError("times must increase strictly, and there must be one at least.")
        if self.until != self.times[-1]:
            raise ValueError(
                f"until = {self.until:g} is not the last of times, {self.times[-1]:g}; leave one of them out."
            )
        return self

    @model_validator(mode="after")
    def _shared_out(self) -> "Run":
        if self.replicas % self.starts:
            raise ValueError(
                f"replicas = {self.replicas} cannot be shared out evenly to starts = {self.starts}; "
                f"set replicas to {self.starts * max(1, round(self.replicas / self.starts))}."
            )
        return self
