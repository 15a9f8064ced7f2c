"""Shapes of the learning rate that scaling laws are compared for (docs/theory/scaling.md, section 4)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError, suggest

Vector = Float[np.ndarray, " _"]
DECAY: Final = 0.2  # the share of all steps over which "wsd" falls to 0
POWER: Final = 0.5

SHAPES: dict[str, Callable[[Vector, Vector, float, float], Vector]] = {
    "constant": lambda r, done, decay, power: np.ones_like(r),
    "cosine": lambda r, done, decay, power: (1 + np.cos(np.pi * done)) / 2,
    "linear": lambda r, done, decay, power: 1 - done,
    "wsd": lambda r, done, decay, power: np.minimum(1.0, (1 - done) / decay),
    "power": lambda r, done, decay, power: (1 + r) ** -power,
}


def rates(shape: str, steps: int, decay: float = DECAY, power: float = POWER) -> Vector:
    """The rate of every step over the base rate."""
    if shape not in SHAPES:
        raise ProblemError(f"schedule = {shape!r} was given; {suggest(shape, SHAPES)}")
    r = np.arange(float(steps))
    return SHAPES[shape](r, r / steps, decay, power)
