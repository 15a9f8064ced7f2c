from functools import partial

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dimfree as df
from dimfree.gaussian.moments import risk
from dimfree.onepass.limits.integration import Integrated, _Controller
from dimfree.setting import why_not

KEY = jax.random.key(0)


@eqx.filter_jit
def solve(one, model, start, times):
    return one.run(model, start, times, KEY)


def problem(**changes):
    base = df.Problem(dimension=1000, network=df.TwoLayer(width=3), data=df.Teacher(units=2, noise=0.1))
    return base.replace(**changes) if changes else base


def start_of(p, vectors=False):
    return df.extend.draw_start(p, jax.random.key(3), vectors=vectors)


@pytest.mark.slow
def test_sgd_and_chain_agree_with_the_ode_at_d_1000_on_the_scale_of_the_theorem():
    p = problem()
    start, times = start_of(p, vectors=True), jnp.asarray(np.array([1000, 6000, 12000]) * p.time_step)
    ode = solve(df.theories.HighDimensional(), df.extend.model(p), start, times)
    scale = float(np.sqrt(p.training.learning_rate / (p.network.width * p.dimension)))
    for experiment in (df.experiments.VectorSGD(), df.experiments.OverlapChain()):
        run = eqx.filter_jit(lambda m, s, t, one=experiment: one.run(m, s, t, jax.random.key(5), 24))
        found = run(df.extend.model(p), start, times)
        for name in ("Q", "M"):
            values = np.asarray(found[name])
            # one path deviates on the scale sqrt(gamma/(p d)); the mean over replicas by far less
            assert np.abs(values - np.asarray(ode[name])).max() < 12 * scale
            assert np.abs(values.mean(axis=1) - np.asarray(ode[name])[:, 0]).max() < 3 * scale
        # and gradient flow, which drops the variance term, is visibly worse on the norms
        flow = solve(df.theories.GradientFlow(), df.extend.model(p), start, times)
        off = np.abs(np.diagonal(np.asarray(flow["Q"])[-1, 0]) - np.diagonal(np.asarray(found["Q"])[-1].mean(axis=0)))
        assert off.max() > 3 * scale


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_other_activations_agree_with_the_chain(activation):
    p = problem(
        **{"network.activation": activation, "data.activation": activation, "network.width": 2, "data.units": 1}
    )
    p = p.replace(**{"network.second_layer": "trained", "training.batch": 2, "training.learning_rate": 0.5})
    start, times = start_of(p), jnp.asarray([4000 * p.time_step])
    ode = solve(df.theories.HighDimensional(), df.extend.model(p), start, times)
    run = eqx.filter_jit(lambda m, s, t: df.experiments.OverlapChain().run(m, s, t, jax.random.key(5), 400))
    chain = run(df.extend.model(p), start, times)
    for name in ("Q", "M", "a"):
        values = np.asarray(chain[name])[0]
        error = values.std(axis=0) / np.sqrt(len(values))
        # the mean differs from the ODE by O(1/d): allow that beside four standard errors
        assert (np.abs(values.mean(axis=0) - np.asarray(ode[name])[0, 0]) < 4 * error + 5e-3).all(), name


@pytest.mark.slow
def test_risk_decreases_without_variance_and_noise():
    p = problem(**{"data.noise": 0.0})
    risks = np.asarray(
        solve(df.theories.GradientFlow(), df.extend.model(p), start_of(p), jnp.linspace(0.0, 20.0, 50))["risk"][:, 0]
    )
    assert (np.diff(risks) < 0).all()
    assert (risks >= 0).all()


def test_the_teacher_is_a_fixed_point_even_with_the_variance_term():
    p = df.Problem(
        dimension=500,
        network=df.TwoLayer(width=2),
        data=df.Teacher(units=2, noise=0.0, overlap=[[1.0, 0.3], [0.3, 1.2]]),
    )
    P = jnp.asarray(p.teacher_overlap)
    velocity = eqx.filter_jit(df.theories.HighDimensional().velocity)
    for part in jax.tree.leaves(velocity(df.extend.model(p), jnp.zeros(()), df.extend.Overlaps(P, P, jnp.ones(2)))):
        np.testing.assert_allclose(part, 0, atol=1e-14)


@pytest.mark.slow
def test_the_spherical_rule_keeps_the_norms():
    p = problem(**{"training.spherical": True, "start.kind": "sphere"})
    Q = np.asarray(
        solve(df.theories.HighDimensional(), df.extend.model(p), start_of(p), jnp.linspace(0.0, 10.0, 5))["Q"]
    )[:, 0]
    np.testing.assert_allclose(np.diagonal(Q, axis1=1, axis2=2), 1.0, rtol=1e-9)


