"""What else `dimfree show` says about a one-pass problem."""

from dimfree.gaussian.variance.ladder import variance_method
from dimfree.onepass.model import TeacherModel, model
from dimfree.onepass.problem import OnePassProblem

_METHODS = {
    "erf": "in closed form",
    "square": "in closed form",
    "relu": "in closed form",
    "product": "by a product quadrature, exactly",
    "smooth": "by a quadrature that follows the overlaps, with an error estimate",
    "sampled": "from sampled points, with an error estimate",
}


def remark(problem: OnePassProblem) -> str | None:
    """How the variance of a step is computed, which decides what the equations cost and how exact they are."""
    found = model(problem)
    if not isinstance(found, TeacherModel):
        return None
    return f"The variance of the steps is computed {_METHODS[variance_method(found)]} (docs/accuracy.md)."
