"""Schedules: factors on the base rate."""

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions.schedule import schedule
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


def test_only_steps_jump():
    assert schedule(Steps(times=(1.0, 2.0), factors=(0.5, 0.1))).jumps == (1.0, 2.0)
    assert schedule(None).jumps == schedule(PowerDecay()).jumps == schedule(ExponentialDecay()).jumps == ()


@pytest.mark.parametrize("steps", [3, 7, 1000])
def test_a_step_that_begins_at_the_jump_has_the_new_rate_in_spite_of_rounding(steps):
    dt, jumping = 1 / 0.7 / 90, Steps(times=(steps / 0.7 / 90,), factors=(0.5,))
    at = [float(schedule(jumping)(jnp.asarray(n * dt))) for n in (steps - 1, steps, steps + 1)]
    assert at == [1.0, 0.5, 0.5]