@pytest.mark.slow
def test_gradients_of_the_final_risk_against_differences():
    """With respect to learning rate, noise and start, through one adaptive solve."""
    p = problem()
    model, start, direction = df.extend.model(p), start_of(p), jnp.eye(3)

    def final(gamma, Delta, shift):
        moved = eqx.tree_at(lambda s: s.measured.Q, start, start.overlaps.Q + shift * direction)
        changed = eqx.tree_at(lambda m: (m.gamma, m.Delta), model, (gamma, Delta))
        return df.theories.HighDimensional(rtol=1e-10, atol=1e-12).run(changed, moved, jnp.asarray([1.5]), KEY)["risk"][
            0, 0
        ]

    at = (model.gamma, model.Delta, jnp.zeros(()))
    slopes = jax.jit(jax.grad(final, argnums=(0, 1, 2)))(*at)
    compiled = jax.jit(final)
    for n, slope in enumerate(slopes):
        up, down = ([x + sign * 1e-4 * (m == n) for m, x in enumerate(at)] for sign in (1, -1))
        np.testing.assert_allclose(slope, (compiled(*up) - compiled(*down)) / 2e-4, rtol=1e-5)


@pytest.mark.slow
def test_a_schedule_may_turn_twice_within_rounding():
    """A step that the schedule cuts short is no sign of a singularity, however short it is."""
    p = problem(**{"training.schedule": {"kind": "steps", "times": [1.0], "factors": [0.25]}, "network.width": 2})
    knots = {"kind": "linear", "times": [0.0, 1.0, 1.0 + 4e-15], "factors": [1.0, 1.0, 0.25]}
    one, times = df.theories.HighDimensional(), jnp.asarray([0.5, 2.0, 10.0])
    plain, cut = (
        solve(one, df.extend.model(given), start_of(p), times)
        for given in (p, p.replace(**{"training.schedule": knots}))
    )
    np.testing.assert_allclose(cut["risk"], plain["risk"], rtol=1e-6)


def test_rejected_steps_of_the_smallest_size_are_a_singularity():
    controller = _Controller(rtol=1e-6, atol=1e-6, dtmin=1e-12, force_dtmin=False)
    memory = (jnp.array(1.0), jnp.array(1.0), False)
    for error, ended in ((0.0, "successful"), (1e3, "dt_min_reached")):
        kept, *_, result = controller.adapt_step_size(
            0.0, 1e-14, jnp.ones(1), jnp.ones(1), None, jnp.array([error]), 5, memory
        )
        assert bool(kept) == (ended == "successful")
        assert result == getattr(diffrax.RESULTS, ended)


@pytest.mark.slow
def test_a_step_schedule_is_two_runs_one_after_the_other():
    p = problem(**{"training.schedule": {"kind": "steps", "times": [2.0], "factors": [0.25]}})
    start = start_of(p)
    both = solve(df.theories.HighDimensional(), df.extend.model(p), start, jnp.asarray([2.0, 6.0]))
    # from t = 2 on everything happens at a quarter of the rate: time runs slower, and the variance weight shrinks
    slow = problem(**{"training.learning_rate": 0.25})
    overlaps = jax.tree.map(lambda x: x[0, 0], df.extend.Overlaps(both["Q"], both["M"], both["a"]))
    middle = df.extend.Start(overlaps, None, jnp.zeros(3))
    after = solve(df.theories.HighDimensional(), df.extend.model(slow), middle, jnp.asarray([1.0]))
    np.testing.assert_allclose(both["risk"][1], after["risk"][0], rtol=1e-6)


def test_divergence_is_reported_with_the_time_and_a_suggestion():
    p = df.Problem(
        dimension=1000,
        network=df.TwoLayer(width=1, activation="square"),
        data=df.Teacher(units=1, activation="square"),
        training=df.OnePass(learning_rate=3.0),
    )
    one, model = df.theories.HighDimensional(), df.extend.model(p)
    state, _ = eqx.filter_jit(one.advance)(model, one.begin(model, start_of(p), 1, KEY), jnp.asarray([5.0]))
    message = one.failure(model, state)
    assert message is not None
    assert "diverges at t = 0." in message
    assert "lower training.learning_rate (try 0.75)" in message


def test_who_keeps_the_norms_already_is_not_advised_to():
    advice = {}
    for spherical in (False, True):
        p = problem(**{"training.spherical": spherical})
        model, start = df.extend.model(p), start_of(p)
        lost = Integrated(start.overlaps, jnp.ones(()), jnp.asarray(False), jnp.asarray(True))
        advice[spherical] = str(df.theories.HighDimensional().failure(model, lost)), p.remedy
    assert all("keep the norms with training.spherical = true" in said for said in advice[False])
    assert not any("spherical" in said for said in advice[True])
    assert problem(**{"training.momentum": 0.5}).remedy == "lower training.learning_rate (try 0.25)"  # not both


