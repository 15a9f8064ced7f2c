"""The law of the neurons on two Gaussians: against real SGD, along its own functional, and between its two forms."""

import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.gallery.solvable import linear_law
from dimfree.onepass.fields.anisotropic import Neurons, anisotropic
from dimfree.onepass.fields.field import solve
from dimfree.onepass.kinds.gaussians.model import part_norms
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.setting import why_not

RAMP = df.Problem(data=df.TwoGaussians())  # d = 40, N = 400, Delta = kappa = 0.8, eps = 2e-5
EVERY = ("first-layer", "bias", "second-layer")
RELU = df.Problem(
    dimension=160,
    data=df.TwoGaussians(contrast=0.4, signal=30),
    network=df.TwoLayer(width=300, activation="relu", trained=EVERY, bias_start=1.0),
    training=df.OnePass(learning_rate=9.6),  # eps = 2e-4
)
NOISY = RAMP.replace(**{"training.inverse_temperature": 30.0, "training.weight_decay": 0.1})
LETTERS = ("a", "bias", "r1", "r2")
FEW = DistributionalDynamics(particles=50)
KEY = jax.random.key(100)


def begun(one, problem, seed=0, replicas=1):
    """Model and state at time 0, from the start of the seed."""
    m, start = df.extend.model(problem), df.extend.draw_start(problem, jax.random.key(seed), vectors=True)
    return m, one.begin(m, start, replicas, jax.random.key(seed + 100))


def seen(one, problem, times, seed=0, replicas=1):
    """Observables from the start of the seed."""
    m, state = begun(one, problem, seed, replicas)
    state, found = eqx.filter_jit(one.advance)(m, state, jnp.asarray(times))
    assert one.failure(m, state) is None
    return {name: np.asarray(values) for name, values in found.items()}


def means(found):
    """Over neurons, then over replicas."""
    return np.stack([found[letter].mean(axis=(1, 2)) for letter in LETTERS])


@pytest.mark.slow
def test_follows_real_sgd():
    problem, times = RAMP.replace(**{"training.learning_rate": 1.28}), [0.0, 0.5, 1.0, 2.0]
    real = seen(df.experiments.VectorSGD(), problem, times)
    limit = seen(DistributionalDynamics(own_start=True), problem, times)
    assert np.abs(means(real) - means(limit)).max() < 0.01
    assert np.abs(real["risk"] - limit["risk"]).max() < 0.01
    assert means(limit)[2, -1] - means(limit)[2, 0] > 0.6, "the neurons must move"


@pytest.mark.slow
def test_finite_dimension_is_what_sgd_feels():
    """20 dimensions of which 6 tell: the equations at d = inf are wrong, those at d are not."""
    problem = df.Problem(
        dimension=20,
        data=df.TwoGaussians(contrast=0.8, signal=6),
        network=df.TwoLayer(width=400, trained=EVERY),
        training=df.OnePass(learning_rate=0.32),  # eps = 4e-5
    )
    times, one = np.linspace(0, 2, 5), DistributionalDynamics(own_start=True)
    real, limit = means(seen(df.experiments.VectorSGD(), problem, times)), means(seen(one, problem, times))
    start = df.extend.draw_start(problem, jax.random.key(0), vectors=True)
    neurons = Neurons(start.measured.a, start.bias, *part_norms(start.weights, 6))
    activation = df.extend.model(problem).activation
    run = solve(anisotropic(activation, 0.8, train_a=True, train_b=True), neurons, jnp.asarray(times))
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
def test_functional_falls_at_every_rate():
    """A second layer at three times the rate and with a decay of its own."""
    changes = {"training.second_layer_rate": 3.0, "training.weight_decay": 0.2, "training.second_layer_decay": 0.6}
    found = seen(FEW, RELU.replace(**changes), np.linspace(0.0, 2.0, 5))
    squares = {letter: (found[letter] ** 2).mean(axis=(1, 2)) for letter in LETTERS}
    paid = 0.1 * (squares["bias"] + squares["r1"] + squares["r2"]) + 0.6 / 3.0 / 2 * squares["a"]
    assert (np.diff(found["risk"][:, 0] + paid) < 0).all()
    slow = seen(FEW, RELU, [0.0, 1e-3])
    fast = seen(FEW, RELU.replace(**{"training.second_layer_rate": 3.0}), [0.0, 1e-3])
    np.testing.assert_allclose(np.diff(means(fast))[:, 0] / np.diff(means(slow))[:, 0], [3, 1, 1, 1], rtol=0.01)


