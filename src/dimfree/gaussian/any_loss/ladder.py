"""By which rule averages of a loss are computed, and how well (docs/theory/losses.md, section 2).

Few fields are integrated over nested panels, many at fixed points. A rule depends on shapes and names alone, so that one
program serves all overlaps and all numbers of a loss.
"""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.label_law import Classes, Signs
from dimfree.functions.sample_loss import (
    AbsoluteLoss,
    CorrelationLoss,
    ExponentialLoss,
    HuberLoss,
    SquareLoss,
)
from dimfree.gaussian.any_loss.averages import Errors, averages, errors, is_linear, lengthened, sampled_fields
from dimfree.gaussian.any_loss.panels import REACH
from dimfree.gaussian.any_loss.plane import is_plane
from dimfree.gaussian.any_loss.points import Averaging, Points, Rule
from dimfree.gaussian.any_loss.posterior import is_sign_of_direction
from dimfree.gaussian.any_loss.preimages import limits
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.learner import LossLearner
from dimfree.gaussian.moments import GradientTerms
from dimfree.gaussian.points import normal_points
from dimfree.states.overlaps import Overlaps

MOST_NESTED = 3  # fields that are integrated over nested panels
_LINE, _PLANE, _SMOOTH, _SPACE = 14, 8, 7, 6  # nodes of a panel, by how many fields are left
_RAY, _CUT_RAY = 12, 24  # in the plane of two units, of half a wedge; the second where the error jumps
_ROUND = 10  # in a plane whose labels are values: noise rounds their jumps off over several panels
_POINTS, _CUT_POINTS = 2**14, 2**12  # fixed points; fewer where the last student of each has panels of its own
_CUT_NODES = 6
_LOOKS = 2**11  # of observables, which are averaged for every replica
SCRAMBLES = 4  # independent sets of fixed points, of which the error is estimated
ROUGH = 1e-4  # tolerance of solvers where averages jump as overlaps change
_BENT = 1e-5  # the same where they bend, as points begin or cease to see a jump of the error
_ROUNDED = 1e-6  # the same where points have single precision


class Quadrature(NamedTuple):
    """How the averages of a problem are computed, in words and numbers."""

    fields: int  # over which is integrated
    rule: Rule
    jumps: bool


def rung(points: int) -> str:
    """The words for so many fixed points; none of them, panels are nested."""
    return "fixed Sobol points" if points else "nested panels"


def task_of(model: LossLearner, norm: Float[Array, ""] | None) -> Task:
    """What the averages of a model depend on beside its overlaps."""
    return Task(model.activation, model.target, model.loss, model.labels, model.Delta, norm)


def quadrature(task: Task, width: int) -> Quadrature:
    """The best rule that a solver can afford."""
    students = 1 if is_linear(task) and task.norm is None else width
    fields = students + task.units - is_sign_of_direction(task)
    jumps = bool(task.loss.jumps) or task.norm is not None
    bent = jumps or bool(task.activation.kinks)
    if fields == 1:
        rule = Rule(_LINE)
    elif is_plane(task, students, Rule(_RAY)):
        rule = Rule(_CUT_RAY if jumps else _RAY)
    elif fields == 2:
        rule = Rule(_PLANE if isinstance(task.labels, Classes) else _ROUND)
    elif fields <= MOST_NESTED and not jumps:
        rule = Rule(_SPACE if bent else _SMOOTH)
    else:
        rule = Rule(_CUT_NODES, _CUT_POINTS if jumps else _POINTS)
    return Quadrature(fields, rule, bent)


def roughness(task: Task, width: int) -> float:
    """At fixed points averages jump or bend as fields move, by less than points are wrong: solvers need not follow that.

    They jump with the derivative of an activation that bends, and bend where errors of the loss jump; others are rounded.
    """
    if not quadrature(task, width).rule.sobol:
        return 0.0
    bent = _BENT if task.loss.jumps or task.norm is not None else _ROUNDED
    return ROUGH if task.activation.kinks else bent


def not_averaged(task: Task) -> str | None:
    """Why there are no averages of this loss, in one sentence."""
    if isinstance(task.labels, Classes):
        return None
    if task.norm is not None:
        return "training.clip norm is averaged for labels of ±1, and labels are values; use chain or sgd."
    loss = task.loss.inner if isinstance(task.loss, ClippedLoss) else task.loss
    closed = isinstance(loss, SquareLoss | AbsoluteLoss | HuberLoss) or isinstance(task.loss, CorrelationLoss)
    return (
        None
        if closed
        else f"the average of the {task.loss.name} loss over noisy values is not closed; use chain or sgd."
    )


def loss_terms(task: Task, state: Overlaps) -> GradientTerms:
    """All terms of the equations of overlaps, Psi^Var among them; the risk is looked at apart, at saved times."""
    p = state.a.shape[0]
    found = averages(task, state, quadrature(task, p).rule)
    H = found.D[:, :p]
    J = jnp.linalg.lstsq(state.covariance(task.target.P), found.D.T)[0].T  # section 1.1: never a derivative
    return GradientTerms(found.D[:, p:], H + H.T, found.Psia, J, jnp.zeros(()), (found.Var + found.Var.T) / 2)


