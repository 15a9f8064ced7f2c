"""One cross-product test covers every registered description."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.results.record import record
from dimfree.results.schema import VARIABLES

AGREEMENT = df.Problem(
    dimension=200,
    network=df.TwoLayer(width=2),
    data=df.Teacher(units=1, noise=0.01),
    run=df.Run(until=2.0, replicas=6, points=6),
)
PROBLEMS = {
    "default-kind": AGREEMENT,
    "relu-trained": AGREEMENT.replace(
        **{
            "network.activation": "relu",
            "data.activation": "relu",
            "network.second_layer": "trained",
            "training.batch": 4,
        }
    ),
    "sphere-schedule": AGREEMENT.replace(
        **{"training.spherical": True, "start.kind": "sphere", "training.schedule": {"kind": "power", "scale": 5.0}}
    ),
    "multi-index": AGREEMENT.replace(
        **{"data.kind": "multi-index", "data.link": "staircase-2", "network.activation": "tanh"}
    ),
}
# How far the mean risk may be from real SGD at the last time of AGREEMENT, in per cent. Gradient flow drops the variance of
# the steps; the limits of infinite width drop it too, and at width 2 the correlations between units as well.
CLUSTERS = df.DataSetProblem(dimension=200, run=df.Run(until=2.0, replicas=6, points=6, spacing="linear"))
AGREES_WITHIN = {
    "sgd": 5.0,
    "chain": 5.0,
    "ode": 5.0,
    "gradient-flow": 60.0,
    "mean-field": 60.0,
    "dimensionless": 60.0,
    "diffusion": 5.0,
}


def start_of(problem):
    return df.VectorSGD().start(problem, jax.random.key(4))


@pytest.mark.parametrize("name", list(df.descriptions()))
@pytest.mark.parametrize("case", list(PROBLEMS))
def test_refuses_or_runs_by_the_protocol(case, name):
    problem, one = PROBLEMS[case], df.descriptions()[name]
    refusal = one.refusal(problem)
    if refusal:
        assert "\n" not in refusal
        return
    assert one.family == problem.family
    start = start_of(problem)
    data = record(problem, one, start, jax.random.key(1))
    assert all(data[name_].dims == VARIABLES[name_].dims for name_ in data.data_vars)
    assert data.sizes["replica"] == (6 if one.stochastic else 1)
    given = {"Q": start.overlaps.Q, "Q_diagonal": jnp.diagonal(start.overlaps.Q)}
    for seen in given.keys() & data.data_vars:
        np.testing.assert_allclose(
            data[seen].values[0], np.broadcast_to(given[seen], data[seen].shape[1:]), rtol=1e-6, atol=1e-7
        )
    np.testing.assert_allclose(
        data["M"].values[0], np.broadcast_to(start.overlaps.M, data["M"].shape[1:]), rtol=1e-6, atol=1e-7
    )
    assert np.isfinite(data["risk"]).all()
    assert (data["risk"] >= 0).all()
    again = record(problem, one, start, jax.random.key(1))
    np.testing.assert_array_equal(again["risk"], data["risk"])
    cost = one.cost(problem)
    assert cost.seconds > 0


@pytest.fixture(scope="module")
def real_sgd():
    many = AGREEMENT.replace(**{"run.replicas": 60})
    return record(many, df.VectorSGD(), start_of(AGREEMENT), jax.random.key(9))["risk"][-1].mean().item()


@pytest.mark.parametrize("training", [{}, {"training.loss": "square", "training.batch_fraction": 0.4}])
@pytest.mark.parametrize("name", [name for name, one in df.descriptions().items() if one.family == CLUSTERS.family])
def test_accounts_of_data_sets_follow_the_protocol_and_agree(name, training):
    problem, one = CLUSTERS.replace(**training), df.descriptions()[name]
    data = record(problem, one, one.start(problem, jax.random.key(4)), jax.random.key(1))
    assert all(data[name_].dims == VARIABLES[name_].dims for name_ in data.data_vars)
    np.testing.assert_allclose(data["m"].values[0], 0.0, atol=1e-6)
    np.testing.assert_allclose(data["C"].values[0, :, 0], 1.0, rtol=1e-5)
    again = record(problem, one, one.start(problem, jax.random.key(4)), jax.random.key(1))
    np.testing.assert_array_equal(again["risk"], data["risk"])
    real = record(problem, df.descriptions()["multi-pass"], None, jax.random.key(2))
    np.testing.assert_allclose(data["risk"][-1].mean(), real["risk"][-1].mean(), rtol=0.1)
    assert one.cost(problem).seconds > 0
    assert "of training on data set" in str(one.refusal(AGREEMENT))


def test_every_description_declares_how_well_it_agrees():
    assert set(AGREES_WITHIN) == {name for name, one in df.descriptions().items() if one.family == AGREEMENT.family}


@pytest.mark.parametrize("name", list(AGREES_WITHIN))
def test_agrees_with_real_sgd_at_one_declared_point(name, real_sgd):
    problem = AGREEMENT.replace(**{"run.replicas": 60})
    risk = record(problem, df.descriptions()[name], start_of(problem), jax.random.key(10))["risk"][-1].mean().item()
    assert abs(risk / real_sgd - 1) * 100 < AGREES_WITHIN[name]


@pytest.mark.parametrize("name", ["neurons", "pde"])
def test_accounts_of_two_gaussians_follow_the_protocol(name):
    problem = df.TwoGaussiansProblem(
        dimension=10, network=df.Neurons(width=20, activation="ramp"), run=df.Run(until=0.5, replicas=2, points=3)
    )
    one = df.descriptions()[name]
    assert one.family == problem.family
    data = record(problem, one, one.start(problem, jax.random.key(4)), jax.random.key(1))
    assert {"risk", "r1"} <= set(data.data_vars)
    assert all(data[name_].dims == VARIABLES[name_].dims for name_ in data.data_vars)
    assert np.isfinite(data["risk"]).all()
    again = record(problem, one, one.start(problem, jax.random.key(4)), jax.random.key(1))
    np.testing.assert_array_equal(again["risk"], data["risk"])
    assert one.cost(problem).seconds > 0
