"""The deterministic dynamics between a network and its mean-field limit, against the gradient, gradient flow and each other."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.gaussian.closure import mean_field_terms, xi_rule
from dimfree.gaussian.moments import risk
from dimfree.onepass.fields.cloud import (
    CloudField,
    NetworkField,
    Neurons,
    gaussian_cloud,
    gradient_descent,
    joined,
    nonlinear_dynamics,
    particle_dynamics,
    split,
)
from dimfree.onepass.start import draw_particles
from dimfree.states.particles import Particles

KEY = jax.random.key(5)
ONE = jnp.ones(())


def problem(step=0.05, width=5, dimension=12, activation="erf"):
    return df.Problem(
        dimension=dimension,
        data=df.Teacher(units=1, activation=activation, overlap=((4.0,),), noise=0.0),
        network=df.TwoLayer(width=width, activation=activation),
        training=df.OnePass(learning_rate=step * width * dimension),
    )


def network(p):
    start = df.extend.draw_start(p, KEY, vectors=True)
    width = p.network.width
    return start, NetworkField(df.extend.model(p), start.overlaps.a, start.weights[width:]), start.weights[:width]


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_particles_follow_the_gradient_of_the_population_risk(activation):
    p = problem(activation=activation)
    _, field, weights = network(p)
    gradient = jax.jit(jax.grad(lambda W: risk(field.model, field.overlaps(W))))(weights)
    velocity, found = eqx.filter_jit(field.terms)(weights)
    np.testing.assert_allclose(velocity, -p.network.width * p.dimension * gradient, rtol=1e-9, atol=1e-11)
    assert found == pytest.approx(float(risk(field.model, field.overlaps(weights))), rel=1e-12)


@pytest.mark.slow
def test_particle_dynamics_have_the_overlaps_of_gradient_flow():
    start, field, weights = network(problem())
    times = jnp.asarray([0.5, 2.0])
    flow = particle_dynamics(field, weights, times, 0.02)
    exact = eqx.filter_jit(df.theories.GradientFlow().run)(field.model, start, times, KEY)
    overlaps = jax.vmap(field.overlaps)(flow.particles)
    np.testing.assert_allclose(overlaps.Q, exact["Q"][:, 0], atol=1e-7)
    np.testing.assert_allclose(overlaps.M, exact["M"][:, 0], atol=1e-7)
    np.testing.assert_allclose(flow.risk, exact["risk"][:, 0], atol=1e-8)
    assert flow.falls.all()


def test_gradient_descent_approaches_particles_at_first_order():
    gaps = []
    for step in (0.1, 0.05, 0.025):
        _, field, weights = network(problem(step))
        times = jnp.asarray([0.5, 1.0])
        flow = particle_dynamics(field, weights, times, 0.02)
        gaps.append(
            jnp.linalg.norm(eqx.filter_jit(gradient_descent)(field, weights, times) - flow.particles, axis=(1, 2))
        )
    ratios = np.array([gaps[0] / gaps[1], gaps[1] / gaps[2]])
    np.testing.assert_allclose(ratios, 2.0, atol=0.12)
    assert (np.abs(ratios[1] - 2) < np.abs(ratios[0] - 2)).all()


def test_one_step_of_gradient_descent_is_eps_times_the_velocity():
    p = problem(0.3)
    _, field, weights = network(p)
    moved = gradient_descent(field, weights, jnp.asarray([0.3]))[0]
    np.testing.assert_allclose(moved, weights + 0.3 * field.terms(weights)[0], rtol=1e-12)


@pytest.mark.parametrize("overlap", [((4.0,),), ((1.0, 0.4), (0.4, 2.0))])
def test_the_cloud_has_the_moments_of_the_start(overlap):
    d, scale, k = 9, 0.7, len(overlap)
    points, weights = gaussian_cloud(np.array(overlap), d, scale)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(jnp.einsum("c,ck,cl->kl", weights, points.M, points.M), scale**2 / d * np.array(overlap))
    np.testing.assert_allclose(weights @ points.M, 0.0, atol=1e-12)
    chi = (d - k) * scale**2 / d
    assert weights @ points.r**2 == pytest.approx(chi, rel=1e-6)
    assert weights @ points.r**4 == pytest.approx(chi**2 * (1 + 2 / (d - k)), rel=1e-6)
    assert weights @ points.M[:, 0] ** 6 == pytest.approx(15 * (scale**2 / d * overlap[0][0]) ** 3)


@pytest.mark.slow
@pytest.mark.parametrize("a", [ONE, jnp.linspace(-1.0, 2.0, 40)], ids=["one second layer", "many"])
def test_the_field_of_a_cloud_is_the_mean_field_closure(a):
    p = problem(width=40)
    m, found = df.extend.model(p), draw_particles(p, KEY)
    neurons = Neurons(found.M, jnp.sqrt(found.q))
    field = CloudField(m, jnp.full(40, 1 / 40), a, jnp.linalg.inv(m.target.P), xi_rule(m.dimension - 1, 24))
    velocity, value = eqx.filter_jit(field.terms)(neurons)
    closure = mean_field_terms(m, Particles(found.M, found.q, jnp.broadcast_to(a, 40)), False, 24)
    np.testing.assert_allclose(velocity.M, closure.PsiM, atol=1e-13)
    np.testing.assert_allclose(2 * neurons.r * velocity.r, closure.Psiq, atol=1e-13)
    assert value == pytest.approx(float(closure.risk), rel=1e-12)
    squares = field.squares(neurons)
    norms = Particles(found.M, found.q, jnp.ones(40)).norms(m.target.P)
    np.testing.assert_allclose(jnp.sum(squares.M, axis=1) + squares.r, norms, rtol=1e-12)


@pytest.mark.slow
def test_test_particles_of_the_law_stay_the_law_and_the_risk_falls():
    """The cloud's own points as test particles go with the cloud; draws from the law keep its means, within error bars."""
    p = problem(width=2000, dimension=10)
    m, cloud, drawn = df.extend.model(p), gaussian_cloud(p.teacher_overlap, 10, 1.0), draw_particles(p, KEY)
    c = cloud.weights.size
    tests = Neurons(*(jnp.concatenate(pair) for pair in ((cloud.points.M, drawn.M), (cloud.points.r, drawn.q**0.5))))
    times = jnp.asarray([1.0, 3.0])
    flow = nonlinear_dynamics(m, cloud, ONE, tests, times, 0.25)
    M, r = flow.particles.M[..., 0], flow.particles.r
    np.testing.assert_allclose(M[:, :c], M[:, c : 2 * c], atol=1e-13)
    np.testing.assert_allclose(r[:, :c], r[:, c : 2 * c], atol=1e-13)
    for x in (M, M**2, r, r**2):
        sample = x[:, 2 * c :]
        z = (sample.mean(axis=1) - x[:, :c] @ cloud.weights) / (sample.std(axis=1) / np.sqrt(2000))
        assert np.abs(z).max() < 4.0
    assert flow.falls.all()
    assert (jnp.diff(flow.risk) < 0).all()
    assert jnp.abs(M[-1] - M[0]).max() > 0.3  # something happened


def test_nonlinear_dynamics_conserve_directions():
    _, field, weights = network(problem())
    P = field.model.target.P
    neurons, directions = split(weights, field.teachers, P)
    np.testing.assert_allclose(directions @ field.teachers.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(jnp.linalg.norm(directions, axis=1), 1.0)
    np.testing.assert_allclose(joined(neurons, directions, field.teachers, P), weights, atol=1e-12)
    moved = Neurons(neurons.M + 0.3, 0.5 * neurons.r)
    again, same = split(joined(moved, directions, field.teachers, P), field.teachers, P)
    np.testing.assert_allclose(same, directions, atol=1e-12)
    np.testing.assert_allclose(again.M, moved.M, atol=1e-12)
    np.testing.assert_allclose(again.r, moved.r, atol=1e-12)
