"""The exact mean of linear networks: against plain SGD on vectors, its limit, and its end."""

import re

import jax
import numpy as np
import pytest

import dimfree as df
from dimfree.description import Ask
from dimfree.onepass.limits.linear import LinearNetwork
from dimfree.onepass.linear_mean import (
    LinearRule,
    critical_rate,
    exact_risks,
    momentum_risks,
    ode_risks,
    stationary_risk,
)
from dimfree.onepass.linear_steps import end_slopes, nodes_of, risks_along
from dimfree.onepass.model import model
from dimfree.onepass.pool import said_of_inputs
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.onepass.start import draw_start
from dimfree.setting import why_not

LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "multiplicities": [2, 6, 12]}


def problem(**changes):
    data = {"kind": "teacher", "units": 2, "activation": "linear", "noise": 0.2, "covariance": LEVELS}
    network = {"width": 2, "activation": "linear", "second_layer_start": [1.0, 1.5]}
    base = df.Problem(dimension=20, data=data, network=network, training={"learning_rate": 0.4})
    return base.replace(**changes) if changes else base


def plain_sgd(one, start, steps, runs, seed=0):
    """Risks of many runs after so many steps, as in a textbook."""
    rng, p, d = np.random.default_rng(seed), one.network.width, one.dimension
    s, training = one.spectrum.coordinates, one.training
    a, teacher = np.asarray(start.blocks.a), np.asarray(start.weights[p:]).mean(axis=0)
    W = np.broadcast_to(np.asarray(start.weights[:p]), (runs, p, d)).copy()
    v, m = np.zeros_like(W), training.batch
    for step in range(steps):
        factor = training.schedule.factors[step] if training.schedule else 1.0
        x = rng.normal(size=(runs, m, d)) * np.sqrt(s / d)
        y = x @ teacher + np.sqrt(one.data.noise) * rng.normal(size=(runs, m))
        error = y - np.einsum("rmd,rpd,p->rm", x, W, a) / p
        v = training.momentum * v + factor * training.learning_rate / (p * m) * np.einsum("p,rm,rmd->rpd", a, error, x)
        W = W + v
    delta = teacher - np.einsum("rpd,p->rd", W, a) / p
    return delta**2 @ s / d / 2


MOVING = {"training.momentum": 0.6, "training.learning_rate": 0.2}
FACTORS = [1.5, *np.linspace(4.0, 0.1, 29)]  # one for every step, the first apart


@pytest.mark.parametrize("changes", [{"training.batch": 3}, MOVING])
@pytest.mark.parametrize("scheduled", [False, True])
def test_the_mean_is_that_of_sgd(changes, scheduled):
    one, steps = problem(**changes), 30
    if scheduled:
        knots = {"kind": "linear", "times": [n * one.time_step for n in range(steps)], "factors": FACTORS}
        one = one.replace(**{"training.schedule": knots})
    m, start = model(one), draw_start(one, jax.random.key(1), vectors=True)
    times = np.array([0.0, steps * one.time_step])
    (piece,) = LinearNetwork().account(m, start, Ask(times, 1, jax.random.key(0)))
    told = piece.observables["risk"][:, 0]
    assert told[0] == pytest.approx(plain_sgd(one, start, 0, 1)[0], rel=1e-12)
    risks = plain_sgd(one, start, steps, 4000)
    assert abs(risks.mean() - told[1]) < 4 * risks.std() / np.sqrt(4000)


