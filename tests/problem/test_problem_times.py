"""The grid of saved times: from 0 to `until`, each a whole number of steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dimfree as df
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Problem, Run


def of(points: int, spacing: str, steps: int, dimension: int = 300, learning_rate: float = 0.7) -> Problem:
    bare = Problem(dimension=dimension, training=OnePass(learning_rate=learning_rate))
    return bare.replace(run=Run(until=steps * bare.time_step, points=points, spacing=spacing))


@given(st.integers(3, 200), st.sampled_from(["log", "linear"]), st.integers(1, 10**7), st.floats(1e-3, 1e3))
def test_times_are_whole_steps_from_zero_to_until(points, spacing, steps, learning_rate):
    problem = of(points, spacing, steps, learning_rate=learning_rate)
    times, counts = problem.times, problem.times / problem.time_step
    assert times[0] == 0
    assert times[-1] == pytest.approx(problem.run.until, rel=1e-12)
    np.testing.assert_allclose(counts, np.rint(counts), rtol=0, atol=1e-9 * steps)
    assert (np.diff(np.rint(counts)) >= 1).all()
    assert len(times) <= points


@pytest.mark.parametrize("steps", [3, 10**5])
def test_two_times_are_the_first_and_the_last(steps):
    assert of(2, "log", steps).times[-1] == pytest.approx(of(2, "log", steps).run.until)


def test_times_are_as_many_as_asked_when_they_fit():
    assert len(of(50, "linear", 49).times) == 50
    assert len(of(50, "linear", 10**6).times) == 50
    assert len(of(50, "linear", 10).times) == 11


def test_spacings():
    linear, log = np.diff(of(101, "linear", 10**6).times), of(50, "log", 10**6).times
    np.testing.assert_allclose(linear, linear[0], rtol=1e-3)
    np.testing.assert_allclose(log[2:] / log[1:-1], log[2] / log[1], rtol=1e-2)
    assert log[1] == pytest.approx(2e-4 * log[-1])


def test_until_is_rounded_to_a_whole_step():
    problem = Problem(run=Run(until=1.0, points=10), training=OnePass(learning_rate=3.0), network=TwoLayer(width=7))
    assert abs(problem.times[-1] - 1.0) <= problem.time_step / 2


def test_time_step():
    problem = Problem(dimension=20, network=TwoLayer(width=5), training=OnePass(learning_rate=2.0))
    assert problem.time_step == pytest.approx(0.02)
    assert problem.steps(1.0) == 50


@pytest.mark.parametrize(
    ("problem", "step"),
    [
        (df.Problem(dimension=500), "0.0005 (steps * learning_rate / (width * dimension))"),
        (df.extend.DataSetProblem(), "0.2 (steps * learning_rate)"),
    ],
    ids=["one-pass", "data-set"],
)
def test_a_run_shorter_than_a_step_is_an_error_that_names_the_step(problem, step):
    """It used to be raised to one step without a word."""
    with pytest.raises(df.ProblemError) as told:
        problem.replace(**{"run.until": 0.7 * problem.time_step})
    assert f"ends before the first step, which takes a time of {step}; raise run.until" in str(told.value)
    np.testing.assert_array_equal(problem.replace(**{"run.until": problem.time_step}).times, [0, problem.time_step])
