"""Averages of losses that jump change smoothly with the overlaps, so that an adaptive solver is not held up by its points.

docs/theory/losses.md, section 2: labels that jump from point to point make right-hand sides jump, and steps tiny.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import dimfree as df
from dimfree.gaussian.any_loss import ladder
from dimfree.gaussian.any_loss.points import Rule
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.model import model
from dimfree.onepass.start import draw_start

UNTIL, ALLOWED = 1.5, 1.3
ERF = {"width": 2, "activation": "erf", "second_layer": "trained", "second_layer_start": [2.0, -1.0]}
CASES = {
    "perceptron": ({"activation": "linear"}, {"width": 1, "activation": "linear"}, 0.0),
    "hinge, nested panels": ({"activation": "erf"}, ERF, 0.5),
    "hinge, fixed points": ({"activation": "erf", "units": 2}, ERF, 0.5),
}


def steps(problem, monkeypatch, finer=None) -> int:
    """How many the solver takes, rejected ones among them; each has the same number of evaluations."""
    one, m, chosen = df.theories.HighDimensional(), model(problem), ladder.quadrature
    with monkeypatch.context() as patch:
        if finer:
            patch.setattr(ladder, "quadrature", lambda *at: chosen(*at)._replace(rule=finer(chosen(*at).rule)))

        @eqx.filter_jit
        def solved(m, state):
            return diffrax.diffeqsolve(
                diffrax.ODETerm(lambda t, y, args: one.velocity(args, jnp.asarray(t), y)),
                one.solver(m, state),
                *(0.0, UNTIL, None, state, m),
                stepsize_controller=one.controller(m, jnp.asarray(UNTIL)),
                max_steps=2000,
            ).stats["num_steps"]

        return int(solved(m, one.initial(m, draw_start(problem, jax.random.key(1), vectors=False))))


def chosen_rule(problem) -> Rule:
    m = model(problem)
    return ladder.quadrature(m.task, m.width).rule


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_solver_takes_no_more_steps_than_with_many_more_points(case, monkeypatch):
    data, network, margin = CASES[case]
    problem = df.Problem(
        dimension=400,
        data={"kind": "teacher", "units": 1, "labels": "sign", "flip": 0.1, **data},
        network=network,
        training={"learning_rate": 1.0, "loss": {"kind": "hinge", "margin": margin}},
        run={"until": UNTIL},
    )
    finer = steps(problem, monkeypatch, lambda rule: Rule(rule.nodes + 6, 4 * rule.sobol))
    assert steps(problem, monkeypatch) <= ALLOWED * finer


@pytest.mark.slow
def test_a_solver_takes_no_more_steps_with_points_of_single_precision_than_with_nested_panels(monkeypatch):
    """At the tolerance that rounding allows; at that of panels it would follow the rounding, in 221 steps instead of 10."""
    problem = df.Problem(
        dimension=400,
        data={"kind": "teacher", "units": 2, "activation": "erf", "labels": "sign"},
        network=ERF,
        training={"learning_rate": 1.0, "loss": "logistic"},
        run={"until": UNTIL},
    )
    assert not chosen_rule(problem).sobol
    at_panels = steps(problem, monkeypatch)
    monkeypatch.setattr(TargetModel, "roughness", ladder._ROUNDED)
    nested, fixed = (steps(problem, monkeypatch, lambda rule, n=n: Rule(rule.nodes, n)) for n in (0, 2**12))
    assert fixed <= ALLOWED * nested
    assert fixed <= ALLOWED * at_panels
