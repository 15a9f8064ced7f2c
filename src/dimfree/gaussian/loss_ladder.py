"""Averages of a loss that is not plain, whether a network has one output or several (docs/theory/losses.md, section 2)."""

from typing import NamedTuple

from jaxtyping import Array, Float

from dimfree.functions.label_law import OutputClasses
from dimfree.gaussian.any_loss import ladder as one
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.moments import GradientTerms
from dimfree.gaussian.outputs import ladder as several
from dimfree.gaussian.outputs.points import lattice
from dimfree.gaussian.outputs.taught import fields_left
from dimfree.states.overlaps import Overlaps


class Averaged(NamedTuple):
    """How averages over preactivations are computed (docs/theory/losses.md, section 2)."""

    rung: str  # the rung of the ladder, in words
    fields: int  # the number of fields that are integrated over
    nodes: int  # nodes per panel, or the number of all points
    jumps: bool  # whether anything that is averaged jumps or bends


def _has_several(task: Task) -> bool:
    return isinstance(task.labels, OutputClasses)


def loss_terms(task: Task, state: Overlaps) -> GradientTerms:
    """All terms of the equations of overlaps, Psi^Var among them."""
    return several.outputs_terms(task, state) if _has_several(task) else one.loss_terms(task, state)


def finite_variance(task: Task, state: Overlaps, dimension: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var with its terms of order 1/d."""
    return (several.outputs_variance if _has_several(task) else one.finite_variance)(task, state, dimension)


def roughness(task: Task, width: int) -> float:
    """How far averages may jump as overlaps change."""
    return (several.roughness if _has_several(task) else one.roughness)(task, width)


def not_averaged(task: Task) -> str | None:
    """Why there are no averages of this loss, in one sentence; several classes are always summed over."""
    return None if _has_several(task) else one.not_averaged(task)


def loss_seconds(task: Task, width: int) -> float:
    """Roughly what one evaluation costs."""
    return (several.outputs_seconds if _has_several(task) else one.loss_seconds)(task, width)


def estimated_error(task: Task, state: Overlaps) -> Float[Array, ""]:
    """The largest error of any average."""
    return (several.outputs_error if _has_several(task) else one.estimated_error)(task, state)


def averaged(task: Task, width: int) -> Averaged:
    """By which rung of the ladder averages are computed."""
    if _has_several(task):
        rule = several.rule_of(task, width)
        fields, nodes = fields_left(task, width), rule.sobol or rule.nodes
        if rule.step:
            return Averaged("lattice", fields, len(lattice(fields, rule.step)[1]), jumps=False)
        return Averaged(one.rung(rule.sobol), fields, nodes, jumps=False)
    made = one.quadrature(task, width)
    return Averaged(one.rung(made.rule.sobol), made.fields, made.rule.sobol or made.rule.nodes, made.jumps)
