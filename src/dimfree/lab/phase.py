"""The phase diagram of a problem as a part of the page."""

from dimfree.errors import DimfreeError
from dimfree.problem import Problem
from dimfree.questions.question import questions


def phase_of(problem: Problem) -> dict[str, object] | None:
    """The part {part: "phase", ...} for page/phase.js, with a sentence if the problem has no diagram; or None."""
    for question in questions():
        try:
            if drawn := question.plane_of(problem):
                return {"part": "phase", **drawn}
        except DimfreeError as why:
            return {"part": "phase", "sentence": str(why)}
    return None
