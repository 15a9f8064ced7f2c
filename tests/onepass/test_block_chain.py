"""SGD in overlap space on structured inputs has the law of SGD on vectors, at d = 30 with three levels; rows are rows."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import ks_2samp

import dimfree as df
from dimfree.errors import RefusalError
from dimfree.onepass.model import model
from dimfree.onepass.real.block_chain import BlockChain
from dimfree.onepass.real.rows import RowsSGD
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.start import draw_start
from dimfree.setting import why_not

REPLICAS, STEPS = 2000, 40

LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "multiplicities": [3, 7, 20]}


def case(**changes):
    """Large steps, so that a few dozen of them spread the replicas; one level has fewer directions than there are vectors."""
    base = df.Problem(dimension=30, data={"kind": "teacher", "noise": 0.1, "covariance": LEVELS}, network={"width": 2})
    return base.replace(**{"training.learning_rate": 2.0, **changes})


CASES = {
    "erf": case(),
    "batches, decay and a second layer that learns": case(
        **{"training.batch": 3, "training.weight_decay": 1.0, "network.second_layer": "trained", "data.units": 1}
    ),
    "relu on a sphere": case(**{"network.activation": "relu", "data.activation": "relu", "training.spherical": True}),
}


@lru_cache(maxsize=8)
def run_of(name, walker):
    problem = CASES[name]
    m, start = model(problem), draw_start(problem, jax.random.key(3), vectors=True)
    one = {"sgd": VectorSGD(), "chain": BlockChain()}[walker]
    times = jnp.asarray([0.0, STEPS * problem.time_step])
    key = jax.random.key(5 if walker == "sgd" else 6)
    seen = jax.jit(lambda s, t: one.run(m, s, t, key, REPLICAS))(start, times)
    return {name: np.asarray(values) for name, values in seen.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_chain_has_the_law_of_vectors(name):
    chain, sgd = run_of(name, "chain"), run_of(name, "sgd")
    for observable in ("risk", "Q_block", "M_block", "a"):
        np.testing.assert_allclose(chain[observable][0], sgd[observable][0], rtol=1e-10, atol=1e-12)
        first, second = (seen[observable][1].reshape(REPLICAS, -1) for seen in (chain, sgd))
        for column in range(first.shape[1]):
            if np.ptp(second[:, column]) > 1e-9:
                assert ks_2samp(first[:, column], second[:, column]).pvalue > 1e-5, (observable, column)


@pytest.mark.slow
def test_a_broken_chain_would_be_noticed():
    """The same with all eigenvalues alike: this is what the test above must be able to see."""
    chain, sgd = run_of("erf", "chain"), run_of("erf", "sgd")
    assert ks_2samp(chain["Q_block"][1, :, 0, 0, 0] * 1.1, sgd["Q_block"][1, :, 0, 0, 0]).pvalue < 1e-5


def test_the_chain_refuses_where_it_would_be_sgd_itself():
    one = df.Problem(data={"kind": "teacher", "covariance": {"file": "digits"}})
    said = why_not(df.experiments.OverlapChain(), one)
    assert said.startswith("61 distinct eigenvalues in 61 dimensions: the chain is SGD itself; use sgd")


@pytest.mark.slow
def test_rows_are_drawn_from_the_pool_and_judged_on_it(tmp_path):
    """Two rows, alike up to a sign: fields are known, and so is the risk."""
    X = np.array([[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0], [-1.0, -2.0]])
    covariance = df.Covariance.features(X + np.array([0.0, 1e-3]) * np.arange(4)[:, None])
    data = df.Teacher(units=1, noise=0.0, covariance=covariance)
    problem = df.Problem(data=data, network={"width": 1}, run={"until": 5.0, "replicas": 2})
    m, start = model(problem), draw_start(problem, jax.random.key(0), vectors=True)
    one = RowsSGD()
    seen = jax.jit(lambda s, t: one.run(m, s, t, jax.random.key(1), 2))(start, jnp.asarray([0.0, 5.0]))
    rows, weights = np.asarray(m.pool.rows), np.asarray(start.weights)
    from scipy.special import erf

    f = erf(rows @ weights.T / np.sqrt(2))
    assert float(seen["risk"][0, 0]) == pytest.approx(np.mean((f[:, 1] - f[:, 0]) ** 2) / 2, rel=1e-10)
    assert (np.asarray(seen["risk"][1]) < 0.5 * np.asarray(seen["risk"][0])).all()


def test_rows_refuse_without_rows():
    with pytest.raises(RefusalError, match="rows refuses: there are no rows to draw"):
        df.simulate(CASES["erf"], "rows", until=1.0)