@pytest.mark.slow
def test_steps_that_are_too_large_are_found_out():
    one, problem = DistributionalDynamics(particles=20, step=1.0), RELU.replace(**{"training.weight_decay": 5.0})
    m, state = begun(one, problem)
    state, _ = one.advance(m, state, jnp.asarray([0.0, 1.0]))
    assert "smaller `step`" in str(one.failure(m, state))
    state, _ = one.advance(m, state, jnp.asarray([1.0]))
    assert "smaller `step`" in str(one.failure(m, state)), "what was lost stays lost"


@pytest.mark.slow
def test_what_is_not_trained_stays():
    found = seen(FEW, RELU.replace(**{"network.trained": ("bias",)}), [0.0, 1.0])
    moved = np.abs(np.diff(means(found), axis=1))[:, 0]
    np.testing.assert_array_equal(moved > 1e-3, [False, True, False, False])


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"dimension": 10}, {}, {"network.second_layer_start": "signs"}], ids=str)
def test_two_forms_are_one(changes):
    """Norms on nodes of |x|, and all parameters as a series, of which the offset is too small to matter."""
    problem, times = RAMP.replace(**changes), [0.0, 1.0]
    by_norms = seen(FEW, problem, times)
    general = seen(FEW, problem.replace(**{"network.bias_start": 1e-9}), times)
    np.testing.assert_allclose(means(general), means(by_norms), atol=1e-6)
    np.testing.assert_allclose(general["risk"], by_norms["risk"], atol=1e-6)


def test_second_layers_are_those_of_the_network_and_have_nothing_to_do_with_the_norms():
    signs = seen(FEW, RAMP.replace(**{"network.second_layer_start": "signs"}), [0.0])
    a, r = signs["a"][0, 0], signs["r1"][0, 0]
    np.testing.assert_array_equal(np.sort(a), np.repeat([-1.0, 1.0], 25))
    assert abs(r[a > 0].mean() - r[a < 0].mean()) < 0.1 * r.std()
    np.testing.assert_array_equal(r, seen(FEW, RAMP, [0.0])["r1"][0, 0])


def test_schedule_is_a_clock():
    slow = RAMP.replace(**{"training.schedule": {"kind": "steps", "times": [1.0], "factors": [0.5]}})
    np.testing.assert_allclose(seen(FEW, slow, [0.0, 2.0])["r1"], seen(FEW, RAMP, [0.0, 1.5])["r1"], atol=1e-6)


@pytest.mark.slow
def test_noise_has_the_temperature_of_the_gibbs_weight():
    """Linear neurons feel noise and decay only: section c, Solvable 1."""
    beta, decay, d = 4.0, 1.0, 20
    problem = df.Problem(
        dimension=d,
        data=df.TwoGaussians(),
        network=df.TwoLayer(activation="linear"),
        training=df.OnePass(weight_decay=decay, inverse_temperature=beta),
        start=df.GaussianStart(scale=2.0),
    )
    n = 400
    r = seen(DistributionalDynamics(particles=n), problem, [0.0, 0.3, 1.0])["r1"][:, 0]
    for t, squares in zip((0.3, 1.0), (r[1:] ** 2) / d, strict=True):
        variance = linear_law(np.zeros(1), decay, beta, t, np.zeros(1), 4.0 / d).variance
        assert abs(squares.mean() / variance - 1) < 4 * np.sqrt(2 / (n * d))


