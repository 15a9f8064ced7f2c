"""Whether a number that a reader of the course found is within the error bar of the right one.

The right values are in exercises.toml. The code under "Answer" in a chapter computes them; tests/docs/test_course.py runs it.
"""

import math
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, SupportsFloat

from dimfree.errors import ProblemError, suggest


class Exercise(NamedTuple):
    """What the table says of one exercise."""

    chapter: str  # the name of its file in docs/learn, without .md
    value: float
    error: float  # the largest distance from the value that counts as right
    hint: str


@dataclass(frozen=True, repr=False)
class Checked:
    """The answer to `check`: true if the number is right, and shown as one sentence."""

    right: bool
    sentence: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.sentence


@cache
def exercises() -> dict[str, Exercise]:
    """Every exercise of the course by its name."""
    table = tomllib.loads((Path(__file__).parent / "exercises.toml").read_text(encoding="utf-8"))
    return {name: Exercise(**row) for name, row in table.items()}


def check(exercise: str, answer: object) -> Checked:
    """Check the answer to an exercise: true or false, printed as a sentence that has a hint if the answer is wrong.

    Arguments:
        exercise: its name, as in the chapter
        answer: one number, or an array with one entry

        >>> import dimfree as df
        >>> df.check("noise-floor", 0.02)
        not yet: 0.02 is off by 0.0033, and 0.0001 is allowed; hint: at the end dR/dt = 0: solve (2 - γ) R = γΔ/2 for R.
    """
    known = exercises()
    if exercise not in known:
        raise ProblemError(f"the course has no exercise {exercise!r}; {suggest(exercise, known)}")
    if answer is ...:  # as it stands in a student's notebook
        return Checked(False, "not yet: put your number in the place of the three dots.")
    given, right = _number(exercise, answer), known[exercise]
    distance = abs(given - right.value)
    if distance <= right.error:
        return Checked(True, f"right: {given:.4g} is within {right.error:.2g} of the value {right.value:.6g}.")
    off = f"is off by {distance:.2g}" if math.isfinite(given) else "is no finite number"
    return Checked(False, f"not yet: {given:.4g} {off}, and {right.error:.2g} is allowed; hint: {right.hint}")


def _number(exercise: str, answer: object) -> float:
    """The answer as a float; one sentence if it is not one number."""
    one = answer.item() if getattr(answer, "size", None) == 1 and hasattr(answer, "item") else answer
    with suppress(TypeError):  # what an array with several entries raises
        if isinstance(one, SupportsFloat):
            return float(one)
    raise ProblemError(
        f"the answer to {exercise!r} must be one number, and {type(answer).__name__} was given; give a float."
    )
