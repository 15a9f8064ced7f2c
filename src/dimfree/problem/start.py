"""The section [start]: where training begins."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat

from dimfree.problem.matrix import Matrix
from dimfree.problem.section import Section


class GaussianStart(Section):
    """Independent weights of standard deviation `scale` (rows of norm about scale * sqrt(dimension))."""

    title: ClassVar[str] = "[start]"
    kind: Literal["gaussian"] = "gaussian"
    scale: PositiveFloat = 1.0


class SphereStart(Section):
    """Rows uniform on the sphere of radius scale * sqrt(dimension)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["sphere"] = "sphere"
    scale: PositiveFloat = 1.0


class OverlapStart(Section):
    """Explicit overlaps: Q between students (width x width), M between students and teachers (width x units)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["overlaps"] = "overlaps"
    Q: Matrix
    M: Matrix


class WeightsStart(Section):
    """Explicit weights from an .npz file with arrays W (width x dimension) and Wstar (units x dimension)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["weights"] = "weights"
    file: Path


Start = Annotated[GaussianStart | SphereStart | OverlapStart | WeightsStart, Field(discriminator="kind")]