def on_the_sphere(gamma, t, y):
    """Equation (6.1) of docs/theory/committee.md for two units in the coordinates m_1, m_2 and Q_12, without noise."""
    m, Q = y[:2], np.array([[1, y[2]], [y[2], 1]])
    N = np.outer(m, m)
    R = 1 - m @ m + np.sum(Q**2) / 4
    Phi = 8 * (N - Q @ Q / 2) + 2 * gamma * (2 * R * Q + 8 * (N - (N @ Q + Q @ N) / 2 + Q @ Q @ Q / 4))
    dm = 4 * (m - Q @ m / 2) - np.diagonal(Phi) * m / 2
    return [*dm, Phi[0, 1] - (Phi[0, 0] + Phi[1, 1]) / 2 * y[2]]


def test_on_the_sphere_rounding_does_not_grow():
    """Between Q and Qᵀ there is a difference of rounding, which projections enlarge where steps shorten the weights."""
    square = {"network.activation": "square", "data.activation": "square", "network.width": 2, "data.units": 1}
    p = problem(**square, **{"data.noise": 0.0, "training.learning_rate": 0.5, "training.spherical": True})
    Q, M = np.array([[1, 0.005], [0.005, 1]]), np.array([[-0.022], [0.032]])
    start = df.extend.Start(df.extend.Overlaps(*jax.device_put((Q, M, np.ones(2)))), None, jnp.zeros(2))
    times = np.array([2.0, 10.0, 60.0])
    found = solve(df.theories.HighDimensional(), df.extend.model(p), start, jnp.asarray(times))
    told = solve_ivp(partial(on_the_sphere, 0.5), (0, 60), [*M[:, 0], 0.005], "DOP853", times, rtol=1e-11, atol=1e-12)
    Q, M = np.asarray(found["Q"])[:, 0], np.asarray(found["M"])[:, 0, :, 0]
    np.testing.assert_array_equal(Q, np.swapaxes(Q, 1, 2))
    np.testing.assert_allclose(np.column_stack([M, Q[:, 0, 1]]), told.y.T, atol=1e-5)


def test_the_ode_refuses_where_no_limit_exists():
    p = df.Problem(dimension=100, network=df.TwoLayer(width=2), training=df.OnePass(learning_rate=25.0))
    assert "lower training.learning_rate below 20, or raise training.batch." in str(
        why_not(df.theories.HighDimensional(), p)
    )


LIMITS = (
    df.theories.HighDimensional(),
    df.theories.GradientFlow(),
    df.theories.MeanField(),
    df.theories.Dimensionless(),
    df.theories.Diffusion(),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"network.trained": ["first-layer", "bias"]},
            "it is derived for neurons without offsets; set network.bias_start = 0",
        ),
        ({"network.bias_start": 0.1}, "it is derived for neurons without offsets; set network.bias_start = 0"),
        ({"network.trained": ["second-layer"]}, "a first layer that learns; put 'first-layer' into network.trained"),
        (
            {"training.inverse_temperature": 10.0},
            "without noise on the weights; leave out training.inverse_temperature",
        ),
        (
            {"training.scheduled": "everything", "training.weight_decay": 0.1},
            "decays that do not follow the schedule; set training.scheduled = 'gradient'.",
        ),
    ],
)
def test_limits_refuse_what_they_are_not_derived_for(limit, changes, says):
    reason = str(why_not(limit, problem(**changes)))
    assert says in reason
    assert "\n" not in reason
    assert why_not(limit, problem()) is None
    assert why_not(limit, problem(**{"training.scheduled": "everything"})) is None


def test_limits_of_overlaps_do_not_speak_of_two_gaussians():
    for limit in LIMITS:
        says = str(why_not(limit, df.Problem(data=df.TwoGaussians())))
        assert says.startswith("it describes training on fresh samples of a teacher, and this problem is training on")


def test_time_zero_is_the_start():
    p = problem()
    start = start_of(p)
    found = solve(df.theories.HighDimensional(), df.extend.model(p), start, jnp.asarray([0.0, 1.0]))
    np.testing.assert_array_equal(found["Q"][0, 0], start.overlaps.Q)
    np.testing.assert_allclose(
        found["risk"][0, 0], eqx.filter_jit(risk)(df.extend.model(p), start.overlaps), rtol=1e-14
    )
