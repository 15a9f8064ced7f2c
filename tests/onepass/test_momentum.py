"""Momentum: steps as in a textbook, the chain with the law of vectors, and equations that become those of a rate."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import ks_2samp

import dimfree as df
from dimfree.errors import ProblemError, RefusalError
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.limits.momentum import MomentumEquations
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
from dimfree.onepass.model import model
from dimfree.onepass.notes import remark
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.momentum import MomentumChain, MomentumSGD
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.rule import block_steps
from dimfree.onepass.start import draw_start
from dimfree.questions.regimes.answer import regime

REST = [(False, False), (True, False), (True, True)]
LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "multiplicities": [3, 7, 20]}


def problem(**changes):
    base = df.Problem(dimension=30, data={"kind": "teacher", "units": 1, "noise": 0.1}, network={"width": 2})
    return base.replace(**{"training.learning_rate": 0.5, "training.momentum": 0.8, **changes})


def textbook(one, m, start, steps, key, replicas):
    """W and a of the first replica after so many steps, as PyTorch takes them, on the samples that sgd draws."""
    p, d, batch = one.network.width, one.dimension, one.training.batch
    schedule = one.training.schedule
    beta, gamma, size = one.training.momentum, one.training.learning_rate, block_steps(one.training.batch)
    W, W_star = np.array(start.weights[:p]), np.array(start.weights[p:])
    a, v, v_a = np.array(start.measured.a), np.zeros((p, d)), np.zeros(p)
    for step in range(steps):
        if step % size == 0:
            X, hidden = m.law.draw(jax.random.fold_in(key, step // size), replicas, size * batch, d)
            X, hidden = np.asarray(X[0], dtype=float) / d**0.5, np.asarray(hidden[:, 0], dtype=float)
        chosen = slice((step % size) * batch, (step % size + 1) * batch)
        x = X[chosen]
        y = erf(x @ W_star.T / 2**0.5)[:, 0] + one.data.noise**0.5 * hidden[chosen]
        fields = x @ W.T
        error = (y - erf(fields / 2**0.5) @ a / p)[:, None]
        slope = np.sqrt(2 / np.pi) * np.exp(-(fields**2) / 2)
        decay, rate = gamma / (p * d), gamma * (schedule.factors[step] if schedule else 1.0)
        g = rate / (p * batch) * (a * slope * error).T @ x - one.training.weight_decay * decay * W
        g_a = rate / (d * p * batch) * np.sum(erf(fields / 2**0.5) * error, axis=0)
        v, v_a = beta * v + g, beta * v_a + g_a
        W, a = (
            W + (g + beta * v if one.training.nesterov else v),
            a + (g_a + beta * v_a if one.training.nesterov else v_a),
        )
    return W, a, W_star


@pytest.mark.parametrize(
    ("nesterov", "scheduled"), [(False, True), *(pytest.param(*case, marks=pytest.mark.slow) for case in REST)]
)
def test_steps_are_those_of_a_textbook(nesterov, scheduled):
    one = problem(
        **{
            "training.nesterov": nesterov,
            "training.weight_decay": 2.0,
            "training.batch": 2,
            "network.second_layer": "trained",
            "data.covariance": LEVELS,
        }
    )
    if scheduled:
        times, factors = [n * one.time_step for n in range(13)], np.linspace(1.5, 0.2, 13).tolist()
        one = one.replace(**{"training.schedule": df.LinearKnots(times=times, factors=factors)})
    m, start, key, steps = model(one), draw_start(one, jax.random.key(1), vectors=True), jax.random.key(2), 13
    at = MomentumSGD().begin(m, start, 2, key)
    seen = jax.jit(lambda s, t: MomentumSGD().advance(m, s, t)[1])(at, jnp.asarray([steps * one.time_step]))
    W, a, W_star = textbook(one, m, start, steps, key, 2)
    s = one.spectrum.coordinates
    np.testing.assert_allclose(seen["Q"][0, 0], (W * s) @ W.T / 30, rtol=2e-5)
    np.testing.assert_allclose(seen["M"][0, 0], (W * s) @ W_star.T / 30, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(seen["Q_plain"][0, 0], W @ W.T / 30, rtol=2e-5)
    np.testing.assert_allclose(seen["a"][0, 0], a, rtol=1e-5)


@lru_cache(maxsize=2)
def run_of(walker):
    one = problem(**{"data.covariance": LEVELS, "training.learning_rate": 0.8})
    m, start = model(one), draw_start(one, jax.random.key(3), vectors=True)
    program = walker.twin(m)[0]
    key = jax.random.key(5 if isinstance(walker, VectorSGD) else 6)
    times = jnp.asarray([40 * one.time_step])
    seen = jax.jit(lambda s, t: program.run(m, s, t, key, 2000))(start, times)
    return {name: np.asarray(values) for name, values in seen.items()}


@pytest.mark.slow
def test_the_chain_has_the_law_of_vectors():
    assert isinstance(OverlapChain().twin(model(problem()))[0], MomentumChain)
    chain, sgd = run_of(OverlapChain()), run_of(VectorSGD())
    for observable in ("risk", "Q_block", "M_block"):
        first, second = (seen[observable][0].reshape(2000, -1) for seen in (chain, sgd))
        for column in range(first.shape[1]):
            assert ks_2samp(first[:, column], second[:, column]).pvalue > 1e-5, (observable, column)


@pytest.mark.slow
def test_along_a_schedule_the_limit_is_that_of_the_exact_mean():
    """Linear networks in high dimension with velocities that relax at a rate of order one, under a rate that falls."""
    levels = LEVELS | {"multiplicities": [3_000, 7_000, 20_000]}
    data = {"kind": "teacher", "units": 1, "activation": "linear", "noise": 0.1, "covariance": levels}
    rule = {
        "learning_rate": 1e-4,
        "momentum": 1 - 1e-4,
        "schedule": df.LinearKnots(times=(0.0, 4.0), factors=(1.6, 0.1)),
    }
    one = df.Problem(dimension=30_000, data=data, network={"width": 1, "activation": "linear"}, training=rule)
    assert float(model(one).theta) == pytest.approx(3.0)
    limit, exact = (df.solve(one, by, until=4.0)["risk"].values[:, 0] for by in ("ode", "linear-mean"))
    np.testing.assert_allclose(limit, exact, rtol=3e-3)
    unscheduled = df.solve(one.replace(**{"training.schedule": None}), "ode", until=4.0)["risk"].values[:, 0]
    assert np.max(np.abs(unscheduled / exact - 1)) > 0.1


def test_momentum_that_forgets_fast_is_a_rate():
    forgetful = model(problem(dimension=100_000))
    program, rate = HighDimensional().twin(forgetful)
    assert isinstance(program, BlockEquations)
    assert float(rate.gamma) == pytest.approx(0.5 / 0.2)
    assert float(rate.time_step) == pytest.approx(float(forgetful.time_step))
    assert isinstance(HighDimensional().twin(model(problem()))[0], MomentumEquations)
    assert not GradientFlow().twin(model(problem()))[0].variance_on


def test_what_it_amounts_to_is_said():
    near = remark(problem(dimension=100_000))
    assert (
        "Momentum 0.8 amounts to a rate of 2.5 to within 0.003 % (velocities relax at 1.6e+04 per unit of time)" in near
    )
    far = remark(problem(**{"training.momentum": 0.99, "training.learning_rate": 0.01}))
    assert "Momentum 0.99 is second order: velocities relax at 0.6 per unit of time" in far


def test_without_momentum_nothing_changes():
    assert type(model(problem(**{"training.momentum": 0.0}))) is TeacherModel
    assert problem(**{"training.momentum": 0.0}).digest == df.Problem(
        dimension=30,
        data={"kind": "teacher", "units": 1, "noise": 0.1},
        network={"width": 2},
        training={"learning_rate": 0.5},
    ).digest  # fmt: skip


ERRORS = {
    "too large": ({"training.momentum": 1.0}, "momentum must be at least 0 and below 1"),
    "negative": ({"training.momentum": -0.1}, "momentum must be at least 0 and below 1"),
    "spherical": (
        {"training.spherical": True},
        "momentum together with spherical = true is not derived; leave one of them out",
    ),
    "noise": ({"training.inverse_temperature": 10.0}, "momentum together with inverse_temperature is not derived"),
    "data": ({"data.kind": "hypercube"}, "labels of a teacher, and data.kind = 'hypercube' has none"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_not_derived_gets_one_sentence(name):
    changes, sentence = ERRORS[name]
    with pytest.raises(ProblemError, match=sentence):
        problem(**changes)


def test_questions_refuse_momentum():
    with pytest.raises(RefusalError, match="are not derived for momentum"):
        regime(problem())
