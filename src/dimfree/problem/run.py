"""How long, how often and with which seed."""

from typing import ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from dimfree.problem.section import Section


class Run(Section):
    """Until which time, how many replicas from how many starts, how many saved times, which seed."""

    title: ClassVar[str] = "[run]"
    until: PositiveFloat = 500.0
    replicas: PositiveInt = 16
    seed: int = Field(default=0, ge=0, lt=2**63)
    points: int = Field(default=80, ge=2, le=100_000)
    spacing: Literal["log", "linear"] = "log"
    starts: PositiveInt = 1  # how many starts the replicas are shared out to

    @model_validator(mode="after")
    def _shared_out(self) -> "Run":
        if self.replicas % self.starts:
            raise ValueError(
                f"replicas = {self.replicas} cannot be shared out evenly to starts = {self.starts}; "
                f"set replicas to {self.starts * max(1, round(self.replicas / self.starts))}."
            )
        return self
