"""Shapes of the learning rate that scaling laws are compared for (docs/theory/scaling.md, section 4)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError, suggest
from dimfree.problem.schedule import LinearKnots, Schedule, WarmUpCosine

Vector = Float[np.ndarray, " _"]
DECAY: Final = 0.2  # the share of all steps over which "wsd" (warm-up-stable-decay) falls to 0
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


def mean_rate(shape: str, first: int, count: int, steps: int) -> float:
    """The rate half way through `count` steps from `first` on, in a run of so many, over the base rate."""
    r = np.array([first + (count - 1) / 2])
    return float(SHAPES[shape](r, r / steps, DECAY, POWER)[0])


def written(shape: str, until: float) -> Schedule | None:
    """The same as it is written in a problem whose run ends at this time."""
    match shape:
        case "constant":
            return None
        case "cosine":
            return WarmUpCosine(until=until)
        case "linear":
            return LinearKnots(times=(0.0, until), factors=(1.0, 0.0))
        case _:
            return LinearKnots(times=((1 - DECAY) * until, until), factors=(1.0, 0.0))
