import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits import diffusion
from dimfree.onepass.limits.band import band
from dimfree.onepass.limits.diffusion import Diffusion
from dimfree.questions.exit_times import formulas as exit_times
from dimfree.setting import why_not

KEY = jax.random.key(0)
ERF = df.Problem(dimension=500, network=df.TwoLayer(width=1), data=df.Teacher(units=1, noise=0.1))


def phase_retrieval(dimension, gamma, width=1, noise=0.01):
    return df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation="square", noise=noise),
        network=df.TwoLayer(width=width, activation="square"),
        training=df.OnePass(learning_rate=gamma, spherical=True),
    )


def start_at(M, Q=None):
    M = jnp.asarray(M, float)
    overlaps = df.extend.Overlaps(jnp.eye(len(M)) if Q is None else jnp.asarray(Q, float), M, jnp.ones(len(M)))
    return df.extend.Start(overlaps, None, jnp.zeros(len(M)))


def run(one, problem, start, times, replicas, seed=0):
    m, whole = df.extend.model(problem), np.rint(np.asarray(times) / problem.time_step) * problem.time_step
    go = eqx.filter_jit(lambda m, s, t: one.run(m, s, t, jax.random.key(seed), replicas))
    return {name: np.asarray(values) for name, values in go(m, start, jnp.asarray(whole)).items()}


def z_scores(x, y):
    """Standard errors between the means, and between the variances, of two samples along axis 0."""
    moments = []
    for sample in (x, y):
        squares = (sample - sample.mean(axis=0)) ** 2
        moments.append(
            (
                sample.mean(axis=0),
                sample.var(axis=0) / len(sample),
                squares.mean(axis=0),
                squares.var(axis=0) / len(sample),
            )
        )
    (m_1, e_1, v_1, s_1), (m_2, e_2, v_2, s_2) = moments
    return (m_1 - m_2) / np.sqrt(e_1 + e_2), (v_1 - v_2) / np.sqrt(s_1 + s_2)


@pytest.fixture(scope="module")
def escape():
    """Phase retrieval from a small overlap, where the noise decides when a path escapes."""
    p, start, times = phase_retrieval(1000, 0.08), start_at([[0.05]]), [0.2, 0.6]
    return p, start, times, run(df.experiments.OverlapChain(), p, start, times, 500, seed=3)["M"][:, :, 0, 0]


@pytest.mark.slow
def test_overlaps_have_mean_and_variance_of_the_chain(escape):
    p, start, times, chain = escape
    found = run(Diffusion(), p, start, times, 1000)["M"][:, :, 0, 0]
    for one, other in zip(found, chain, strict=True):
        assert one.std() > 0.03  # the ODE has no spread at all
        assert np.abs(z_scores(one, other)).max() < 4


@pytest.mark.slow
def test_half_of_the_variance_would_be_noticed(escape, monkeypatch):
    p, start, times, chain = escape
    kick = diffusion.kick
    monkeypatch.setattr(diffusion, "kick", lambda *args: jax.tree.map(lambda x: x / np.sqrt(2), kick(*args)))
    found = run(Diffusion(), p, start, times, 1000)["M"][:, :, 0, 0]
    assert z_scores(found[-1], chain[-1])[1] < -5


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"network.width": 2},
        {
            "network.width": 2,
            "network.activation": "relu",
            "data.activation": "relu",
            "network.second_layer": "trained",
            "training.batch": 4,
            "training.learning_rate": 0.5,
        },
        {
            "network.width": 2,
            "data.units": 2,
            "training.spherical": True,
            "start.kind": "sphere",
            "training.schedule": {"kind": "power", "scale": 5.0},
        },
    ],
    ids=["erf", "relu, trained, batch of 4", "spherical with a schedule"],
)
def test_other_networks_have_mean_and_variance_of_the_chain(changes):
    p = ERF.replace(**changes)
    start = df.extend.draw_start(p, jax.random.key(4), vectors=False)
    found, chain = (
        run(one, p, start, [0.5, 2.0], 1000, seed)
        for seed, one in ((1, Diffusion()), (2, df.experiments.OverlapChain()))
    )
    for name in ("M", "Q", "a"):
        moves = chain[name].std(axis=1) > 1e-9
        for i in range(2):
            mean, variance = z_scores(found[name][i][:, moves[i]], chain[name][i][:, moves[i]])
            assert np.abs(mean).max(initial=0) < 4, name
            assert np.abs(variance).max(initial=0) < 4, name


