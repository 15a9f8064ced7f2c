"""SGD of neurons on two Gaussians in blocks is textbook SGD on the same samples, and its risk is the population risk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions import activation
from dimfree.onepass.gaussians_model import neuron_model
from dimfree.gaussian.neuron_risk import neuron_risk, output_moments
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.onepass.gaussians_problem import Neurons, NoisyOnePass, TwoGaussiansProblem
from dimfree.onepass.sections import GaussianStart, TwoGaussians
from dimfree.onepass.gaussians_problem import RAMP
from dimfree.simulate import neurons as simulate_neurons
from dimfree.onepass.real.neurons import NeuronSGD, draw_noise, draw_samples
from dimfree.onepass.limits.solvable import linear_law

STEPS, REPLICAS = (0, 1, 15, 16, 37), 2
ALL = ("first-layer", "bias", "second-layer")
BASE = TwoGaussiansProblem(
    dimension=12,
    data=TwoGaussians(contrast=0.6, signal=5),
    network=Neurons(width=7, activation="tanh", second_layer_start=1.5, bias_start=0.3),
    training=NoisyOnePass(learning_rate=6.0),
)
JUMP = 20 * BASE.time_step
CASES = {
    "first layer, isotropic": {"data.signal": None},
    "all": {"network.trained": ALL, "training.weight_decay": 2.0},
    "bias only": {"network.trained": ("bias",), "training.weight_decay": 2.0},
    "second layer only": {"network.trained": ("second-layer",), "training.weight_decay": 2.0},
    "batch and schedule": {
        "network.trained": ("second-layer", "first-layer"),
        "training.batch": 4,
        "training.weight_decay": 2.0,
        "training.schedule": {"kind": "steps", "times": [JUMP], "factors": [0.25]},
    },
    "noise": {"network.trained": ALL, "training.inverse_temperature": 0.5, "training.weight_decay": 1.0},
}
QUICK = ("all", "batch and schedule", "noise")
drawn, shaken = jax.jit(draw_samples, static_argnums=(2, 3)), jax.jit(draw_noise, static_argnums=2)


def naive(problem, start, network, key, replica, rate):
    """One sample at a time, in the parameters of section 0: w = w_lib/sqrt(d), x = sqrt(d) x_lib."""
    m, d, eps = neuron_model(problem), problem.dimension, problem.time_step
    training, batch = problem.training, problem.training.batch
    size = NeuronSGD().steps_per_block(m)
    trained = problem.network.trained
    w, b, a = np.asarray(start.weights) / np.sqrt(d), np.asarray(start.bias), np.asarray(start.a)
    path = []
    for step in range(STEPS[-1] + 1):
        path.append({"a": a, "bias": b, "r1": norm(w[:, : m.signal]), "r2": norm(w[:, m.signal :])})
        if step % size == 0:
            sample_key, noise_key = jax.random.split(jax.random.fold_in(key, step // size))
            X, y = (np.asarray(part, dtype=float) for part in drawn(m, sample_key, REPLICAS, size * batch))
            every = jax.tree.map(np.asarray, shaken(noise_key, network, size))
            places = (every.weights[:, replica], every.bias[..., replica], every.a[..., replica])
        push = [np.zeros_like(w), np.zeros_like(b), np.zeros_like(a)]
        for n in range(step % size * batch, (step % size + 1) * batch):
            x, at = X[replica, n], jnp.asarray(w @ X[replica, n] + b)
            value, slope = np.asarray(m.activation(at)), np.asarray(m.activation.derivative(at))
            error = y[n, replica] - np.mean(a * value)
            for total, gradient in zip(push, (np.outer(a * slope, x), a * slope, value), strict=True):
                total += error * gradient / batch
        now, noise = eps * rate(step * eps), [0.0, 0.0, 0.0]
        if training.inverse_temperature:
            spread = np.sqrt(2 * now / training.inverse_temperature)
            noise = [spread * place[step % size] for place in places]
        decay = training.weight_decay
        w, b, a = (
            old + now * (p - decay * old) + shake if part in trained else old
            for old, p, shake, part in zip((w, b, a), push, noise, ALL, strict=True)
        )
    return path


def norm(rows):
    return np.sqrt((rows**2).sum(axis=1))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_blocks_are_textbook_sgd(name, monkeypatch):
    monkeypatch.setattr(
        simulate_neurons, "neuron_risk", lambda *_: jnp.zeros(())
    )  # tested below; half of the compilation
    problem, sgd, key = BASE.replace(**CASES[name]), NeuronSGD(), jax.random.key(7)
    m, start = sgd.model(problem), sgd.start(problem, jax.random.key(1))
    state = sgd.begin(m, start, REPLICAS, key)
    found = jax.jit(lambda s, t: sgd.advance(m, s, t)[1])(state, jnp.asarray(STEPS) * problem.time_step)
    path = naive(
        problem, start, state.network, key, 1, lambda t: 0.25 if "schedule" in name and t > JUMP - 1e-9 else 1.0
    )
    for i, step in enumerate(STEPS):
        for letter, expected in path[step].items():
            actual = np.asarray(getattr(found, letter))[i, 1]
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6, err_msg=f"{letter} after {step} steps")
    letters = {"first-layer": "r1", "bias": "bias", "second-layer": "a"}
    for part, letter in letters.items():
        moved = np.abs(np.diff(np.asarray(getattr(found, letter))[[0, -1]], axis=0)).max()
        assert (moved > 1e-2) == (part in problem.network.trained), f"{letter} moved by {moved}"


def test_path_depends_on_the_key_alone():
    sgd, problem, key = NeuronSGD(), BASE, jax.random.key(3)
    m, start = sgd.model(problem), sgd.start(problem, jax.random.key(1))
    advance = jax.jit(lambda s, t: sgd.advance(m, s, t))
    begun = sgd.begin(m, start, REPLICAS, key)
    at_once = advance(begun, jnp.asarray([40.0, 50.0]) * m.time_step)[1]
    state, _ = advance(begun, jnp.asarray([3.0, 33.0]) * m.time_step)
    later = advance(state, jnp.asarray([33.0, 50.0]) * m.time_step)[1]
    for letter in ("a", "bias", "r1", "r2", "risk"):
        np.testing.assert_array_equal(getattr(at_once, letter)[1], getattr(later, letter)[1])
    assert not np.array_equal(at_once.r1[:, 0], at_once.r1[:, 1]), "replicas must differ"


@pytest.mark.parametrize(
    ("sigma", "signal"),
    [("relu", 8), pytest.param(RAMP, 20, marks=pytest.mark.slow), pytest.param("tanh", 8, marks=pytest.mark.slow)],
)
def test_risk_is_that_of_fresh_samples(sigma, signal):
    problem = BASE.replace(**{"dimension": 20, "data.signal": signal, "network.width": 30, "network.activation": sigma})
    m, d, count = neuron_model(problem), 20, 400_000
    rng = np.random.default_rng(0)
    w, b, a = rng.normal(size=(30, d)) / np.sqrt(d), rng.normal(size=30), 1 + rng.normal(size=30)
    risk = neuron_risk(m.activation, m.Delta, *map(jnp.asarray, (a, b, w[:, :signal], w[:, signal:])))
    X, y = drawn(m, jax.random.key(2), 1, count)
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


def test_noise_has_the_temperature_of_the_gibbs_weight():
    """Linear neurons: what a sample adds is common to all of them, so their spread is that of section c, Solvable 1."""
    beta, decay, eps = 4.0, 1.0, 0.01
    problem = TwoGaussiansProblem(
        dimension=20,
        network=Neurons(width=1000, activation="linear"),
        training=NoisyOnePass(learning_rate=eps * 20_000, weight_decay=decay, inverse_temperature=beta),
        start=GaussianStart(scale=2.0),
    )
    sgd, m = NeuronSGD(), neuron_model(problem)
    assert float(m.beta_eff) == beta
    advance = jax.jit(lambda s, t: sgd.advance(m, s, t)[0])
    walk = sgd.begin(m, sgd.start(problem, jax.random.key(0)), 1, jax.random.key(1))
    start = spread(walk)
    for t in (0.5, 3.0):
        walk = advance(walk, jnp.asarray([t]))
        rest = 2 / beta / (2 * decay - decay**2 * eps)  # with steps of size eps; 1/(beta lambda) as eps vanishes
        expected = rest + (start - rest) * (1 - decay * eps) ** (2 * round(t / eps))
        assert abs(spread(walk) / expected - 1) < 4 * np.sqrt(2 / 20_000)
        limit = linear_law(np.zeros(1), decay, beta, t, np.zeros(1), float(start)).variance
        np.testing.assert_allclose(expected, limit, rtol=0.02)


def spread(walk):
    """The variance between neurons, per coordinate in the scaling of the sheet."""
    weights = np.asarray(walk.network.weights[0])
    return weights.var(axis=0, ddof=1).mean() / weights.shape[1]
