import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.gaussian.increments import increments as eager_increments
from dimfree.gaussian.increments import kick, pack, rule, unpack
from dimfree.reference.check import items
from dimfree.reference.diffusion import pr_noise_cov

increments = eqx.filter_jit(eager_increments)
velocity = eqx.filter_jit(df.theories.HighDimensional().velocity)
ONE = jnp.ones(())
BASE = df.Problem(dimension=100_000, network=df.TwoLayer(width=2), data=df.Teacher(units=1, noise=0.2))


def phase_retrieval(width, gamma=0.1, noise=0.2):
    return df.Problem(
        data=df.Teacher(units=1, activation="square", noise=noise),
        network=df.TwoLayer(width=width, activation="square"),
        training=df.OnePass(learning_rate=gamma, spherical=True),
    )


def overlaps(Q, M, a=1.0):
    return df.extend.Overlaps(jnp.asarray(Q, float), jnp.asarray(M, float), jnp.full(len(Q), a))


def test_covariances_of_the_reference():
    item = next(item for item in items() if item.kind == "pr_noise_cov")
    found = pr_noise_cov(item.inputs)
    for name, expected in item.expected.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-9)


@pytest.mark.parametrize(("m", "gamma", "Delta"), [(0.0, 0.3, 0.0), (0.4, 0.02, 1.5), (0.95, 0.15, 0.1)])
def test_width_one_is_the_closed_polynomial(m, gamma, Delta):
    s, model = m**2, df.extend.model(phase_retrieval(1, gamma, Delta))
    inner = (1 - s) ** 2 * (31104 - 11520 * s) + Delta * (1 - s) * (1920 - 576 * s) + 32 * Delta**2
    closed = 16 * (1 - s) ** 2 * (3 + 5 * s) + 4 * Delta * (1 - s) + gamma**2 * s * inner
    closed -= 128 * gamma * s * (1 - s) * (21 * (1 - s) + Delta)
    found = increments(model, ONE, overlaps([[1]], [[m]]), rule(model)).covariance
    np.testing.assert_allclose(found, [[closed]], rtol=1e-11)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_noise_at_the_start_of_phase_retrieval(p):
    model = df.extend.model(phase_retrieval(p, noise=0.7))
    Sigma = increments(model, ONE, overlaps(np.eye(p), np.zeros((p, 1))), rule(model)).covariance
    np.testing.assert_allclose(np.diagonal(Sigma)[:p], 4 * (10 - 6 / p + 8 / p**2 + 0.7), rtol=1e-11)


@pytest.mark.parametrize("spherical", [False, True])
@pytest.mark.parametrize(
    ("activation", "tolerance"), [("square", 1e-11), pytest.param("relu", 0.01, marks=pytest.mark.slow)]
)
def test_the_mean_is_the_velocity(activation, tolerance, spherical):
    p = BASE.replace(**{"network.activation": activation, "data.activation": activation, "training.batch": 3})
    model = df.extend.model(p.replace(**{"network.second_layer": "trained", "training.spherical": spherical}))
    state = overlaps([[1.0, 0.3], [0.3, 0.8]], [[0.5], [-0.2]], a=0.9)
    found = increments(model, 0.7 * ONE, state, rule(model)).mean
    slowed = eqx.tree_at(lambda m: m.gamma, model, 0.7 * model.gamma)
    expected = 0.7 * pack(model, velocity(slowed, jnp.zeros(()), state))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


CASES = {
    "erf": {"training.learning_rate": 3.0},
    "relu, trained, batch of 4": {
        "network.activation": "relu",
        "data.activation": "relu",
        "network.second_layer": "trained",
        "training.second_layer_rate": 2.0,
        "training.batch": 4,
        "training.learning_rate": 6.0,
    },
    "spherical": {"training.spherical": True, "training.learning_rate": 4.0, "training.weight_decay": 1.0},
}


def z_scores(steps, Sigma):
    """How many standard errors the sample covariance is from Sigma, entry by entry."""
    centred = steps - steps.mean(axis=0)
    products = centred[:, :, None] * centred[:, None, :]
    return (products.mean(axis=0) - Sigma) / (products.std(axis=0) / np.sqrt(len(steps)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_covariance_of_one_step_of_the_chain(name):
    p = BASE.replace(**CASES[name])
    model, state = df.extend.model(p), overlaps([[1.0, 0.3], [0.3, 0.8]], [[0.5], [-0.2]], a=0.9)
    chain = df.experiments.OverlapChain()
    begun = chain.begin(model, df.extend.Start(state, None, jnp.zeros(2)), 20_000, jax.random.key(3))
    _, after = jax.jit(chain.advance)(model, begun, model.time_step[None])
    packed = jax.vmap(lambda Q, M, a: pack(model, df.extend.Overlaps(Q, M, a)))
    steps = np.asarray(packed(*(after[letter][0] for letter in ("Q", "M", "a"))) - pack(model, state)) / p.time_step
    Sigma = np.asarray(increments(model, ONE, state, rule(model)).covariance)
    assert np.abs(z_scores(steps, Sigma)).max() < 4.5
    for wrong in (Sigma / 2, Sigma * p.training.batch if p.training.batch > 1 else 1.3 * Sigma):
        assert np.abs(z_scores(steps, wrong)).max() > 5


@pytest.mark.parametrize("width", [1, 2])
def test_a_kick_has_this_covariance(width):
    model = df.extend.model(phase_retrieval(width))
    state = overlaps([[1.0, 0.3], [0.3, 1.0]], [[0.5], [-0.2]]) if width == 2 else overlaps([[1]], [[0.3]])
    nodes = rule(model)
    expected = increments(model, ONE, state, nodes)
    mean = unpack(model, expected.mean, jax.tree.map(jnp.zeros_like, state))
    kicks = jax.vmap(lambda normals: pack(model, kick(model, ONE, state, mean, nodes, normals)))
    columns = jax.jit(kicks)(jnp.eye(nodes.w.size))
    np.testing.assert_allclose(columns.T @ columns, expected.covariance, rtol=1e-10)


def test_packing_keeps_what_does_not_move():
    state = overlaps([[1.0, 0.3], [0.3, 0.8]], [[0.5], [-0.2]], a=0.9)
    for changes, size in (({}, 5), ({"training.spherical": True}, 3), ({"network.second_layer": "trained"}, 7)):
        model = df.extend.model(BASE.replace(**changes))
        vector = pack(model, state)
        assert vector.shape == (size,)
        back = unpack(model, vector + 1, state)
        np.testing.assert_allclose(pack(model, back), vector + 1)
        np.testing.assert_allclose(back.Q, back.Q.T)
        assert (back.Q[0, 0] == 1.0) == model.spherical