def finite_variance(task: Task, state: Overlaps, dimension: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var with its terms of order 1/d, equation (1.4)."""
    rule = quadrature(task, state.a.shape[0]).rule
    return averages(task, state, rule).Var + lengthened(task, state, rule) / dimension


def loss_errors(task: Task, state: Overlaps) -> Errors:
    """The risk and the errors of classes, for saved times."""
    found = errors(task, state, _looking(task, state))
    if not isinstance(task.labels, Classes) or _clean(task.labels):
        return found
    signs = with_clean_labels(task)
    return found._replace(clean_error=errors(signs, state, _looking(signs, state)).clean_error)


def with_clean_labels(task: Task) -> Task:
    """The same task with the sign of f* itself as its label, of which the clean error is the test error."""
    return replace(task, labels=Signs(jnp.zeros(()), blurred=False))


def _clean(labels: Classes) -> bool:
    """Whether labels are signs of f* itself but for flips."""
    return isinstance(labels, Signs) and not labels.blurred


def _looking(task: Task, state: Overlaps) -> Rule:
    """The rule of observables, which are averaged for every replica."""
    made = quadrature(task, state.a.shape[0])
    return made.rule if made.fields < MOST_NESTED else Rule(_CUT_NODES, _LOOKS)


def bayes_error(task: Task) -> Float[Array, ""]:
    """The lowest test error that any rule has: the mean of the less likely class, over the directions of the target alone."""
    labels, none = task.labels, Overlaps(jnp.ones((1, 1)), jnp.zeros((1, task.units)), jnp.zeros(1))
    assert isinstance(labels, Classes)
    if _clean(labels):
        assert isinstance(labels, Signs)
        return labels.flip
    at = Averaging(task, none, Rule(_LINE, 0 if task.units < MOST_NESTED else _POINTS, all_fields=True), test=False)

    def terms(points: Points) -> Array:
        assert points.f_star is not None
        plus = labels.P_plus(points.f_star, task.Delta)
        return jnp.sum(points.weights * jnp.minimum(plus, 1 - plus))

    found: Array = at.sums(terms)
    return found


def points_of(task: Task, width: int) -> int:
    """About how many points one evaluation takes."""
    made = quadrature(task, width)
    panels = 5 + 2 * len(task.loss.jumps)
    return (made.rule.sobol or (4 * made.rule.nodes) ** (made.fields - 1)) * (
        1 if made.rule.sobol and not made.jumps else panels * made.rule.nodes
    )


def loss_seconds(task: Task, width: int) -> float:
    """Roughly what one evaluation costs, for predictions of cost."""
    made = quadrature(task, width)
    of_point = 1e-7 if made.jumps or not made.rule.sobol else 1e-8  # of single precision
    return 5e-5 + of_point * points_of(task, width) * (1 + 0.3 * width)


def estimated_error(task: Task, state: Overlaps) -> Float[Array, ""]:
    """How far averages are off, the worst of them: from a finer rule, or from independent fixed points."""
    rule = quadrature(task, state.a.shape[0]).rule
    if not rule.sobol:
        found, finer = averages(task, state, rule), averages(task, state, Rule(rule.nodes + 4))
        Var = jnp.where(jnp.isfinite(found.Var), jnp.abs(found.Var), 0.0)  # infinite for noise that has no variance
        return jnp.maximum(apart(found, finer), _beyond_reach(task, state) * jnp.max(Var))
    fields = sampled_fields(task, state, rule)
    points = jnp.asarray(np.stack([normal_points(fields, rule.sobol, i) for i in range(SCRAMBLES)]))
    return spread(jax.lax.map(lambda x: averages(task, state, rule, x), points))


def _beyond_reach(task: Task, state: Overlaps) -> Float[Array, ""]:
    """The share of E e² that lies beyond the ends of all panels, where e² grows as exp(2|f|) and f as the fields."""
    if not isinstance(task.loss, ExponentialLoss) or len(limits(task.activation)) == 2:
        return jnp.zeros(())
    tilt = 2 * jnp.mean(jnp.abs(state.a) * jnp.sqrt(jnp.diagonal(state.Q)))
    return ndtr(tilt - REACH)


def spread(found: tuple[Array, ...]) -> Float[Array, ""]:
    """The largest standard deviation of any finite average between independent points, along the first axis."""
    deviations = [jnp.where(jnp.isfinite(x[0]), jnp.std(x, axis=0, ddof=1), 0.0) for x in found]
    return jnp.max(jnp.stack([jnp.max(x) for x in deviations]))


def apart(one: tuple[Array, ...], other: tuple[Array, ...]) -> Float[Array, ""]:
    """The largest difference between any finite average by one rule and by another; Psi^Var may be infinite."""
    both = zip(one, other, strict=True)
    differences = [jnp.where(jnp.isfinite(x), jnp.abs(x - y), 0.0) for x, y in both]
    return jnp.max(jnp.stack([jnp.max(x) for x in differences]))
