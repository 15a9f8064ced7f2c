"""First passages of real SGD: the crossing on a path that is known, the law of the starts, chain against vectors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.real.passages import advance_passage, begin_passage, draw_starts, scattered, stride_for

PROBLEM = df.Problem(
    dimension=40,
    data=df.Teacher(units=1, activation="square", noise=0.1),
    network=df.TwoLayer(width=1, activation="square"),
    training=df.OnePass(learning_rate=0.05, spherical=True),
    start=df.SphereStart(),
)
THRESHOLD, HORIZON, STRIDE = jnp.asarray(0.2), jnp.asarray(6.0), 16


def exits(sgd, starts, stride, horizon=HORIZON, seed=1):
    model = df.extend.model(PROBLEM)
    passage = begin_passage(sgd, model, starts, THRESHOLD, jax.random.key(seed))
    return advance_passage(sgd, model, passage, horizon, jnp.asarray(stride))


@pytest.fixture(scope="module")
def starts():
    return draw_starts(PROBLEM, jax.random.key(0), 100)


@pytest.fixture(scope="module")
def fine(starts):
    return exits(df.experiments.OverlapChain(), starts, STRIDE)


@pytest.mark.slow
def test_the_exit_is_where_the_recorded_risk_crosses(starts, fine):
    """The same path, taken by the description itself and seen every sixteen steps."""
    chain, model = df.experiments.OverlapChain(), df.extend.model(PROBLEM)
    state = scattered(chain, model, starts, jax.random.key(1))
    steps = np.arange(0, 800, STRIDE)
    risk = np.asarray(chain.advance(model, state, jnp.asarray(steps * PROBLEM.time_step))[1]["risk"])
    below = risk <= 0.8 * risk[0]
    first = np.argmax(below, axis=0)
    left = below.any(axis=0)
    assert left.sum() > 30
    time = np.asarray(fine.exits) / PROBLEM.time_step
    assert (time[left] <= steps[first[left]] + 1e-6).all()
    assert (time[left] > steps[first[left] - 1] - 1e-6).all()
    assert (time[~left] > steps[-1]).all()


@pytest.mark.slow
def test_it_stops_when_all_have_left_and_at_the_horizon(starts, fine):
    assert np.isfinite(fine.exits).all()
    assert float(fine.step * PROBLEM.time_step) - float(jnp.max(fine.exits)) < 1.01 * STRIDE * PROBLEM.time_step
    early = exits(df.experiments.OverlapChain(), starts, STRIDE, horizon=jnp.asarray(0.3))
    assert float(early.step * PROBLEM.time_step) == pytest.approx(0.3)
    in_time = np.asarray(fine.exits) < 0.3
    np.testing.assert_allclose(early.exits[in_time], fine.exits[in_time])
    assert np.isinf(np.asarray(early.exits)[np.asarray(fine.exits) > 0.31]).all()


@pytest.mark.slow
def test_going_on_from_a_horizon_is_the_same_as_going_through(starts, fine):
    model, chain = df.extend.model(PROBLEM), df.experiments.OverlapChain()
    passage = begin_passage(chain, model, starts, THRESHOLD, jax.random.key(1))
    for end in (10 * STRIDE * PROBLEM.time_step, 6.0):
        passage = advance_passage(chain, model, passage, jnp.asarray(end), jnp.asarray(STRIDE))
    np.testing.assert_allclose(passage.exits, fine.exits, rtol=1e-12)


@pytest.mark.slow
def test_coarse_looks_cost_little_accuracy(starts, fine):
    coarse = exits(df.experiments.OverlapChain(), starts, 2 * STRIDE)
    late = np.asarray(coarse.exits - fine.exits)
    assert abs(late.mean()) < 0.3 * np.std(fine.exits) / np.sqrt(100)
    assert np.ptp(late) > 0


@pytest.mark.slow
def test_vectors_and_chain_leave_at_the_same_time():
    """Means and spreads over 225 starts each; vectors share their teacher."""
    on_vectors = draw_starts(PROBLEM, jax.random.key(5), 225, vectors=True)
    assert np.ptp(np.asarray(on_vectors.weights)[:, 1], axis=0).max() == 0
    in_overlaps = draw_starts(PROBLEM, jax.random.key(6), 225)
    one = np.asarray(exits(df.experiments.VectorSGD(), on_vectors, STRIDE, seed=7).exits)
    other = np.asarray(exits(df.experiments.OverlapChain(), in_overlaps, STRIDE, seed=8).exits)
    error = np.hypot(one.std(), other.std()) / 15
    assert abs(one.mean() - other.mean()) < 4 * error
    assert one.std() / other.std() == pytest.approx(1, abs=0.35)
    assert other.std() > 5 * error


def test_starts_are_uniform_on_the_sphere(starts):
    """m² of a uniform unit vector has mean 1/d and variance 2(d-1)/(d²(d+2))."""
    s = np.asarray(starts.overlaps.M)[:, 0, 0] ** 2
    d = PROBLEM.dimension
    spread = np.sqrt(2 * (d - 1) / (d**2 * (d + 2)))
    assert abs(s.mean() - 1 / d) < 4 * spread / np.sqrt(len(s))
    np.testing.assert_allclose(starts.overlaps.Q, 1.0)


def test_stride():
    model, chain = df.extend.model(PROBLEM), df.experiments.OverlapChain()
    dt = PROBLEM.time_step
    strides = [int(stride_for(chain, model, resolution)) for resolution in (0.1 * dt, 7.5 * dt, 1e9 * dt)]
    assert strides == [1, 7, chain.steps_per_block(model)]
