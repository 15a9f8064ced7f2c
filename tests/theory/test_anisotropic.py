from math import inf

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP, RAMP
from dimfree.theory.anisotropic import Neurons, anisotropic, quantile_neurons
from dimfree.theory.fixed_step import solve
from dimfree.theory.radial import two_gaussians

RELU = df.activation("relu")


def some_neurons(n=7, seed=0):
    rng = np.random.default_rng(seed)
    return Neurons(*(jnp.asarray(x) for x in (*rng.normal(size=(2, n)), *rng.uniform(0.2, 1.5, (2, n)))))


@pytest.mark.parametrize("name", ["relu", "dip-ramp", "tanh"])
def test_velocity_is_the_gradient_of_the_risk(name):
    sigma = DIP_RAMP if name == "dip-ramp" else df.activation(name)
    field, neurons, h = anisotropic(sigma, 0.4, train_a=True, train_b=True), some_neurons(), 1e-5
    terms = eqx.filter_jit(field.terms)
    velocity = terms(neurons)[0]
    for letter in ("a", "b", "r1", "r2"):

        def moved(s, letter=letter):
            shifted = getattr(neurons, letter).at[2].add(s * h)
            return terms(Neurons(**{**vars(neurons), letter: shifted}))[1]

        slope = (moved(1) - moved(-1)) / (2 * h)
        np.testing.assert_allclose(-slope * 7 / 2, getattr(velocity, letter)[2], rtol=1e-6, atol=1e-9)


def test_risk_is_that_of_data():
    rng, Delta, neurons = np.random.default_rng(1), 0.4, some_neurons(3)
    field = anisotropic(RELU, Delta)
    total = 0.0
    for y in (1, -1):
        g = rng.normal(size=(2, 3, 400_000))
        tau1, tau2 = (1 + y * Delta) * neurons.r1[:, None] * g[0], neurons.r2[:, None] * g[1]
        sample = np.asarray(neurons.a[:, None] * RELU(tau1 + tau2 + neurons.b[:, None]))
        # the law of large numbers over directions: f is the average of independent means
        total += 0.5 * (y - sample.mean(axis=1).mean()) ** 2
    np.testing.assert_allclose(field.terms(neurons)[1], total, atol=0.01)


def test_without_a_rest_it_is_the_isotropic_problem():
    r = jnp.asarray([0.3, 0.8, 1.7])
    neurons = Neurons(jnp.ones(3), jnp.zeros(3), r, jnp.zeros(3))
    velocity, risk = anisotropic(RAMP, 0.8).terms(neurons)
    expected, expected_risk = two_gaussians(RAMP, 0.8, inf).terms(r)
    np.testing.assert_allclose(velocity.r1, expected, atol=1e-8)
    np.testing.assert_allclose(risk, expected_risk, rtol=1e-9)
    for still in (velocity.a, velocity.b, velocity.r2):
        np.testing.assert_array_equal(still, 0.0)


def test_relu_run_forgets_its_offset_and_the_risk_falls():
    """Directions of the sheet: a, b and r2 fall, r1 grows."""
    start = quantile_neurons(0.8, 5, 60, 320, a=1.0, b=1.0)
    np.testing.assert_allclose(jnp.mean(start.r1**2), 0.64 * 60 / 320, rtol=0.05)
    run = solve(anisotropic(RELU, 0.4, train_a=True, train_b=True), start, jnp.asarray([3.0, 6.0]), 0.05)
    assert run.falls.all()
    last = run.particles
    assert last.a[-1].mean() < 0.5 > last.b[-1].mean()
    assert last.r1[-1].mean() > start.r1.mean()
    assert last.r2[-1].mean() < start.r2.mean()


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match=r"s0 = 50 in d = 40; give 0 < s0 < d"):
        quantile_neurons(0.8, 5, 50, 40)
    with pytest.raises(ProblemError, match="Delta is 1;"):
        anisotropic(RELU, 1.0)