@pytest.mark.slow
def test_band_is_the_spread_of_the_chain():
    start = start_at([[0.3]])
    chain = run(df.experiments.OverlapChain(), ERF, start, [0.5, 2.0], 1500)
    found = band(ERF, start, jnp.asarray([0.5, 2.0]))
    pairs = {"M": found.spread.M[:, 0, 0], "Q": found.spread.Q[:, 0, 0], "risk": found.risk_spread}
    for name, spread in pairs.items():
        values = chain[name].reshape(2, 1500)
        centred = (values - values.mean(axis=1, keepdims=True)) ** 2
        z = (centred.mean(axis=1) - np.asarray(spread) ** 2) / (centred.std(axis=1) / np.sqrt(1500))
        assert np.abs(z).max() < 4, name
        halved = (centred.mean(axis=1) - np.asarray(spread) ** 2 / 2) / (centred.std(axis=1) / np.sqrt(1500))
        assert halved.min() > 6, name


@pytest.mark.slow
@pytest.mark.parametrize(("width", "gamma", "noise", "t"), [(1, 0.05, 0.5, 0.3), (3, 0.15, 0.5, 0.25)])
def test_second_moment_in_the_linear_regime(width, gamma, noise, t):
    d = 1_000_000
    p = phase_retrieval(d, gamma, width, noise)
    M = run(Diffusion(), p, start_at(np.full((width, 1), d**-0.5)), [t], 2000)["M"][0, :, :, 0]
    mu = d * np.sum(M**2, axis=1)
    expected = exit_times.second_moment(float(width), t, gamma, width, noise)
    assert abs(mu.mean() - expected) < 4 * mu.std() / np.sqrt(len(mu))
    source_free = width * np.exp(8 * exit_times.escape_rate(gamma, width, noise) * t)
    assert mu.mean() - source_free > 10 * mu.std() / np.sqrt(len(mu))


@pytest.mark.slow
def test_without_noise_it_is_the_ode_through_decay_and_a_jump_of_the_rate():
    p = ERF.replace(
        **{
            "dimension": 10**13,
            "training.weight_decay": 0.3,
            "training.schedule": {"kind": "steps", "times": [0.77], "factors": [0.2]},
        }
    )
    start, m = start_at([[0.2]]), df.extend.model(p)
    times = jnp.asarray([0.5, 1.5, 4.0])
    found, ode = (eqx.filter_jit(one.run)(m, start, times, KEY) for one in (Diffusion(), df.theories.HighDimensional()))
    for name in ("M", "Q"):
        np.testing.assert_allclose(found[name], ode[name], atol=1e-3)


@pytest.mark.slow
def test_a_path_does_not_depend_on_how_often_it_is_advanced():
    one, m, times = Diffusion(), df.extend.model(ERF), jnp.asarray([0.1, 0.4, 1.0])
    advance = eqx.filter_jit(one.advance)
    state = one.begin(m, start_at([[0.3]]), 5, KEY)
    _, together = advance(m, state, times)
    parts = []
    for time in times:
        state, part = advance(m, state, time[None])
        parts.append(part["Q"][0])
    np.testing.assert_allclose(jnp.stack(parts), together["Q"], rtol=1e-12)


def test_overlaps_that_no_weights_have_are_taken_back_and_counted():
    m = df.extend.model(phase_retrieval(1000, 0.1))
    back, far = diffusion._possible(m, start_at([[1.1]]).overlaps, jnp.ones(1))
    np.testing.assert_allclose([back.M[0, 0], back.Q[0, 0]], [1.0, 1.0])
    assert far
    inside, far = diffusion._possible(m, start_at([[0.9]]).overlaps, jnp.ones(1))
    assert inside.M[0, 0] == 0.9
    assert not far
    state = eqx.tree_at(
        lambda s: (s.outside, s.steps),
        Diffusion().begin(m, start_at([[0.9]]), 2, KEY),
        (jnp.asarray(3.0), jnp.asarray(40)),
    )
    assert "7.5 % of the steps" in Diffusion().failure(m, state)
    assert Diffusion().failure(m, eqx.tree_at(lambda s: s.outside, state, jnp.asarray(0.1))) is None


def test_refusals():
    reason = lambda **changes: why_not(Diffusion(), ERF.replace(**changes))  # noqa: E731
    assert reason(dimension=15) is None  # erf is tame: in 15 dimensions its spread is right to 3 %
    assert "use sgd or chain" in str(reason(**{"dimension": 4, "network.width": 4}))
    assert "no deterministic limit" in str(reason(**{"training.learning_rate": 100.0}))
    assert reason() is None
    with pytest.raises(df.RefusalError, match="no band"):
        band(ERF.replace(**{"training.learning_rate": 100.0}), start_at([[0.3]]), jnp.asarray([1.0]))
