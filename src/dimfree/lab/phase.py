"""What questions about a problem show on the page: the phase diagram, and the answer as lines over one key."""

from dimfree.errors import DimfreeError
from dimfree.lab import parts
from dimfree.problem import Problem
from dimfree.questions.question import questions


def phase_of(problem: Problem) -> parts.Part | None:
    """The part {part: "phase", ...} for page/phase.js, with a sentence if the problem has no diagram; or None."""
    for question in questions():
        try:
            if drawn := question.plane_of(problem):
                return {"part": "phase", **drawn}
        except DimfreeError as why:
            return {"part": "phase", "sentence": str(why)}
    return None


def sketch_of(problem: Problem) -> parts.Part | None:
    """The part {part: "sketch", ...}: lines by the names of theories; None where no question has an answer of this form."""
    for question in questions():
        try:
            if drawn := question.sketch_of(problem):
                return parts.sketch(drawn)
        except DimfreeError:  # the question is not about this problem
            continue
    return None
