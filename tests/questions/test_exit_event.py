"""The exit of the ODE by event: reference numbers, the closed logistic time, any activation, starts that never leave."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.questions.exit_times import formulas
from dimfree.questions.exit_times.event import check_threshold, exit_events
from dimfree.reference.check import _within_tolerance, items
from dimfree.reference.phase_retrieval import pr


def phase_retrieval(rate: float, noise: float) -> df.Problem:
    return df.Problem(
        data=df.Teacher(units=1, activation="square", noise=noise),
        network=df.TwoLayer(width=1, activation="square"),
        training=df.OnePass(learning_rate=rate, spherical=True),
    )


def starts(overlaps: list[float]) -> df.extend.Overlaps:
    count = len(overlaps)
    return df.extend.Overlaps(jnp.ones((count, 1, 1)), jnp.asarray(overlaps)[:, None, None], jnp.ones((count, 1)))


@pytest.mark.slow
def test_reference_numbers_of_phase_retrieval():
    (item,) = (item for item in items() if item.kind == "pr")
    found = pr(item.inputs)
    assert set(found) == set(item.expected)
    assert not list(_within_tolerance(item, found))


@pytest.mark.slow
def test_width_one_is_the_logistic_time_and_infinite_where_it_is():
    """Many starts in one call; noise keeps m² below the exit at the large threshold."""
    model, squares = df.extend.model(phase_retrieval(0.15, 0.1)), [1e-4, 0.003, 0.2]
    first = starts([s**0.5 for s in squares])
    for threshold in (0.3, 0.99):
        found = exit_events(model, first, jnp.asarray(threshold), jnp.asarray(1e4))
        expected = [formulas.logistic(s, threshold, 0.15, 0.1) for s in squares]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.isinf(expected).all()


@pytest.mark.slow
def test_what_leaves_after_the_horizon_has_not_left():
    model, first = df.extend.model(phase_retrieval(0.05, 0.0)), starts([0.0, 1e-3, 0.3])
    found = np.asarray(exit_events(model, first, jnp.asarray(0.2), jnp.asarray(0.6)))
    assert np.isinf(found).tolist() == [True, True, False]
    assert formulas.logistic(1e-6, 0.2, 0.05, 0.0) > 0.6


@pytest.mark.slow
def test_at_the_exit_the_risk_is_at_its_level_for_any_activation():
    problem = df.Problem(
        dimension=200, network=df.TwoLayer(width=2, activation="tanh"), data=df.Teacher(units=1, activation="sin")
    )
    model = df.extend.model(problem)
    start = df.extend.draw_start(problem, jax.random.key(0), vectors=False)
    one = jax.tree.map(lambda x: x[None], start.overlaps)
    (time,) = exit_events(model, one, jnp.asarray(0.3), jnp.asarray(100.0))
    run = eqx.filter_jit(lambda t: df.theories.HighDimensional().run(model, start, t, jax.random.key(0))["risk"][:, 0])
    risk = run(jnp.stack([jnp.zeros(()), time]))
    assert risk[1] / risk[0] == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.5, float("nan")])
def test_thresholds_outside(threshold):
    with pytest.raises(df.ProblemError, match=r"threshold = .* was given; .* must lie between 0 and 1\."):
        check_threshold(threshold)
