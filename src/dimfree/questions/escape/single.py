"""One unit and one direction on the sphere, started at the overlap m = start d^(-1/2): exponent, exit of the ODE, largest rate.

docs/theory/committee.md, section 7.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from dimfree.errors import ProblemError
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional, OverlapEquations
from dimfree.onepass.limits.scope import not_derived
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import second_layer
from dimfree.questions.escape.link import growing_side, shared_exponent
from dimfree.questions.exit_times.event import exit_events
from dimfree.states.overlaps import Overlaps


def is_single(problem: OnePassProblem) -> bool:
    """Whether the problem is one unit that learns one direction on the sphere."""
    alone = problem.data.units == problem.network.width == 1 and problem.training.spherical
    return alone and not_derived(teacher_model(problem)) is None


def single_exponent(problem: OnePassProblem) -> int:
    """The information exponent of such a problem; any other is an error."""
    if is_single(problem):
        return shared_exponent(problem)
    raise ProblemError(
        f"width {problem.network.width}, {problem.data.units} directions and spherical = {problem.training.spherical} were "
        "given; the scaling is for one unit and one direction on the sphere, without offsets and noise on the weights."
    )


def beginning(problem: OnePassProblem, start: float, count: int) -> Overlaps:
    """The overlap start d^(-1/2), for every replica, with the sign that lets it grow."""
    a, side = jnp.broadcast_to(second_layer(problem), (count, 1)), growing_side(problem) or 1.0
    return Overlaps(jnp.ones((count, 1, 1)), jnp.full((count, 1, 1), side * start * problem.dimension**-0.5), a)


def predicted_time(problem: OnePassProblem, threshold: float, start: float = 1.0) -> float:
    """The exit of the ODE; infinite when it does not leave before run.until."""
    ode, first = HighDimensional(rtol=1e-6, atol=1e-10), beginning(problem, start, 1)
    return float(exit_events(teacher_model(problem), first, threshold, problem.run.until, ode)[0])


def admissible_rate(problem: OnePassProblem, start: float = 1.0) -> float:
    """The learning rate at which the variance of the steps stops the growth of m; an error where m shrinks at any rate."""
    if why := shrinks(problem):
        raise ProblemError(f"no learning rate lets the overlap grow: {why}.")
    gamma, first = problem.training.learning_rate, jax.tree.map(lambda x: x[0], beginning(problem, start, 1))
    drift, slowed = (
        float(_velocity(equations, teacher_model(problem), first).M[0, 0])
        for equations in (GradientFlow(), HighDimensional())
    )
    rate = gamma * drift / (drift - slowed)
    if rate > 0:
        return rate
    raise ProblemError(
        f"no learning rate lets the overlap m = {float(first.M[0, 0]):.2g} grow: there the gradient leads back to zero; "
        "choose another activation."
    )


def shrinks(problem: OnePassProblem) -> str | None:
    """Why overlaps near zero shrink at any learning rate; None where they grow."""
    if growing_side(problem) is not None:
        return None
    return (
        f"label and network have opposite signs at degree {shared_exponent(problem)}, the lowest that they share, so that "
        "the gradient leads back to zero; change the sign of the second layer"
    )


@eqx.filter_jit
def _velocity(equations: OverlapEquations, model: TeacherModel, start: Overlaps) -> Overlaps:
    return equations.velocity(model, jnp.zeros(()), start)
