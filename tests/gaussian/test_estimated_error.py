"""Estimated errors of averages at fixed points, held against true ones."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions.label_law import GaussianValues, LogisticClasses, Signs
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import ExponentialLoss, HingeLoss, LogisticLoss, SquareLoss
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss import points
from dimfree.gaussian.any_loss.averages import averages, sampled_fields
from dimfree.gaussian.any_loss.ladder import apart, estimated_error, quadrature
from dimfree.gaussian.any_loss.points import Rule
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.points import normal_points
from dimfree.gaussian.variance.ladder import variance
from dimfree.states.overlaps import Overlaps

TERMS = eqx.filter_jit(gradient_terms)
AVERAGES, ESTIMATE = eqx.filter_jit(averages), eqx.filter_jit(estimated_error)
TOO_SMALL, TOO_LARGE = 3.0, 10.0  # by which factors an estimate may be off for one set of points
SETS, ROUGHLY = range(200, 208), 3.0  # independent sets of points, and the same for the root mean square over them


class _Learner(eqx.Module):
    activation: eqx.Module
    target: Committee
    Delta: jnp.ndarray
    dimension: jnp.ndarray
    width: int = eqx.field(static=True)
    units: int = eqx.field(static=True)


def problem(name, p, k, loss, labels, Delta, seed):
    W = np.random.default_rng(seed).normal(size=(p + k, 20))
    Omega, sigma = jnp.asarray(W @ W.T / 20), activation(name)
    state = Overlaps(Omega[:p, :p], Omega[:p, p:], jnp.linspace(0.8, 1.4, p))
    target = Committee(activation("erf"), jnp.linspace(1.1, 0.7, k), Omega[p:, p:])
    return Task(sigma, target, loss, labels, jnp.asarray(Delta)), state


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_fixed_points_is_known_without_jumps(seed):
    """The closed form of the square loss is the truth: equation (2.1) of docs/theory/committee.md."""
    task, state = problem("erf", 2, 2, SquareLoss(), GaussianValues(), 0.2, seed)
    learner = _Learner(task.activation, task.target, task.Delta, jnp.asarray(100.0), 2, 2)
    terms, Var = TERMS(learner, state), variance(learner, state)
    rule = quadrature(task, 2).rule
    assert rule.sobol
    found = AVERAGES(task, state, rule)
    H = found.D[:, :2]
    off = apart((found.D[:, 2:], (H + H.T) / 2, found.Var, found.Psia), (terms.PsiM, terms.PsiGF / 2, Var, terms.Psia))
    estimate = ESTIMATE(task, state)
    assert off / TOO_SMALL < estimate < TOO_LARGE * off
    fields = sampled_fields(task, state, rule)
    others = [AVERAGES(task, state, rule, jnp.asarray(normal_points(fields, rule.sobol, i))) for i in SETS]
    pairs = [(one.D[:, 2:] - terms.PsiM, one.Var - Var, one.Psia - terms.Psia) for one in others]
    usual = max(float(jnp.max(jnp.sqrt(jnp.mean(jnp.stack(each) ** 2, axis=0)))) for each in zip(*pairs, strict=True))
    assert usual / ROUGHLY < estimate < ROUGHLY * usual


STEEP = {  # weights, second layer and slopes that are large, and labels that are nearly certain
    "logistic": (LogisticLoss(), Signs(jnp.asarray(0.1), blurred=False), 0.0, 1.0),
    "logistic, large outputs": (LogisticLoss(), Signs(jnp.asarray(0.0), blurred=False), 0.0, 50.0),
    "exponential": (ExponentialLoss(), Signs(jnp.asarray(0.0), blurred=False), 0.0, 2.0),
    "sharp probit": (LogisticLoss(), Signs(jnp.asarray(0.0), blurred=True), 1e-4, 1.0),
    "logistic labels": (LogisticLoss(), LogisticClasses(jnp.asarray(30.0)), 0.0, 1.0),
    "square of values": (SquareLoss(), GaussianValues(), 0.2, 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", STEEP)
def test_rounding_to_single_precision_is_far_below_the_error_of_fixed_points(case, monkeypatch):
    loss, labels, Delta, scale = STEEP[case]
    task, state = problem("erf", 2, 4, loss, labels, Delta, 5)
    state = Overlaps(state.Q, state.M, scale * state.a)
    rule = quadrature(task, 2).rule
    assert rule.sobol
    assert not loss.jumps
    single, estimate = AVERAGES(task, state, rule), float(ESTIMATE(task, state))
    monkeypatch.setattr(points, "in_single_precision", lambda numbers: numbers)
    double = eqx.filter_jit(partial(averages, task))(state, rule)  # traced anew
    largest = max(float(jnp.max(jnp.abs(x))) for x in double)
    assert 0 < apart(single, double) < min(1e-6 * largest, 0.05 * estimate)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_fixed_points_is_known_where_errors_jump(seed):
    """The mean over eight times as many independent points, with three times the nodes along the last student, is the truth."""
    hinge = HingeLoss(jnp.asarray(0.5))
    task, state = problem("erf", 2, 2, hinge, Signs(jnp.asarray(0.1), blurred=False), 0.0, seed)
    rule = quadrature(task, 2).rule
    fine = Rule(3 * rule.nodes, 2 * rule.sobol)
    many = [jnp.asarray(normal_points(sampled_fields(task, state, fine), fine.sobol, 100 + i)) for i in range(4)]
    found = [AVERAGES(task, state, fine, x) for x in many]
    off = apart(AVERAGES(task, state, rule), jax.tree.map(lambda *x: sum(x) / len(x), *found))
    assert off / TOO_SMALL < ESTIMATE(task, state) < TOO_LARGE * off
