"""How many samples one-pass SGD needs for the same target, by its ODE (docs/theory/committee.md, section 7)."""

from typing import NamedTuple

from dimfree.onepass.problem import OnePassProblem
from dimfree.questions.escape.single import admissible_rate, predicted_time, single_exponent

_LOST = 0.5  # part of the risk that must be lost
_FAR = 0.7  # overlap up to which the growth of m is checked
_LONG = 1e9  # time after which the ODE counts as stuck


class Descent(NamedTuple):
    """The information exponent that link and activation share, the rate, and the samples per dimension that it takes."""

    exponent: int
    learning_rate: float
    samples: float

    @property
    def order(self) -> str:
        """How samples grow with the dimension."""
        return {1: "d", 2: "d log d"}.get(self.exponent, f"d^{self.exponent - 1}")


def descent(problem: OnePassProblem) -> Descent:
    """SGD from m = d^(-1/2) until half of the risk is lost, at half of the largest rate.

    The largest rate is where m stops growing, at the start or (exponent 1) later; half of it needs the fewest samples to escape.
    """
    exponent = single_exponent(problem)
    rate = 0.5 * min(admissible_rate(problem, start) for start in (1.0, _FAR * problem.dimension**0.5))
    here = problem.replace(**{"training.learning_rate": rate, "run.until": _LONG})
    return Descent(exponent, rate, predicted_time(here, _LOST) / rate)
