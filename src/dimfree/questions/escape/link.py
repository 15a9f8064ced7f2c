"""The link of a single-index target, and what it shares with the activation (docs/theory/committee.md, section 7)."""

import numpy as np

from dimfree.errors import ProblemError
from dimfree.functions import Activation, Polynomial, activation
from dimfree.gaussian.links import hermite_coefficients, information_exponent
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import second_layer
from dimfree.problem.activation import Hermite, Written


def shared_exponent(problem: OnePassProblem) -> int:
    """The lowest degree at which link and activation both have a Hermite component; an error when there is none.

    An activation with an offset has components of all degrees.
    """
    own = None if teacher_model(problem).offsets else activation(problem.network.activation)
    return information_exponent(link_of(problem), own)


def growing_side(problem: OnePassProblem) -> float | None:
    """The sign that an overlap near zero must have to grow under the gradient; None if overlaps of both signs shrink.

    The gradient moves m by l c_l b_l m^(l-1), so that at even degrees l the sign of c_l b_l decides, whatever the sign of m.
    """
    degree = shared_exponent(problem)
    own = float(second_layer(problem)[0]) * hermite_coefficients(problem.network.activation, degree + 1)[degree]
    side = float(np.sign(own * hermite_coefficients(label_of(problem), degree + 1)[degree]))
    return side if degree % 2 or side > 0 else None


def link_of(problem: OnePassProblem) -> Written:
    """The link of a target with one direction."""
    if isinstance(problem.data, Teacher):
        return one_function(problem.data)
    assert isinstance(problem.data, MultiIndex), "questions about links are about teachers and multi-index targets only"
    terms, coefficients = problem.data.expansion
    weights = np.zeros(max(term[0] for term in terms) + 1)
    for (degree,), weight in zip(terms, coefficients, strict=True):
        weights[degree] += weight
    return Hermite(hermite=tuple(weights.tolist()))


def one_function(data: Teacher) -> Written:
    """The activation of all units, which have no offsets."""
    if data.unlike or isinstance(data.activation, tuple):
        raise ProblemError(
            "the teacher's units have offsets or functions of their own, or a constant is added to the label; the question is "
            "about one link: leave out data.bias and data.constant, and give one data.activation."
        )
    return data.activation


def label_of(problem: OnePassProblem) -> Written | Activation:
    """The noiseless label as a function of a standard Gaussian: the link, with weight and norm of the teacher's unit."""
    data = problem.data
    if not isinstance(data, Teacher) or (data.second_layer in (1.0, (1.0,)) and problem.teacher_overlap[0, 0] == 1):
        return link_of(problem)
    (weight,), norm = np.atleast_1d(np.asarray(data.second_layer, dtype=float)), problem.teacher_overlap[0, 0] ** 0.5
    link = activation(one_function(data))
    if isinstance(link, Polynomial):
        return Polynomial(tuple(float(weight * c * norm**j) for j, c in enumerate(link.coefficients)), name=link.name)
    return lambda z: weight * link(norm * z)