@pytest.mark.slow
@pytest.mark.parametrize("problem", [RAMP, NOISY], ids=["still", "noisy"])
def test_in_two_pieces_is_in_one_to_the_last_bit(problem):
    times = jnp.asarray([0.0, 0.05, 0.1, 0.13, 0.2, 0.4])
    advance = eqx.filter_jit(FEW.advance)
    m, state = begun(FEW, problem)
    end, whole = advance(m, state, times)
    half, first = advance(m, state, times[:3])
    last, second = advance(m, half, times[3:])
    for name, values in whole.items():
        np.testing.assert_array_equal(np.concatenate([first[name], second[name]]), values, err_msg=name)
    for one, other in zip(*(jax.tree.leaves(eqx.filter(s, eqx.is_inexact_array)) for s in (end, last)), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(jax.random.key_data(end.key), jax.random.key_data(last.key))
    assert bool(jnp.array_equal(jax.random.key_data(end.key), jax.random.key_data(state.key))) == (problem is RAMP)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "number"),
    [
        pytest.param(RAMP, lambda m, s: m.Delta, id="contrast"),
        pytest.param(RAMP, lambda m, s: s.scale, id="start scale", marks=pytest.mark.slow),
        pytest.param(NOISY, lambda m, s: m.temperature, id="temperature", marks=pytest.mark.slow),
        pytest.param(NOISY, lambda m, s: m.omega, id="decay", marks=pytest.mark.slow),
        pytest.param(
            RELU.replace(**{"training.schedule": {"kind": "power", "scale": 2.0}}),
            lambda m, s: m.schedule.scale,
            id="schedule",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_gradients_are_difference_quotients(problem, number):
    one = DistributionalDynamics(particles=20)
    given = df.extend.model(problem), df.extend.draw_start(problem, jax.random.key(0), vectors=True)
    of = lambda pair: number(*pair)  # noqa: E731

    @eqx.filter_jit
    def last(x):
        m, start = eqx.tree_at(of, given, x)
        return one.run(m, start, jnp.asarray([0.1, 0.5]), KEY)["risk"][-1, 0]

    x, h = of(given), 1e-4 * of(given)
    around = [last(x + s * h) for s in (-2, -1, 1, 2)]
    slope = (8 * (around[2] - around[1]) - (around[3] - around[0])) / (12 * h)
    np.testing.assert_allclose(jax.jit(jax.grad(last))(x), slope, rtol=1e-5)
    assert slope != 0


def test_many_numbers_at_once_are_one_after_the_other():
    start = df.extend.draw_start(RAMP, jax.random.key(0), vectors=True)

    def last(Delta, scale, decay, gamma):
        m = eqx.tree_at(lambda m: (m.Delta, m.omega, m.gamma), df.extend.model(RAMP), (Delta, decay, gamma))
        begun = eqx.tree_at(lambda s: s.scale, start, scale)
        return FEW.run(m, begun, jnp.asarray([0.1, 0.5]), KEY)["risk"][:, 0]

    numbers = jnp.asarray([[0.5, 0.8], [0.6, 1.0], [0.0, 0.3], [0.1, 2.0]])
    together, alone = jax.jit(jax.vmap(last))(*numbers), jax.jit(last)
    np.testing.assert_allclose(together, jnp.stack([alone(*column) for column in numbers.T]), rtol=1e-12)
    np.testing.assert_array_equal(alone(0.5, 0.6, 0.0, 0.1), alone(0.5, 0.6, 0.0, 2.0))  # no step noise in the limit


def test_importing_it_is_cheap():
    """No solver of differential equations, statistics or optimisation is loaded for it."""
    heavy = {"diffrax", "optimistix", "scipy.stats", "scipy.optimize", "matplotlib", "xarray"}
    code = "import sys, dimfree.onepass.limits.pde, dimfree.onepass.fields.teacher_forms; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "dimfree.onepass.fields.subspace" in loaded
    assert heavy.isdisjoint(loaded)


def test_refuses_in_one_sentence():
    assert why_not(FEW, RAMP) is None
    assert why_not(FEW, RELU) is None
    assert why_not(FEW, NOISY) is None
    for changes, words in (
        ({"training.inverse_temperature": 2.0}, "train the first layer only"),
        ({"data.signal": 1}, "at least 2 coordinates"),
        ({"training.spherical": True}, "set training.spherical = false"),
        ({"start.kind": "sphere"}, "start.kind is 'sphere'"),
        (
            {"training.schedule": {"kind": "power"}, "training.scheduled": "gradient", "training.weight_decay": 0.1},
            "set training.scheduled = 'everything'",
        ),
        (
            {"training.second_layer_rate": 0.0, "training.weight_decay": 0.1},
            "set training.second_layer_rate above 0",
        ),
    ):
        reason = str(why_not(FEW, RELU.replace(**changes)))
        assert words in reason
        assert reason.count(". ") == 0
        assert reason.endswith(".")
    assert why_not(DistributionalDynamics(own_start=True), RAMP.replace(**{"start.kind": "sphere"})) is None
    assert DistributionalDynamics(own_start=True).needs == {"vectors"}
    assert "fresh samples" in str(why_not(FEW, df.Problem(data=df.TwoClusters())))
