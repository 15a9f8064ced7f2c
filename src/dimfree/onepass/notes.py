"""What else `dimfree show` says about a one-pass problem."""

from dimfree.gaussian.variance.ladder import variance_method
from dimfree.onepass.limits.staircases import said_of_derivatives, said_of_staircase
from dimfree.onepass.model import HypercubeModel, TeacherModel, model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import Hypercube

_METHODS = {
    "erf": "in closed form",
    "square": "in closed form",
    "relu": "in closed form",
    "product": "by a product quadrature, exactly",
    "smooth": "by a quadrature that follows the overlaps, with an error estimate",
    "sampled": "from sampled points, with an error estimate",
}


def remark(problem: OnePassProblem) -> str | None:
    """How the variance of a step is computed, which decides what equations cost and how exact they are; what can be learned."""
    found = model(problem)
    if isinstance(found, HypercubeModel) and isinstance(problem.data, Hypercube):
        said = (said_of_staircase(problem.data), *said_of_derivatives(problem, found))
        return " ".join(one[0].upper() + one[1:] for one in said)
    if not isinstance(found, TeacherModel):
        return None
    return f"The variance of the steps is computed {_METHODS[variance_method(found)]} (docs/accuracy.md)."
