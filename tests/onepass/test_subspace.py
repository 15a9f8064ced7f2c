from math import inf

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.gaussian.closure import dimensionless_terms, mean_field_terms
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.subspace import SubspaceNeurons, smooth_plane, split_plane, subspace
from dimfree.states.overlaps import factor
from dimfree.states.particles import Particles
from stages import gating

AT_ZERO = jnp.zeros((2, 0))  # planes on which labels bend: those through zero only


def committee(name, overlap, d=20):
    network = df.TwoLayer(width=6, activation=name, second_layer="trained")
    return df.extend.model(
        df.Problem(dimension=d, network=network, data=df.Teacher(units=2, activation=name, overlap=overlap))
    )


def some_neurons(n=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    a, s, r = rng.normal(size=n), 0.3 * rng.normal(size=(n, k)), rng.uniform(0.5, 1, n)
    return SubspaceNeurons(jnp.asarray(a), jnp.zeros(n), jnp.asarray(s), jnp.asarray(r))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "d", "overlap", "kinks"),
    [
        ("erf", inf, [[1, 0.3], [0.3, 1.2]], None),
        ("erf", 20.0, [[1, 0.3], [0.3, 1.2]], None),
        ("relu", inf, [[1, 0], [0, 1.2]], AT_ZERO),
        ("relu", 20.0, [[1, 0], [0, 1.2]], AT_ZERO),
        ("hard-tanh", 20.0, [[1, 0], [0, 1]], [[-1.0, 1.0]] * 2),
        ("tanh", inf, [[1, 0.3], [0.3, 1.2]], None),
        ("tanh", 20.0, [[1, 0.3], [0.3, 1.2]], None),
        ("square", 20.0, [[1, 0.3], [0.3, 1.2]], None),
    ],
)
def test_a_committee_is_the_closure_of_wide_networks(name, d, overlap, kinks):
    """Nodes here, pairs of units there (docs/theory/committee.md, section 5): two roads to the same velocities."""
    model, neurons = committee(name, overlap), some_neurons()
    A = factor(model.target.P, 2)
    plane = smooth_plane(2, 2) if kinks is None else split_plane(jnp.asarray(kinks), 24)
    field = subspace(model.activation, lambda z: model.target(z @ A.T), plane, d=d)
    velocity, risk = eqx.filter_jit(field.terms)(neurons)
    state = Particles(neurons.s @ A.T, neurons.r**2, neurons.a)
    pairs = dimensionless_terms(model, state, False) if d == inf else mean_field_terms(model, state, False, 24)
    np.testing.assert_allclose(risk, 2 * pairs.risk, atol=1e-8)
    np.testing.assert_allclose(velocity.a, pairs.Psia, atol=1e-8)
    np.testing.assert_allclose(velocity.s @ A.T, pairs.PsiM, atol=1e-8)
    np.testing.assert_allclose(2 * neurons.r * velocity.r, pairs.Psiq, atol=1e-8)


