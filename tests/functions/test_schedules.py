"""Schedules: factors on the base rate."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from dimfree.errors import ProblemError
from dimfree.functions.schedule import Constant, Piecewise, Power, schedule
from dimfree.problem import ExponentialDecay, HoldThenPower, LinearKnots, PowerDecay, Steps, WarmUpCosine, loads
from dimfree.problem.toml import dumps, parse_override

TIMES = np.array([0.0, 0.4, 1.0, 2.5, 40.0])


def _warmed(t):
    """A straight rise to 3 at 1, then half a cosine to 0.5 at 2."""
    return np.where(t < 1, 3 * t, 0.5 + 2.5 * (1 + np.cos(np.pi * np.clip(t - 1, 0, 1))) / 2)


@pytest.mark.parametrize(
    ("written", "factor"),
    [
        (None, np.ones_like),
        (PowerDecay(scale=2.0, exponent=0.75), lambda t: (1 + t / 2) ** -0.75),
        (PowerDecay(scale=2.0, exponent=0.0), np.ones_like),
        (ExponentialDecay(scale=3.0), lambda t: np.exp(-t / 3)),
        (Steps(times=(1.0, 2.0), factors=(0.5, 0.0)), lambda t: np.select([t < 1, t < 2], [1.0, 0.5], 0.0)),
        (Steps(times=(0.0,), factors=(0.25,)), lambda t: np.full_like(t, 0.25)),
        (LinearKnots(times=(0.5, 2.0), factors=(0.2, 0.8)), lambda t: np.interp(t, [0.5, 2.0], [0.2, 0.8])),
        (LinearKnots(times=(0.0,), factors=(3.0,)), lambda t: np.full_like(t, 3.0)),
        (WarmUpCosine(until=2.0), lambda t: (1 + np.cos(np.pi * np.minimum(t / 2, 1))) / 2),
        (WarmUpCosine(until=2.0, warm_up=1.0, top=3.0, end=0.5), _warmed),
        (HoldThenPower(hold=1.0, exponent=2.0, top=3.0), lambda t: 3 * np.where(t < 1, 1, np.maximum(t, 1) ** -2.0)),
        (ExponentialDecay(scale=3.0, top=2.0), lambda t: 2 * np.exp(-t / 3)),
        (PowerDecay(scale=2.0, exponent=0.75, top=2.0), lambda t: 2 * (1 + t / 2) ** -0.75),
    ],
)
def test_factor(written, factor):
    np.testing.assert_allclose(schedule(written)(jnp.asarray(TIMES)), factor(TIMES), rtol=1e-14)
    assert float(schedule(written)(jnp.asarray(2.5))) == pytest.approx(factor(np.array(2.5)))


@pytest.mark.parametrize(
    "written",
    [
        None,
        PowerDecay(scale=2.0, exponent=0.25),
        PowerDecay(scale=2.0, exponent=0.0),
        PowerDecay(scale=0.5, exponent=1.0),
        PowerDecay(scale=0.5, exponent=1.0 - 1e-10),
        PowerDecay(scale=0.5, exponent=1.0 + 1e-7),
        PowerDecay(scale=2.0, exponent=3.0),
        ExponentialDecay(scale=3.0),
        Steps(times=(1.0, 2.0), factors=(0.5, 0.0)),
        Steps(times=(0.0, 0.7), factors=(0.25, 2.0)),
        LinearKnots(times=(0.0, 0.7, 3.0), factors=(0.25, 2.0, 0.0)),
        LinearKnots(times=(0.3, 0.7), factors=(0.25, 2.0)),
        LinearKnots(times=(0.3,), factors=(0.25,)),
        WarmUpCosine(until=3.0, end=0.1),
        WarmUpCosine(until=3.0, warm_up=0.5, top=2.0),
        HoldThenPower(hold=0.5, exponent=1.0),
        HoldThenPower(hold=0.5, exponent=4.0, top=2.0),
    ],
)
def test_elapsed_is_the_integral_of_the_factor(written):
    one = schedule(written)
    factor = lambda t: float(one(jnp.asarray(t)))  # noqa: E731
    found = np.asarray(one.elapsed(jnp.asarray(TIMES)))
    for t, elapsed in zip(TIMES, found, strict=True):
        edges = np.unique([0.0, *(jump for jump in one.jumps.tolist() if jump < t), t])
        pieces = [quad(factor, *ends, epsabs=1e-13, epsrel=1e-13)[0] for ends in pairwise(edges)]
        np.testing.assert_allclose(elapsed, sum(pieces), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(one.elapsed(jnp.asarray(t)), elapsed, rtol=1e-15)


def test_elapsed_is_closed():
    times = jnp.asarray([0.0, 0.5, 3.0])
    np.testing.assert_array_equal(Constant().elapsed(times), times)
    power = Power(jnp.asarray(2.0), jnp.asarray(0.25), jnp.asarray(1.0))
    np.testing.assert_allclose(power.elapsed(times), 2 / 0.75 * ((1 + times / 2) ** 0.75 - 1), rtol=1e-12, atol=1e-15)
    steps = Piecewise(jnp.asarray([1.0, 2.0]), jnp.asarray([0.5, 0.1]))
    np.testing.assert_allclose(steps.elapsed(times), [0, 0.5, 1 + 0.5 + 0.1], rtol=1e-12)


def test_solvers_are_told_of_jumps_and_kinks():
    told = {
        Steps(times=(1.0, 2.0), factors=(0.5, 0.1)): [1, 2],
        LinearKnots(times=(0.0, 2.0), factors=(0.5, 0.1)): [0, 2],
        WarmUpCosine(until=4.0, warm_up=0.5): [0.5, 4],
        HoldThenPower(hold=3.0): [3],
        PowerDecay(): [],
        ExponentialDecay(): [],
        None: [],
    }
    assert {one: schedule(one).jumps.tolist() for one in told} == told


KINDS = {
    '{kind = "linear", times = [0, 5], factors = [1, 0.1]}': LinearKnots(times=(0.0, 5.0), factors=(1.0, 0.1)),
    '{kind = "cosine", until = 5, warm_up = 1}': WarmUpCosine(until=5.0, warm_up=1.0),
    '{kind = "hold-power", hold = 5, exponent = 2}': HoldThenPower(hold=5.0, exponent=2.0),
}


@pytest.mark.parametrize("text", KINDS)
def test_they_are_written_in_files_and_set_at_the_command_line(text):
    read = loads(f"[training]\nschedule = {text}")
    assert read.training.schedule == KINDS[text]
    assert loads(dumps(read)) == read
    assert loads("").replace(**dict([parse_override(f"training.schedule={text}")])) == read


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '{kind = "linear", times = [0, 5], factors = [1]}',
            "2 times and 1 factors were given; give one factor per time.",
        ),
        ('{kind = "linear", times = [5, 5], factors = [1, 1]}', "must increase strictly"),
        ('{kind = "cosine"}', "needs a value for 'until'"),
        (
            '{kind = "cosine", until = 5, warm_up = 5}',
            "warm_up = 5 leaves no time for the cosine, which ends at until = 5",
        ),
        ('{kind = "hold-power"}', "needs a value for 'hold'"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(text, told):
    with pytest.raises(ProblemError, match=told):
        loads(f"[training]\nschedule = {text}")


@pytest.mark.parametrize("steps", [3, 7, 1000])
def test_a_step_that_begins_at_the_jump_has_the_new_rate_in_spite_of_rounding(steps):
    dt, jumping = 1 / 0.7 / 90, Steps(times=(steps / 0.7 / 90,), factors=(0.5,))
    at = [float(schedule(jumping)(jnp.asarray(n * dt))) for n in (steps - 1, steps, steps + 1)]
    assert at == [1.0, 0.5, 0.5]
