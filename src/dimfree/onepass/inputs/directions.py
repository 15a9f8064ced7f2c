"""Which way teachers point, seen from the eigenvectors of the covariance of the inputs."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from dimfree.problem.section import Section


class Directions(Section):
    """Teachers whose signal falls as rank^-power along the eigenvectors, with random signs; or the rows of a file.

    Either way they are then combined so that their preactivations have the overlaps that the problem says.
    """

    title: ClassVar[str] = "[data.directions]"
    power: float | None = None
    file: Path | None = None  # units x dimension, in the coordinates of the covariance

    @model_validator(mode="after")
    def _one_of_them(self) -> "Directions":
        if (self.power is None) == (self.file is None):
            raise ValueError("directions are given by power or by file; give one of the two, or 'random'.")
        return self


def _is_random(directions: object) -> bool:
    return directions == "random"


# Random directions are not written into files, and neither are isotropic inputs.
GivenDirections = Annotated[
    Literal["random"] | Directions, Field(exclude_if=_is_random, examples=["random", {"power": 2.0}])
]
