"""Advice for a user's own table: the best ridge, as the argument of scikit-learn for the table's columns.

dimfree's rows are v/sqrt(d), and its sum of losses has the ridge (lambda/2)|w|². On rows v the same learner has weights
w/sqrt(d), and the ridge lambda d (docs/theory/static.md, section 0).
"""

from typing import NamedTuple

from dimfree.dataset.ends.diagnosis import no_gaussian_teacher
from dimfree.dataset.ends.end_model import EndModel
from dimfree.dataset.ends.optimal_ridge import SEARCHED, Best
from dimfree.dataset.ends.table import DIGITS
from dimfree.dataset.features import Table
from dimfree.dataset.problem import DataSetProblem

_EDGE = 1.001  # a best ridge this near to an end of the search may lie beyond it


class Learner(NamedTuple):
    """A class of scikit-learn, its argument that sets the ridge, and whether that is one over the ridge."""

    name: str
    argument: str
    inverse: bool

    def number(self, problem: DataSetProblem, ridge: float) -> float:
        """The argument for rows that are not divided by sqrt(d)."""
        return 1 / (ridge * problem.dimension) if self.inverse else ridge * problem.dimension


LEARNERS = {
    "square": Learner("Ridge", "alpha", False),
    "logistic": Learner("LogisticRegression", "C", True),
    "hinge": Learner("LinearSVC", "C", True),
    "absolute": Learner("LinearSVR", "C", True),
}


def advice(problem: DataSetProblem, model: EndModel, samples: float, best: Best, given: float) -> str:
    """The best ridge at a number of samples per feature, its error and that of the given ridge, and the call that sets it."""
    ridge, risk, rows = float(best.lambda_[-1]), float(best.risk[-1]), round(samples * problem.dimension)
    own = problem.training.weight_decay
    said = (
        f"Best ridge for {rows} rows, in theory: {ridge:.3g}, with error {risk:.4f} "
        f"(the ridge {own:g} of this curve: {given:.4f})."
    )
    learner = LEARNERS.get(problem.training.loss)
    if learner is not None:
        call = f"{learner.name}({learner.argument}={learner.number(problem, ridge):.3g}, fit_intercept=False)"
        said += f" In scikit-learn, on the centred {columns(problem)}: {call}."
    if no_gaussian_teacher(model):
        return f"{said} Cross-validate around it: no Gaussian teacher produces these labels, so the theory is a rough guide."
    if not SEARCHED[0] * _EDGE < ridge < SEARCHED[1] / _EDGE:
        said += (
            f" The search ends there (it goes from {SEARCHED[0]:g} to {SEARCHED[1]:g}): a ridge beyond may be better."
        )
    return said


def columns(problem: DataSetProblem) -> str:
    """How a sentence names the features of a user's table."""
    data = problem.data
    assert isinstance(data, Table)
    if data.activation is not None:
        return "random features"
    return "pixels / 16" if str(data.features) == DIGITS and data.labels is None else "columns of the table"