@pytest.mark.parametrize("d", [inf, 12.0])
def test_velocity_is_the_gradient_of_the_risk(d):
    labels = lambda z: z[:, 0] + jnp.tanh(z[:, 0] * z[:, 1])  # noqa: E731
    field = subspace(df.extend.activation("hard-tanh"), labels, smooth_plane(2), d=d, train_b=True, orders=4)
    neurons = some_neurons(4)
    terms = eqx.filter_jit(field.terms)
    velocity, h = terms(neurons)[0], 1e-5
    for letter, place in (("a", 1), ("b", 2), ("s", (0, 1)), ("r", 3)):
        up, down = (
            terms(SubspaceNeurons(**{**vars(neurons), letter: getattr(neurons, letter).at[place].add(s * h)}))[1]
            for s in (1, -1)
        )
        np.testing.assert_allclose(-(up - down) / h, getattr(velocity, letter)[place], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", gating(["hard-tanh", "erf"], ["erf"]))
def test_finite_risk_is_that_of_data(name):
    """Inputs and weights in d = 5 dimensions: (y - f)(y - f') with directions of their own has the risk as its mean."""
    rng, d, neurons, samples, copies = np.random.default_rng(4), 5, some_neurons(3, 2, 5), 20_000, 40
    sigma, labels = df.extend.activation(name), lambda z: jnp.tanh(z[:, 0]) + 0.5 * z[:, 1]
    x = rng.normal(size=(samples, d))
    y = np.asarray(labels(jnp.asarray(x[:, :2])))
    fs = []
    for _ in range(2):
        n = rng.normal(size=(copies, 3, samples, d - 2))
        n /= np.linalg.norm(n, axis=-1, keepdims=True)
        rest = np.asarray(neurons.r)[:, None] * np.einsum("cnsd,sd->cns", n, x[:, 2:])
        value = np.asarray(sigma(jnp.asarray(rest) + neurons.s @ x[:, :2].T))
        fs.append(np.mean(np.asarray(neurons.a)[:, None] * value.mean(axis=0), axis=0))
    sample = (y - fs[0]) * (y - fs[1])
    exact = float(subspace(sigma, labels, smooth_plane(2), d=float(d)).terms(neurons)[1])
    assert abs(sample.mean() - exact) < 4 * sample.std() / np.sqrt(samples)


def test_tends_to_its_limit_like_one_over_d():
    labels, neurons = lambda z: jnp.tanh(z[:, 0]), some_neurons(6, 1)
    run = lambda d: subspace(df.extend.activation("relu"), labels, smooth_plane(1), d=d).terms(neurons)  # noqa: E731
    velocity, risk = run(inf)
    gaps = []
    for d in (81.0, 641.0):
        moved, higher = run(d)
        gaps.append(
            [higher - risk, *(jnp.linalg.norm(getattr(moved, x) - getattr(velocity, x)) for x in ("a", "s", "r"))]
        )
    assert gaps[1][0] > 0, "what the norm of the rest tells is noise"
    np.testing.assert_allclose(np.log(np.divide(*gaps)) / np.log(8), 1.0, atol=0.03)


@pytest.mark.slow
def test_finite_dimension_is_what_sgd_feels():
    """Batches of 32, 500 neurons, d = 4: the equations at d = inf are far off, those at d are not."""
    d, n, batch, eps, steps = 4, 500, 32, 2e-3, 1500
    rng, sigma = np.random.default_rng(7), df.extend.activation("relu")
    a, w = jnp.ones(n), jnp.asarray(rng.normal(size=(n, d)))

    def step(state, key):
        a, w = state
        x = jax.random.normal(key, (batch, d))
        at = x @ w.T
        error = (x[:, 0] - sigma(at) @ a / n) / batch
        return (
            a + eps * error @ sigma(at),
            w + eps * a[:, None] * ((error[:, None] * sigma.derivative(at)).T @ x),
        ), None

    last_a, last_w = jax.lax.scan(step, (a, w), jax.random.split(jax.random.key(0), steps))[0]
    summary = lambda a, s, r: np.array([jnp.mean(a), jnp.mean(s), jnp.mean(r)])  # noqa: E731
    real = summary(last_a, last_w[:, 0], jnp.linalg.norm(last_w[:, 1:], axis=1))
    start = SubspaceNeurons(a, jnp.zeros(n), w[:, :1], jnp.linalg.norm(w[:, 1:], axis=1))
    off = []
    for dimension in (float(d), inf):
        field = subspace(sigma, lambda z: z[:, 0], smooth_plane(1), d=dimension)
        last = solve(field, start, jnp.asarray([eps * steps]), 0.1).particles
        off.append(np.abs(real - summary(last.a[0], last.s[0, :, 0], last.r[0])))
    assert (off[0] < 0.006).all(), off
    assert (off[1] > 4 * off[0]).all(), off


def test_a_single_index_is_learned_and_the_risk_falls():
    labels = lambda z: jax.scipy.special.erf(2 * z[:, 0] / jnp.sqrt(2.0))  # noqa: E731
    field = subspace(df.extend.activation("erf"), labels, smooth_plane(1))
    start = SubspaceNeurons(jnp.linspace(-1, 1, 20), jnp.zeros(20), jnp.zeros((20, 1)), jnp.ones(20))
    run = solve(field, start, jnp.asarray([1.0, 5.0, 20.0]), 0.05)
    assert run.falls.all()
    assert run.risk[-1] < 0.05 * run.risk[0]
    np.testing.assert_array_equal(run.particles.b, 0.0)


def test_frozen_weights_are_not_moved():
    field = subspace(df.extend.activation("erf"), lambda z: z[:, 0], smooth_plane(1), train_w=False)
    velocity, _ = field.terms(some_neurons(5, 1))
    np.testing.assert_array_equal(velocity.s, 0.0)
    np.testing.assert_array_equal(velocity.r, 0.0)
    assert (velocity.a != 0).all()


def test_planes_average_a_gaussian():
    """Products of powers, and of kinks where the split planes know of them."""
    for plane in (smooth_plane(2, 6), split_plane(jnp.asarray([[0.7], [-0.2]]))):
        for m, n, expected in ((0, 0, 1.0), (2, 2, 1.0), (4, 2, 3.0), (6, 6, 225.0), (3, 1, 0.0)):
            found = plane.weights @ (plane.z[:, 0] ** m * plane.z[:, 1] ** n)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    plane = split_plane(jnp.asarray([[0.7], [-0.2]]))
    hinges = jnp.maximum(plane.z[:, 0] - 0.7, 0.0) * jnp.maximum(plane.z[:, 1] + 0.2, 0.0)
    one_side = lambda t: norm.pdf(t) - t * norm.sf(t)  # noqa: E731
    np.testing.assert_allclose(plane.weights @ hinges, one_side(0.7) * one_side(-0.2), rtol=1e-10)


def test_shares_count_particles():
    """A particle of share 2/n is two particles."""
    field = subspace(df.extend.activation("erf"), lambda z: jnp.tanh(z[:, 0]), smooth_plane(2), d=30.0)
    neurons = some_neurons(5)
    twice = jax.tree.map(lambda x: jnp.concatenate([x, x[:1]]), neurons)
    shares = jnp.asarray([2.0, 1.0, 1.0, 1.0, 1.0]) / 6
    weighted = eqx.tree_at(lambda f: f.mass, field, shares, is_leaf=lambda x: x is None)
    velocity, risk = weighted.terms(neurons)
    expected, expected_risk = field.terms(twice)
    np.testing.assert_allclose(risk, expected_risk, rtol=1e-12)
    for one, other in zip(jax.tree.leaves(velocity), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other[:5], rtol=1e-11, atol=1e-15)


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match=r"k = 3 in d = 3 .* give 1 <= k < d"):
        subspace(df.extend.activation("erf"), lambda z: z[:, 0], smooth_plane(3), d=3.0)
    with pytest.raises(ProblemError, match="dimension is 1; averages over directions need at least 2"):
        subspace(df.extend.activation("erf"), lambda z: z[:, 0], smooth_plane(1), d=2.0)
