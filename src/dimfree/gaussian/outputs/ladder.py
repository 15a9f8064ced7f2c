"""By which rule averages of several outputs are computed, and how well (docs/theory/losses.md, section 2)."""

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.label_law import Argmax, OutputClasses
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.ladder import ROUGH
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.moments import GradientTerms
from dimfree.gaussian.outputs.averages import Driving, Head, driving, mean_loss, wrong_share
from dimfree.gaussian.outputs.points import Rule
from dimfree.gaussian.outputs.taught import bends, fields_left, seen_at
from dimfree.gaussian.points import normal_points
from dimfree.states.overlaps import Overlaps, factor

_STEPS = {1: 0.05, 2: 0.2, 3: 0.4}  # steps of lattices, by how many fields are left
_NODES = {1: 20, 2: 14, 3: 7}  # nodes of panels
_SOBOL = Rule(sobol=2**14)
_COUNTED = Rule(sobol=2**12)  # the rule of observables, which are averaged for every replica
_FINER, _MORE = 0.8, 4  # the rule that a lattice, or panels, are compared with
_SCRAMBLES = 4


class Judged(NamedTuple):
    """The risk, and how often the largest output differs from the label as drawn, and from the teacher's largest output."""

    risk: Float[Array, ""]
    test_error: Float[Array, ""]
    clean_error: Float[Array, ""]


def head_of(task: Task, state: Overlaps) -> Head:
    """The network at a state."""
    return Head(task.activation, state.a, task.loss, task.norm)


def rule_of(task: Task, width: int) -> Rule:
    """The best rule that a solver can afford; labels that jump, and clipped gradients, are left to fixed points."""
    fields, bent = fields_left(task, width), any(bends(task, width, task.units))
    if fields not in _STEPS or isinstance(task.labels, Argmax) or task.norm is not None:
        return _SOBOL
    return Rule(nodes=_NODES[fields]) if bent else Rule(step=_STEPS[fields])


def roughness(task: Task, width: int) -> float:
    """At fixed points the derivative of an activation that bends jumps as fields move."""
    return ROUGH if rule_of(task, width).sobol and task.activation.kinks else 0.0


def outputs_driving(task: Task, state: Overlaps, rule: Rule) -> Driving:
    """Equation (1.5) for labels of a teacher."""
    return driving(head_of(task, state), seen_at(task, state, rule))


def outputs_terms(task: Task, state: Overlaps) -> GradientTerms:
    """All terms of the equations of overlaps; the risk is looked at apart, at saved times."""
    p = state.Q.shape[0]
    D, Var, PsiA = outputs_driving(task, state, rule_of(task, p))
    J = jnp.linalg.lstsq(state.covariance(task.target.P), D.T)[0].T
    return GradientTerms(D[:, p:], D[:, :p] + D[:, :p].T, PsiA, J, jnp.zeros(()), (Var + Var.T) / 2)


def outputs_variance(task: Task, state: Overlaps, dimension: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var with its terms of order 1/d, equation (1.4)."""
    rule = rule_of(task, state.Q.shape[0])
    exact = rule if rule.sobol or isinstance(task.labels, Argmax) else _SOBOL
    return driving(head_of(task, state), seen_at(task, state, exact, dimension=dimension)).Var


def outputs_risk(task: Task, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
    """E l(f, y); offsets move places at which activations bend, so that networks with them have fixed points."""
    rule = rule_of(task, state.Q.shape[0])
    if rule.sobol or bias is not None:
        rule = _COUNTED
    return mean_loss(head_of(task, state), seen_at(task, state, rule, bias=bias))


def outputs_judged(task: Task, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Judged:
    """Risk and errors, for saved times; what is counted jumps where two outputs are equal."""
    head, noiseless = head_of(task, state), replace(task, labels=Argmax(jnp.zeros(())))
    test, clean = (wrong_share(head, seen_at(one, state, _COUNTED, bias=bias)) for one in (task, noiseless))
    return Judged(outputs_risk(task, state, bias), test, clean)


def outputs_bayes(task: Task) -> Float[Array, ""]:
    """The lowest test error that any rule has: how often the most likely class of the teacher is not the label."""
    assert isinstance(task.labels, OutputClasses)
    if isinstance(task.labels, Argmax):
        return task.labels.flip
    k = task.units
    teachers = jnp.asarray(normal_points(k, _SOBOL.sobol)) @ factor(task.target.P, k).T
    return 1 - jnp.mean(jnp.max(task.labels.chances(task.target(teachers)), axis=-1))


def outputs_error(task: Task, state: Overlaps) -> Float[Array, ""]:
    """The largest error of any average: from a finer rule, or from independent fixed points."""
    rule = rule_of(task, state.Q.shape[0])
    if rule.sobol:
        rules = [Rule(sobol=rule.sobol, scramble=number) for number in range(_SCRAMBLES)]
        found = jax.tree.map(lambda *x: jnp.max(jnp.std(jnp.stack(x), axis=0, ddof=1)), *_all(task, state, rules))
    else:
        finer = Rule(step=_FINER * rule.step) if rule.step else Rule(nodes=rule.nodes + _MORE)
        found = jax.tree.map(lambda x, y: jnp.max(jnp.abs(x - y)), *_all(task, state, [rule, finer]))
    return jnp.max(jnp.stack(jax.tree.leaves(found)))


def outputs_seconds(task: Task, width: int) -> float:
    """Roughly what one evaluation costs, for predictions of cost."""
    assert isinstance(task.target, Committee), "a polynomial has one output"
    classes = task.target.second_layer.shape[0]
    rule, fields = rule_of(task, width), fields_left(task, width)
    points = rule.sobol or ((12 / rule.step) ** fields / 2 if rule.step else (3 * rule.nodes) ** fields)
    edges = classes * (classes - 1) / 2 if isinstance(task.labels, Argmax) else 1
    return 1e-4 + 2e-9 * points * classes * (width * (width + task.units) + 4 * edges)


def _all(task: Task, state: Overlaps, rules: list[Rule]) -> list[Driving]:
    return [outputs_driving(task, state, rule) for rule in rules]
