"""Claims of the figure of momentum: true of a rate and of second order, false when an ingredient is wrong."""

import equinox as eqx
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.momentum import BETAS, RATE, SIZES, THETA, Momentum, problem
from dimfree.onepass.limits.momentum import MomentumEquations
from dimfree.onepass.limits.ode import HighDimensional

TIMES = np.array([0.0, 0.25, 0.5, 1.0, 2.0])


class WithoutVelocities(MomentumEquations):
    """T is missing in the equation of S."""

    def velocity(self, model, t, state):
        moved, p = super().velocity(model, t, state), model.width
        T = state.blocks.Omega[:, p : 2 * p, p : 2 * p]
        wrong = moved.blocks.Omega.at[:, :p, p : 2 * p].add(-T).at[:, p : 2 * p, :p].add(-T)
        return eqx.tree_at(lambda x: x.blocks.Omega, moved, wrong)


class WrongSecondOrder(HighDimensional):
    """Its programs are those of the wrong equations."""

    def twin(self, model):
        program, rate = super().twin(model)
        wrong = isinstance(program, MomentumEquations)
        return (WithoutVelocities(program.rtol, program.atol, program.variance_on) if wrong else program), rate


def verdicts(entry, data):
    return [claim.holds for claim in entry.claims(data)]


def told(scale, replicas=4):
    """A risk that is so many times that of the rate, by replicas that hardly differ."""
    risk = 0.2 * np.exp(-TIMES)[:, None] * scale * np.linspace(0.9999, 1.0001, replicas)
    return xr.Dataset({"risk": (("time", "replica"), risk)}, {"time": TIMES})


def made_up(off=3.5, second=1.24, ode=1.24):
    """Deviations of `off`/d, and second order above the rate by these factors."""
    tree = {f"rate at {d}/ode": told(1.0, 1) for d in SIZES} | {f"beta {beta:g}/chain": told(1.0) for beta in BETAS}
    tree |= {f"beginning at {d}/chain": told(1 + off / d) for d in SIZES}
    return xr.DataTree.from_dict(tree | {"second order/chain": told(second), "second order/ode": told(ode, 1)})


def test_a_rate_and_second_order_are_told_from_others():
    entry = Momentum()
    assert all(verdicts(entry, made_up()))
    assert verdicts(entry, made_up(off=0.0))[1:5] == [False, False, True, False]
    assert verdicts(entry, made_up(ode=1.0))[5:] == [False, False, True]
    assert verdicts(entry, made_up(second=1.0, ode=1.0))[5:] == [True, True, False]
    figure = Figure(layout="constrained")
    entry.draw(made_up(), figure)
    assert len(figure.axes) == 3


def test_runs_have_one_effective_rate_and_the_last_has_theta():
    for case in Momentum().cases(False).values():
        training = case.problem.training
        assert training.learning_rate / (1 - training.momentum) == pytest.approx(RATE)
    remembering = Momentum().cases(False)["second order"].problem
    assert (1 - remembering.training.momentum) / remembering.time_step == pytest.approx(THETA)
    assert problem(100, 0.9, 4).time_step == pytest.approx(problem(100, 0.0, 4).time_step)


@pytest.mark.slow
def test_momentum_is_measured_and_wrong_ingredients_are_seen():
    def watch(text, fraction):
        pass

    entry = Momentum()
    assert all(verdicts(entry, entry.measure(False, watch)))
    wrong_order = Momentum(equations=WrongSecondOrder())
    assert verdicts(wrong_order, wrong_order.measure(False, watch))[5:7] == [False, False]
    wrong_rate = Momentum(rate=RATE * (1 - BETAS[-1]))  # gamma for Gamma
    assert not any(verdicts(wrong_rate, wrong_rate.measure(False, watch))[:5])
