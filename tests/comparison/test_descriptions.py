"""One cross-product test covers every registered description."""

import jax
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
# How far the mean risk may be from real SGD at the last time of AGREEMENT, in per cent; gradient flow drops a term.
AGREES_WITHIN = {"sgd": 5.0, "chain": 5.0, "ode": 5.0, "gradient-flow": 60.0}


def start_of(problem):
    return df.draw_start(problem, jax.random.key(4), vectors=True)


@pytest.mark.parametrize("name", list(df.descriptions()))
@pytest.mark.parametrize("case", list(PROBLEMS))
def test_refuses_or_runs_by_the_protocol(case, name):
    problem, one = PROBLEMS[case], df.descriptions()[name]
    refusal = one.refuses(problem)
    if refusal:
        assert "\n" not in refusal
        return
    start = start_of(problem)
    data = record(problem, one, start, jax.random.key(1))
    assert all(data[name_].dims == VARIABLES[name_].dims for name_ in data.data_vars)
    assert data.sizes["replica"] == (6 if one.stochastic else 1)
    np.testing.assert_allclose(
        data["Q"].values[0], np.broadcast_to(start.overlaps.Q, data["Q"].shape[1:]), rtol=1e-6, atol=1e-7
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


@pytest.mark.parametrize("name", list(df.descriptions()))
def test_agrees_with_real_sgd_at_one_declared_point(name, real_sgd):
    problem = AGREEMENT.replace(**{"run.replicas": 60})
    risk = record(problem, df.descriptions()[name], start_of(problem), jax.random.key(10))["risk"][-1].mean().item()
    assert abs(risk / real_sgd - 1) * 100 < AGREES_WITHIN[name]
