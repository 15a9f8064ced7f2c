import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.gaussian.moments import risk
from dimfree.machine import BASELINE
from dimfree.onepass.limits.wide import Dimensionless, MeanField, density
from dimfree.onepass.start import draw_particles
from dimfree.results.record import cost_of
from dimfree.setting import why_not
from dimfree.states.particles import Particles

KEY = jax.random.key(0)
BOTH = pytest.mark.parametrize("limit", [Dimensionless(), MeanField(nodes=12)], ids=["dimensionless", "mean-field"])


@eqx.filter_jit
def solve(one, model, start, times):
    return one.run(model, start, times, KEY)


@eqx.filter_jit
def risk_of_particles(limit, model, particles, times):
    return limit.run(model, started(particles), times, KEY)["risk"][:, 0]


def started(measured):
    """A start that is known by its overlaps or particles alone."""
    return df.extend.Start(measured, None, jnp.zeros(measured.a.shape[-1]))


def problem(**changes):
    base = df.Problem(
        dimension=200, network=df.TwoLayer(width=6), data=df.Teacher(units=2, overlap=[[1, 0.3], [0.3, 1.2]])
    )
    return base.replace(**changes) if changes else base


def start_of(p, seed=3):
    return df.extend.draw_start(p, jax.random.key(seed), vectors=False)


@pytest.mark.slow
@BOTH
def test_time_zero_is_the_start(limit):
    p = problem()
    start = start_of(p)
    found = solve(limit, df.extend.model(p), start, jnp.asarray([0.0, 1.0]))
    assert set(found) == {"risk", "M", "Q_diagonal", "a"}
    np.testing.assert_array_equal(found["M"][0, 0], start.overlaps.M)
    np.testing.assert_allclose(found["Q_diagonal"][0, 0], jnp.diagonal(start.overlaps.Q), rtol=1e-13)
    # the risk differs by the overlaps of the orthogonal parts, of order 1/sqrt(d)
    np.testing.assert_allclose(found["risk"][0, 0], risk(df.extend.model(p), start.overlaps), atol=0.02)


@pytest.mark.slow
@BOTH
def test_results_are_recorded_with_the_diagonal_of_q(limit):
    p = problem(**{"run.until": 2.0, "run.points": 5})
    recorded = df.extend.record(p, limit, start_of(p), KEY)
    assert recorded["Q_diagonal"].dims == ("time", "replica", "unit")
    assert np.isfinite(recorded["risk"]).all()


@pytest.mark.slow
@BOTH
def test_units_have_no_order(limit):
    p = problem(**{"network.second_layer": "trained"})
    overlaps, order = start_of(p).overlaps, np.array([3, 0, 5, 1, 4, 2])
    shuffled = df.extend.Overlaps(overlaps.Q[order][:, order], overlaps.M[order], overlaps.a[order])
    one, other = (solve(limit, df.extend.model(p), started(o), jnp.asarray([3.0])) for o in (overlaps, shuffled))
    np.testing.assert_allclose(one["M"][0, 0][order], other["M"][0, 0], rtol=1e-7)
    np.testing.assert_allclose(one["a"][0, 0][order], other["a"][0, 0], rtol=1e-7)
    np.testing.assert_allclose(one["risk"], other["risk"], rtol=1e-7)


