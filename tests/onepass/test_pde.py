"""The law of the neurons on two Gaussians: against real SGD, along its own functional, and between its two forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.onepass.gaussians_start import norms
from dimfree.onepass.gaussians_problem import Neurons, NoisyOnePass, TwoGaussiansProblem
from dimfree.onepass.sections import GaussianStart, TwoGaussians
from dimfree.problem import Problem
from dimfree.onepass.real.neurons import NeuronSGD
from dimfree.theory import anisotropic
from dimfree.onepass.fields.field import solve
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.limits.solvable import linear_law

RAMP = TwoGaussiansProblem()  # d = 40, N = 400, Delta = kappa = 0.8, eps = 2e-5
RELU = TwoGaussiansProblem(
    dimension=160,
    data=TwoGaussians(contrast=0.4, signal=30),
    network=Neurons(width=300, activation="relu", trained=("first-layer", "bias", "second-layer"), bias_start=1.0),
    training=NoisyOnePass(learning_rate=9.6),  # eps = 2e-4
)
LETTERS = ("a", "bias", "r1", "r2")


def seen(one, problem, times, seed=0, replicas=1):
    """Observables from the start of the seed."""
    m, start = one.model(problem), one.start(problem, jax.random.key(seed))
    state = one.begin(m, start, replicas, jax.random.key(seed + 100))
    advance = one.advance if not one.compiled else jax.jit(lambda s, t: one.advance(m, s, t))
    args = (m, state) if not one.compiled else (state,)
    state, found = advance(*args, jnp.asarray(times))
    assert one.failure(m, state) is None
    return {name: np.asarray(values) for name, values in one.observe(m, found).items()}


def means(found):
    """Over neurons, then over replicas."""
    return np.stack([found[letter].mean(axis=(1, 2)) for letter in LETTERS])


def test_follows_real_sgd():
    problem, times = RAMP.replace(**{"training.learning_rate": 1.28}), [0.0, 0.5, 1.0, 2.0]
    real = seen(NeuronSGD(), problem, times)
    limit = seen(DistributionalDynamics(own_start=True), problem, times)
    assert np.abs(means(real) - means(limit)).max() < 0.01
    assert np.abs(real["risk"] - limit["risk"]).max() < 0.01
    assert means(limit)[2, -1] - means(limit)[2, 0] > 0.6, "the neurons must move"


@pytest.mark.slow
def test_finite_dimension_is_what_sgd_feels():
    """20 dimensions of which 6 tell: the equations at d = inf are wrong, those at d are not."""
    every = ("first-layer", "bias", "second-layer")
    problem = TwoGaussiansProblem(
        dimension=20,
        data=TwoGaussians(contrast=0.8, signal=6),
        network=Neurons(width=400, trained=every),
        training=NoisyOnePass(learning_rate=0.32),  # eps = 4e-5
    )
    times, one = np.linspace(0, 2, 5), DistributionalDynamics(own_start=True)
    real, limit = means(seen(NeuronSGD(), problem, times)), means(seen(one, problem, times))
    start = one.start(problem, jax.random.key(0))
    neurons = anisotropic.Neurons(start.a, start.bias, *norms(start.weights, 6))
    activation = one.model(problem).activation
    run = solve(anisotropic.anisotropic(activation, 0.8, train_a=True, train_b=True), neurons, jnp.asarray(times))
    infinite = np.stack([getattr(run.particles, letter).mean(axis=1) for letter in ("a", "b", "r1", "r2")])
    off, off_infinite = (np.abs(real - other).max(axis=1) for other in (limit, infinite))
    assert (off < [0.02, 0.008, 0.01, 0.006]).all(), off
    assert (off_infinite > 5 * off).all(), (off, off_infinite)


@pytest.mark.parametrize(
    "problem", [pytest.param(RAMP, id="norms"), pytest.param(RELU, id="all parameters", marks=pytest.mark.slow)]
)
def test_functional_falls(problem):
    decay = 0.5
    found = seen(
        DistributionalDynamics(particles=100), problem.replace(**{"training.weight_decay": decay}), [0.0, 1.0, 2.0]
    )
    trained = LETTERS if problem is RELU else ("r1",)
    squares = sum((found[letter] ** 2).mean(axis=(1, 2)) for letter in trained)
    assert (np.diff(found["risk"][:, 0] + decay / 2 * squares) < 0).all()
    bare = seen(DistributionalDynamics(particles=100), problem, [0.0, 1.0, 2.0])
    assert (np.diff(bare["risk"][:, 0]) < 0).all()


@pytest.mark.slow
def test_steps_that_are_too_large_are_found_out():
    one, problem = DistributionalDynamics(particles=20, step=1.0), RELU.replace(**{"training.weight_decay": 5.0})
    m, start = one.model(problem), one.start(problem, jax.random.key(0))
    state, _ = one.advance(m, one.begin(m, start, 1, jax.random.key(0)), jnp.asarray([0.0, 1.0]))
    assert "smaller `step`" in str(one.failure(m, state))


@pytest.mark.slow
def test_what_is_not_trained_stays():
    found = seen(DistributionalDynamics(particles=50), RELU.replace(**{"network.trained": ("bias",)}), [0.0, 1.0])
    moved = np.abs(np.diff(means(found), axis=1))[:, 0]
    np.testing.assert_array_equal(moved > 1e-3, [False, True, False, False])


@pytest.mark.slow
@pytest.mark.parametrize("d", [10, 40])
def test_two_forms_are_one(d):
    """Norms on nodes of |x|, and all parameters as a series, of which the offset is too small to matter."""
    problem, times = RAMP.replace(dimension=d), [0.0, 1.0]
    by_norms = seen(DistributionalDynamics(particles=50), problem, times)
    general = seen(DistributionalDynamics(particles=50), problem.replace(**{"network.bias_start": 1e-9}), times)
    np.testing.assert_allclose(means(general), means(by_norms), atol=1e-6)
    np.testing.assert_allclose(general["risk"], by_norms["risk"], atol=1e-6)


def test_schedule_is_a_clock():
    slow = RAMP.replace(**{"training.schedule": {"kind": "steps", "times": [1.0], "factors": [0.5]}})
    one = DistributionalDynamics(particles=50)
    np.testing.assert_allclose(seen(one, slow, [0.0, 2.0])["r1"], seen(one, RAMP, [0.0, 1.5])["r1"], atol=1e-6)


@pytest.mark.slow
def test_noise_has_the_temperature_of_the_gibbs_weight():
    """Linear neurons feel noise and decay only: section c, Solvable 1."""
    beta, decay, d = 4.0, 1.0, 20
    problem = TwoGaussiansProblem(
        dimension=d,
        network=Neurons(activation="linear"),
        training=NoisyOnePass(weight_decay=decay, inverse_temperature=beta),
        start=GaussianStart(scale=2.0),
    )
    n = 400
    r = seen(DistributionalDynamics(particles=n), problem, [0.0, 0.3, 1.0])["r1"][:, 0]
    for t, squares in zip((0.3, 1.0), (r[1:] ** 2) / d, strict=True):
        variance = linear_law(np.zeros(1), decay, beta, t, np.zeros(1), 4.0 / d).variance
        assert abs(squares.mean() / variance - 1) < 4 * np.sqrt(2 / (n * d))


def test_refuses_in_one_sentence():
    one = DistributionalDynamics()
    assert one.refusal(RAMP) is None
    assert one.refusal(RELU) is None
    assert "train the first layer only" in str(one.refusal(RELU.replace(**{"training.inverse_temperature": 2.0})))
    assert "at least 2 coordinates" in str(one.refusal(RELU.replace(**{"data.signal": 1})))
    assert "two Gaussians" in str(one.refusal(Problem()))
