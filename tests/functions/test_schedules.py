"""Schedules: factors on the base rate."""

from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from dimfree.functions.schedule import Constant, Piecewise, Power, schedule
from dimfree.problem import ExponentialDecay, PowerDecay, Steps

TIMES = np.array([0.0, 0.4, 1.0, 2.5, 40.0])


@pytest.mark.parametrize(
    ("written", "factor"),
    [
        (None, np.ones_like),
        (PowerDecay(scale=2.0, exponent=0.75), lambda t: (1 + t / 2) ** -0.75),
        (PowerDecay(scale=2.0, exponent=0.0), np.ones_like),
        (ExponentialDecay(scale=3.0), lambda t: np.exp(-t / 3)),
        (Steps(times=(1.0, 2.0), factors=(0.5, 0.0)), lambda t: np.select([t < 1, t < 2], [1.0, 0.5], 0.0)),
        (Steps(times=(0.0,), factors=(0.25,)), lambda t: np.full_like(t, 0.25)),
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
    ],
)
def test_elapsed_is_the_integral_of_the_factor(written):
    one = schedule(written)
    factor = lambda t: float(one(jnp.asarray(t)))  # noqa: E731
    found = np.asarray(one.elapsed(jnp.asarray(TIMES)))
    for t, elapsed in zip(TIMES, found, strict=True):
        edges = np.unique([0.0, *(jump for jump in one.jumps if jump < t), t])
        pieces = [quad(factor, *ends, epsabs=1e-13, epsrel=1e-13)[0] for ends in pairwise(edges)]
        np.testing.assert_allclose(elapsed, sum(pieces), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(one.elapsed(jnp.asarray(t)), elapsed, rtol=1e-15)


def test_elapsed_is_closed():
    times = jnp.asarray([0.0, 0.5, 3.0])
    np.testing.assert_array_equal(Constant().elapsed(times), times)
    power = Power(jnp.asarray(2.0), jnp.asarray(0.25))
    np.testing.assert_allclose(power.elapsed(times), 2 / 0.75 * ((1 + times / 2) ** 0.75 - 1), rtol=1e-12, atol=1e-15)
    steps = Piecewise((1.0, 2.0), jnp.asarray([0.5, 0.1]))
    np.testing.assert_allclose(steps.elapsed(times), [0, 0.5, 1 + 0.5 + 0.1], rtol=1e-12)


def test_only_steps_jump():
    assert schedule(Steps(times=(1.0, 2.0), factors=(0.5, 0.1))).jumps == (1.0, 2.0)
    assert schedule(None).jumps == schedule(PowerDecay()).jumps == schedule(ExponentialDecay()).jumps == ()


@pytest.mark.parametrize("steps", [3, 7, 1000])
def test_a_step_that_begins_at_the_jump_has_the_new_rate_in_spite_of_rounding(steps):
    dt, jumping = 1 / 0.7 / 90, Steps(times=(steps / 0.7 / 90,), factors=(0.5,))
    at = [float(schedule(jumping)(jnp.asarray(n * dt))) for n in (steps - 1, steps, steps + 1)]
    assert at == [1.0, 0.5, 0.5]