@pytest.mark.slow
def test_mean_field_becomes_dimensionless_as_the_dimension_grows():
    p, times = problem(), jnp.asarray([4.0])
    start = start_of(p)
    limit = solve(Dimensionless(), df.extend.model(p), start, times)["risk"][0, 0]
    gaps = []
    for d in (100, 1000, 10000):
        at_d = eqx.tree_at(lambda m: m.dimension, df.extend.model(p), jnp.asarray(1.0 * d))
        gaps.append(abs(float(solve(MeanField(nodes=12), at_d, start, times)["risk"][0, 0] - limit)))
    np.testing.assert_allclose(np.array(gaps[:2]) / np.array(gaps[1:]), 10.0, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("self_term", [True, False])
def test_narrow_and_wide_code_agree_on_copies(self_term):
    """Seven copies of six units are 42 particles: without self term the same density, hence the same risk."""
    p, wide = problem(), problem(**{"network.width": 42})
    few = draw_particles(p, KEY)
    many = jax.tree.map(lambda x: jnp.tile(x, (7,) + (1,) * (x.ndim - 1)), few)
    limit, times = Dimensionless(self_term=self_term), jnp.asarray([2.0])
    one, other = (risk_of_particles(limit, df.extend.model(q), s, times)[0] for q, s in ((p, few), (wide, many)))
    if self_term:
        assert abs(one - other) > 1e-4
    else:
        np.testing.assert_allclose(one, other, rtol=1e-7)


@pytest.mark.slow
def test_decay_and_schedule_are_those_of_the_overlap_equations():
    """At one instant, with orthogonal parts that do not meet, the velocities are those of gradient flow."""
    schedule = {"kind": "exponential", "scale": 2.0}
    p = problem(**{"training.weight_decay": 0.3, "training.schedule": schedule, "network.second_layer": "trained"})
    p = p.replace(**{"training.second_layer_decay": 0.2, "training.second_layer_rate": 0.7})
    m, state, t = df.extend.model(p), draw_particles(p, KEY), jnp.asarray(1.3)
    N = state.along(m.target.P)
    full = df.theories.GradientFlow().velocity(m, t, df.extend.Overlaps(N @ N.T + jnp.diag(state.q), state.M, state.a))
    found = Dimensionless().velocity(m, t, state)
    np.testing.assert_allclose(found.M, full.M, atol=1e-13)
    np.testing.assert_allclose(found.a, full.a, atol=1e-13)
    along = 2 * jnp.sum(N * Particles(found.M, found.q, found.a).along(m.target.P), axis=1)
    np.testing.assert_allclose(found.q + along, jnp.diagonal(full.Q), atol=1e-13)


def gaps_to_gradient_flow(width, self_term):
    p = df.Problem(dimension=1000, network=df.TwoLayer(width=width), data=df.Teacher(units=2))
    start, times = df.extend.draw_start(p, jax.random.key(width), vectors=False), jnp.linspace(0.0, 10.0, 21)
    flow = solve(df.theories.GradientFlow(rtol=1e-6), df.extend.model(p), start, times)["risk"][:, 0]
    return np.asarray(solve(Dimensionless(self_term=self_term), df.extend.model(p), start, times)["risk"][:, 0] - flow)


@pytest.mark.slow
def test_the_gap_to_gradient_flow_decays_like_one_over_the_width():
    """The numbers of docs/theory/committee.md, section 5: 6.1e-3, 1.7e-3 and 4.2e-4, within the spread of starts."""
    widths = np.array([16, 64, 256])
    gaps = np.array([np.abs(gaps_to_gradient_flow(p, True)).max() for p in widths])
    slope = np.polyfit(np.log(widths), np.log(gaps), 1)[0]
    assert -1.2 < slope < -0.8, gaps
    np.testing.assert_allclose(gaps, [6.1e-3, 1.7e-3, 4.2e-4], rtol=0.5)


@pytest.mark.slow
def test_without_self_term_late_risks_are_better_and_early_ones_worse():
    with_self, without = gaps_to_gradient_flow(16, True), gaps_to_gradient_flow(16, False)
    assert abs(without[-1]) < 0.3 * abs(with_self[-1])
    assert abs(without[0]) > abs(with_self[0])


@pytest.mark.slow
@BOTH
def test_gradient_of_the_final_risk_against_differences(limit):
    p = problem(**{"training.weight_decay": 0.1})
    start, at = start_of(p), df.extend.model(p)
    tight = eqx.tree_at(lambda one: (one.rtol, one.atol), limit, (1e-10, 1e-12))

    def final(omega):
        model = eqx.tree_at(lambda m: m.omega, at, omega)
        return tight.run(model, start, jnp.asarray([1.0]), KEY)["risk"][0, 0]

    slope, f = jax.jit(jax.grad(final))(0.1), jax.jit(final)
    np.testing.assert_allclose(slope, (f(0.1 + 1e-4) - f(0.1 - 1e-4)) / 2e-4, rtol=1e-5)


def test_particles_are_drawn_from_the_law_of_the_start():
    p = problem(**{"network.width": 4000})
    drawn = draw_particles(p, KEY)
    np.testing.assert_allclose(200 * drawn.M.T @ drawn.M / 4000, p.teacher_overlap, atol=0.1)
    np.testing.assert_allclose(drawn.q.mean(), 198 / 200, rtol=0.01)
    sphere = draw_particles(p.replace(**{"start.kind": "sphere", "start.scale": 0.5}), KEY)
    np.testing.assert_allclose(sphere.norms(jnp.asarray(p.teacher_overlap)), 0.25, rtol=1e-12)
    given = df.OverlapStart(Q=((1.0,),), M=((0.1, 0.1),))
    one = df.Problem(network=df.TwoLayer(width=1), start=given)
    with pytest.raises(TypeError, match="is given, not drawn"):
        draw_particles(one, KEY)


def test_density_snapshots_have_mass_one_on_common_edges():
    rng = np.random.default_rng(0)
    found = density(rng.normal(size=(3, 500, 2)), rng.uniform(size=(3, 500)), bins=20)
    assert found.mass.shape == (3, 2, 20, 20)
    np.testing.assert_allclose(found.mass.sum(axis=(2, 3)), 1.0)


@BOTH
def test_the_sphere_is_not_refused(limit):
    assert why_not(limit, problem(**{"training.spherical": True})) is None
    assert why_not(limit, problem()) is None


@pytest.mark.slow
def test_the_projection_is_that_of_the_overlap_equations():
    """At one instant, with orthogonal parts that do not meet, as for free norms; decay is undone."""
    p = problem(**{"training.spherical": True, "training.weight_decay": 0.3, "network.second_layer": "trained"})
    m, state, t = df.extend.model(p), draw_particles(p, KEY), jnp.asarray(0.0)
    N = state.along(m.target.P)
    full = df.theories.GradientFlow().velocity(m, t, df.extend.Overlaps(N @ N.T + jnp.diag(state.q), state.M, state.a))
    found = Dimensionless().velocity(m, t, state)
    np.testing.assert_allclose(found.M, full.M, atol=1e-13)
    np.testing.assert_allclose(found.a, full.a, atol=1e-13)
    along = 2 * jnp.sum(N * Particles(found.M, found.q, found.a).along(m.target.P), axis=1)
    np.testing.assert_allclose(found.q + along, 0, atol=1e-13)


def test_refusals_say_what_to_change():
    wide = problem(**{"network.width": 5000})
    assert why_not(Dimensionless(), wide) is None
    assert "use dimensionless" in str(why_not(MeanField(), wide))
    many = df.Problem(network=df.TwoLayer(width=5000), data=df.Teacher(units=9))
    assert "9 teacher units are too many" in str(why_not(Dimensionless(), many))
    flat = df.Problem(dimension=2, network=df.TwoLayer(width=3), data=df.Teacher(units=2))
    assert "raise dimension to at least 3" in str(why_not(MeanField(), flat))


@pytest.mark.slow
def test_a_series_that_leaves_terms_out_is_reported():
    p = problem(**{"network.width": 40, "network.activation": "relu", "data.activation": "relu"})
    inside = Particles(jnp.ones((40, 2)), jnp.full(40, 1e-4), jnp.ones(40))
    limit, m = Dimensionless(), df.extend.model(p)
    assert "leaves out terms of size" in str(limit.failure(m, limit.begin(m, started(inside), 1, KEY)))
    assert limit.failure(m, limit.begin(m, started(draw_particles(p, KEY)), 1, KEY)) is None


@pytest.mark.slow
def test_divergence_is_reported_with_the_time():
    p = problem(**{"network.width": 2})
    one, m = Dimensionless(), df.extend.model(p)
    far = Particles(jnp.full((2, 2), 2e6), jnp.ones(2), jnp.ones(2))  # beyond the threshold of the event from the start
    state, _ = eqx.filter_jit(one.advance)(m, one.begin(m, started(far), 1, KEY), jnp.asarray([1.0]))
    assert "cannot start: overlaps above 1e+06 never come back" in str(one.failure(m, state))


def test_cost_grows_linearly_in_the_width():
    costs = [cost_of(Dimensionless(), problem(**{"network.width": p})) for p in (1000, 10000)]
    assert (costs[1].seconds - 4) / (costs[0].seconds - 4) < 11
    assert (costs[1].memory - BASELINE) / (costs[0].memory - BASELINE) < 11
