"""Neurons on two centred Gaussians: their risk is the population risk, and their noise has the temperature it is given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions import activation
from dimfree.gallery.solvable import linear_law
from dimfree.gaussian.neuron_risk import neuron_risk, output_moments
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.model import model
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.onepass.start import draw_start
from dimfree.problem import Problem

RAMP = Problem(data=TwoGaussians()).network.activation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "signal"),
    [("relu", 8), pytest.param(RAMP, 20, marks=pytest.mark.slow), pytest.param("tanh", 8, marks=pytest.mark.slow)],
)
def test_risk_is_that_of_fresh_samples(sigma, signal):
    problem = Problem(
        dimension=20,
        data=TwoGaussians(contrast=0.6, signal=signal),
        network=TwoLayer(width=30, activation=sigma, second_layer_start=1.5, bias_start=0.3),
    )
    m, d, count = model(problem), 20, 400_000
    rng = np.random.default_rng(0)
    w, b, a = rng.normal(size=(30, d)) / np.sqrt(d), rng.normal(size=30), 1 + rng.normal(size=30)
    risk = neuron_risk(m.activation, m.Delta, *map(jnp.asarray, (a, b, w[:, :signal], w[:, signal:])))
    X, hidden = jax.jit(lambda key: m.law.draw(key, 1, count, d))(jax.random.key(2))
    y = m.law.label(jnp.zeros((count, 0, 1)), hidden)
    f = np.asarray(m.activation(jnp.asarray(np.asarray(X[0], dtype=float) @ w.T + b))) @ a / 30
    losses = (np.asarray(y)[:, 0] - f) ** 2 / 2
    z = (losses.mean() - float(risk)) / (losses.std() / np.sqrt(count))
    assert abs(z) < 4


@pytest.mark.parametrize(
    ("sigma", "d", "tolerance"),
    [
        ("erf", 40, 1e-12),
        ("erf", 10, 1e-9),
        *(pytest.param(RAMP, *size, marks=pytest.mark.slow) for size in ((40, 1e-12), (10, 1e-6), (3, 1e-5))),
    ],
)
def test_series_over_pairs_meets_the_two_point_kernels(sigma, d, tolerance):
    sigma, rng = activation(sigma), np.random.default_rng(1)
    w, a = jnp.asarray(rng.normal(size=(40, d)) / np.sqrt(d)), jnp.asarray(rng.normal(size=40))
    Q = w @ w.T
    kappa = two_point(sigma, sigma, jnp.diagonal(Q)[:, None], Q, jnp.diagonal(Q)).kappa
    _, second = output_moments(sigma, a, jnp.zeros(40), w, 64 if d >= 10 else 256)
    assert abs(float(second - a @ kappa @ a / 40**2)) < tolerance * float(second)


BASE = Problem(
    dimension=12,
    data=TwoGaussians(contrast=0.6, signal=5),
    network=TwoLayer(width=7, activation="tanh", second_layer_start=1.5, bias_start=0.3),
    training=OnePass(learning_rate=6.0),
)


def test_path_depends_on_the_key_alone():
    sgd, m, start = VectorSGD(), model(BASE), draw_start(BASE, jax.random.key(1), vectors=True)
    advance = jax.jit(lambda s, t: sgd.advance(m, s, t))
    begun = sgd.begin(m, start, 2, jax.random.key(3))
    at_once = advance(begun, jnp.asarray([40.0, 50.0]) * m.time_step)[1]
    state, _ = advance(begun, jnp.asarray([3.0, 33.0]) * m.time_step)
    later = advance(state, jnp.asarray([33.0, 50.0]) * m.time_step)[1]
    assert set(at_once) == {"a", "bias", "r1", "r2", "risk"}
    for letter in at_once:
        np.testing.assert_array_equal(at_once[letter][1], later[letter][1])
    assert not np.array_equal(at_once["r1"][:, 0], at_once["r1"][:, 1]), "replicas must differ"


def test_observables_are_those_of_the_vectors():
    sgd, m, start = VectorSGD(), model(BASE), draw_start(BASE, jax.random.key(1), vectors=True)
    network = sgd.begin(m, start, 2, jax.random.key(0)).network
    seen = jax.jit(sgd.look)(m, network)
    W = start.weights / np.sqrt(12)
    risk = jax.jit(neuron_risk)(m.activation, m.Delta, jnp.full(7, 1.5), jnp.full(7, 0.3), W[:, :5], W[:, 5:])
    for replica in range(2):
        np.testing.assert_allclose(seen["r1"][replica], np.linalg.norm(W[:, :5], axis=1), rtol=1e-13)
        np.testing.assert_allclose(seen["r2"][replica], np.linalg.norm(W[:, 5:], axis=1), rtol=1e-13)
        np.testing.assert_allclose(seen["risk"][replica], risk, rtol=1e-12)


@pytest.mark.slow
def test_noise_has_the_temperature_of_the_gibbs_weight():
    """Linear neurons: what a sample adds is common to all of them, so their spread is that of section c, Solvable 1."""
    beta, decay, eps = 4.0, 1.0, 0.01
    problem = Problem(
        dimension=20,
        data=TwoGaussians(),
        network=TwoLayer(width=1000, activation="linear"),
        training=OnePass(learning_rate=eps * 20_000, weight_decay=decay, inverse_temperature=beta),
        start=GaussianStart(scale=2.0),
    )
    sgd, m = VectorSGD(), model(problem)
    assert float(m.beta_eff) == beta
    advance = jax.jit(lambda s, t: sgd.advance(m, s, t)[0])
    now = sgd.begin(m, draw_start(problem, jax.random.key(0), vectors=True), 1, jax.random.key(1))
    start = spread(now)
    for t in (0.5, 3.0):
        now = advance(now, jnp.asarray([t]))
        rest = 2 / beta / (2 * decay - decay**2 * eps)  # with steps of size eps; 1/(beta lambda) as eps vanishes
        # the state is kept at the start of a block of steps, the last of which may lie before t
        done = int(now.block) * sgd.steps_per_block(m)
        expected = rest + (start - rest) * (1 - decay * eps) ** (2 * done)
        assert abs(spread(now) / expected - 1) < 4 * np.sqrt(2 / 20_000)
        limit = linear_law(np.zeros(1), decay, beta, done * eps, np.zeros(1), float(start)).variance
        np.testing.assert_allclose(expected, limit, rtol=0.02)


def spread(now):
    """The variance between neurons, per coordinate in the scaling of the sheet."""
    weights = np.asarray(now.network.students[0])
    return weights.var(axis=0, ddof=1).mean() / weights.shape[1]