def test_at_large_dimension_it_is_the_limit_and_momentum_of_nothing_is_none():
    s, D = np.array([2.0, 0.5]), np.array([0.3, 0.8])
    rule = LinearRule(s, np.array([1e6, 2e6]), 0.7, 0.1, 1)
    times = np.array([0.0, 0.3, 1.0, 4.0])
    steps = np.rint(times * 3e6 / 0.7)
    np.testing.assert_allclose(exact_risks(rule, D, steps), ode_risks(rule, D, times), rtol=2e-6)
    small = rule._replace(counts=np.array([10.0, 20.0]))
    np.testing.assert_allclose(
        momentum_risks(small, 0.0, D, np.array([0, 7, 90])), exact_risks(small, D, np.array([0, 7, 90])), rtol=1e-11
    )


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_step_by_step_it_is_the_closed_form_and_the_mean_behind_a_projection(momentum):
    s, counts, D = np.array([2.0, 0.5]), np.array([10.0, 20.0]), np.array([0.3, 0.8])
    rule, steps = LinearRule(s, counts, 0.7, 0.1, 2), np.array([0, 1, 7, 90])
    along = lambda rates: np.asarray(risks_along(nodes_of(rule, momentum), *jax.device_put((D[None], rates))))[steps, 0]  # noqa: E731
    expected = momentum_risks(rule, momentum, D, steps) if momentum else exact_risks(rule, D, steps)
    np.testing.assert_allclose(along(np.full(90, 0.7)), expected, rtol=1e-12)
    nodes, changing = Measures(s / 30, s * D, s / 30, counts * (s / 30) ** 2, 0.0), 0.7 * np.linspace(2, 0, 90)
    other = stepwise_risks(nodes, changing, np.full(90, 2), 0.1, steps, momentum)
    np.testing.assert_allclose(along(changing), other, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_slopes_of_the_end_are_those_of_differences(momentum):
    rule = LinearRule(np.array([2.0, 0.5]), np.array([10.0, 20.0]), 0.7, 0.1, 2)
    nodes, D, rates = nodes_of(rule, momentum), np.array([[0.3, 0.8], [1.0, 0.1]]), np.linspace(1.2, 0.1, 50)
    end = lambda given: float(np.log(risks_along(nodes, *jax.device_put((D, given)))[-1]).sum())  # noqa: E731
    found = end_slopes(nodes, *jax.device_put((D, rates)), lambda risks: jax.numpy.log(risks).sum())
    assert float(found.value) == pytest.approx(end(rates), rel=1e-12)
    for step in (0, 13, 49):
        up, down = (end(rates + by * (np.arange(50) == step)) for by in (1e-5, -1e-5))
        slope = found.first[step] + 2 * rates[step] * found.second[step]
        assert float(slope) == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_a_schedule_of_too_many_steps_is_refused():
    one = problem(**{"run.until": 1e6, "training.schedule": {"kind": "exponential", "scale": 1.0}})
    assert "takes the 100000000 steps of a schedule one by one" in why_not(LinearNetwork(), one)


def test_beyond_the_limit_of_stability_the_mean_grows():
    s, counts, D = np.array([2.0, 0.5]), np.array([10.0, 20.0]), np.array([0.3, 0.8])
    limit = critical_rate(s, counts)
    below, above = (LinearRule(s, counts, factor * limit, 0.0, 1) for factor in (0.98, 1.02))
    late = np.array([20_000, 40_000])
    assert np.diff(exact_risks(below, D, late)) < 0 < np.diff(exact_risks(above, D, late))
    one = problem(**{"training.learning_rate": 20.0})
    assert "the mean risk grows without end" in LinearNetwork().warns(one, model(one), {})[0]


def grows(one, times=(200.0, 400.0)):
    """Whether the mean risk of a network rises between two late times."""
    start = draw_start(one, jax.random.key(1), vectors=True)
    (piece,) = LinearNetwork().account(model(one), start, Ask(np.array([0.0, *times]), 1, jax.random.key(0)))
    risks = piece.observables["risk"][:, 0]
    return risks[2] > 1.5 * risks[1]


def stated_limit(said):
    return float(re.search(r"stable up to learning_rate (\S+?)[; ]", said)[1])


WIDTHS = {
    "one unit, second layer 2": {"network.width": 1, "network.second_layer_start": 2.0},
    "one unit, second layer 1/2": {"network.width": 1, "network.second_layer_start": 0.5},
    "four units": {"network.width": 4, "network.second_layer_start": 1.0},
    "two units that differ, scaling sqrt": {"network.second_layer_start": [1.0, 1.5], "network.scaling": "sqrt"},
    "a batch": {"network.width": 3, "network.second_layer_start": "signs", "training.batch": 5},
}


@pytest.mark.parametrize("changes", WIDTHS.values(), ids=WIDTHS)
def test_the_stated_limit_of_stability_is_that_of_this_width_and_second_layer(changes):
    one = problem(**changes)
    (said,) = LinearNetwork().warns(huge := one.replace(**{"training.learning_rate": 1e4}), model(huge), {})
    limit = stated_limit(said)
    assert stated_limit(" ".join(said_of_inputs(one))) == pytest.approx(limit, rel=5e-3)  # digits that are printed
    below, above = (one.replace(**{"training.learning_rate": factor * limit}) for factor in (0.9, 1.1))
    assert not grows(below)
    assert LinearNetwork().warns(below, model(below), {}) == ()
    assert grows(above)
    assert "the mean risk grows without end" in LinearNetwork().warns(above, model(above), {})[0]


def test_with_momentum_show_states_the_limit_of_the_rate_of_a_fresh_gradient():
    one = problem(**{"dimension": 400, "data.covariance": {"kind": "levels", "values": [2, 0.5], "shares": [0.3, 0.7]}})
    limit = stated_limit(" ".join(said_of_inputs(one.replace(**{"training.momentum": 0.8}))))
    assert limit == pytest.approx(0.2 * stated_limit(" ".join(said_of_inputs(one))), rel=1e-3)
    rates = (
        {"training.momentum": 0.8, "training.learning_rate": 0.9 * limit},
        {"training.momentum": 0.8, "training.learning_rate": 1.1 * limit},
    )
    assert [grows(one.replace(**changes), (50.0, 100.0)) for changes in rates] == [False, True]


def test_a_second_layer_of_zeros_that_learns_has_no_limit():
    one = problem(**{"network.second_layer_start": 0.0, "network.second_layer": "trained"})
    assert "stable" not in " ".join(said_of_inputs(one))


def test_a_rate_beyond_every_pole_has_no_stationary_risk():
    """Where steps along the largest eigenvalue overshoot, chi is a sum of terms of both signs and may lie below 1."""
    s, counts = np.array([5.0, 0.4]), np.array([1.0, 9.0])
    assert stationary_risk(LinearRule(s, counts, 4.5, 1.0, 1)) == np.inf


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"network.activation": "erf"}, "it is exact for linear networks"),
        ({"network.second_layer": "trained"}, "where the first layer alone learns"),
        ({"training.weight_decay": 0.1}, "it is exact for plain SGD"),
        ({"training.momentum": 0.5, "training.nesterov": True}, "worked out for a heavy ball"),
    ],
)
def test_what_is_not_linear_is_refused(changes, sentence):
    assert sentence in why_not(LinearNetwork(), problem(**changes))
