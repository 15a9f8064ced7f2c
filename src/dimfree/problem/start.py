"""The section [start]: where training begins."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from dimfree.problem.matrix import Matrix, check_covariance
from dimfree.problem.section import Section


class GaussianStart(Section):
    """Independent weights of standard deviation `scale` (rows of norm about scale * sqrt(dimension))."""

    title: ClassVar[str] = "[start]"
    kind: Literal["gaussian"] = "gaussian"
    scale: PositiveFloat = 1.0  # standard deviation of a weight


class SphereStart(Section):
    """Rows uniform on the sphere of radius scale * sqrt(dimension)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["sphere"] = "sphere"
    scale: PositiveFloat = 1.0  # norm of a row over sqrt(dimension)


class OverlapStart(Section):
    """Explicit overlaps: Q between students (width x width), M between students and teachers (width x units)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["overlaps"] = "overlaps"
    Q: Matrix  # overlaps between students, width x width
    M: Matrix  # overlaps between students and teachers, width x units


def check_overlaps(start: OverlapStart, width: int, units: int, spherical: bool) -> None:
    """Complain unless the overlaps have the shapes of these networks, and Q belongs to weights that training can keep."""
    M = np.array(start.M, dtype=object)
    if M.shape != (width, units):
        raise ValueError(f"start.M has shape {M.shape}; it must be {width} x {units} (network.width x data.units).")
    check_covariance(np.array(start.Q, dtype=object), width, "start.Q")
    if spherical and not np.all(np.diag(np.array(start.Q, dtype=float)) > 0):
        raise ValueError(
            "start.Q has a unit of norm 0, which training.spherical = true cannot keep on a sphere; give norms above 0."
        )


class WeightsStart(Section):
    """Explicit weights from an .npz file with arrays W (width x dimension) and Wstar (units x dimension)."""

    title: ClassVar[str] = "[start]"
    kind: Literal["weights"] = "weights"
    file: Path  # an .npz file with arrays W and Wstar


Start = Annotated[GaussianStart | SphereStart | OverlapStart | WeightsStart, Field(discriminator="kind")]
