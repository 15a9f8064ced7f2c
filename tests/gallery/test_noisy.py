from functools import lru_cache
from math import inf, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.functions.ramps import RAMP
from dimfree.gallery.radial_laws.finite_volume import cells, chi_mass
from dimfree.gallery.radial_laws.noisy import effective_beta, excess_risk, free_energy, gibbs, langevin, noisy_density
from dimfree.gallery.solvable import linear_law, quadratic_variance
from dimfree.onepass.fields.langevin import bath
from dimfree.onepass.fields.radial import quantile_radii, two_gaussians
from stages import gating

EDGES = cells(5.0, 250)
CENTRES = 0.5 * (EDGES[1:] + EDGES[:-1])
field = lru_cache(two_gaussians)


def test_beta_of_a_step():
    assert effective_beta(1.0, 2 / 7.0) == pytest.approx(7.0)  # the definition
    assert effective_beta(2.0, 1 / 7.0) == pytest.approx(4 * 7.0)  # drift 2 eta, noise N(0, eta/beta)
    with pytest.raises(ProblemError, match="both must be positive"):
        effective_beta(1.0, 0.0)


@pytest.mark.parametrize("beta", gating([1.0, 30.0, 1e4], [30.0]))
def test_gibbs_reproduces_itself(beta):
    problem, around = field(RAMP, 0.8, 40.0), bath(40.0, beta, 0.2)
    found = gibbs(problem, around, EDGES)
    assert found.residual < 1e-9
    psi = problem.psi(problem.output(CENTRES, found.mass), CENTRES)[0] + 0.1 * CENTRES**2
    np.testing.assert_allclose(jax.nn.softmax(39 * jnp.log(CENTRES) - beta * psi), found.mass, atol=1e-8)


def test_gibbs_has_the_smallest_free_energy():
    problem, around = field(RAMP, 0.8, 40.0), bath(40.0, 80.0, 0.1)
    found = gibbs(problem, around, EDGES)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        mass = found.mass * jnp.asarray(np.exp(size * rng.normal(size=CENTRES.size)))
        assert free_energy(problem, around, EDGES, mass / mass.sum()) > found.free_energy


def test_without_interaction_the_law_is_a_gaussian_vector():
    """At beta to 0 with beta lambda fixed the potential is the decay alone: |theta|² beta lambda is chi² with d degrees."""
    problem = field(RAMP, 0.8, 40.0)
    found = gibbs(problem, bath(40.0, 1e-6, 20e6), EDGES)
    np.testing.assert_allclose(found.mass @ CENTRES**2, 40 / 20, rtol=1e-4)
    expected = -0.5 * 40 * np.log(2 * np.pi * np.e / 20) / 1e-6 + 0.5 * 20e6 * 2
    np.testing.assert_allclose(found.free_energy, expected, rtol=1e-4)


def test_a_noisy_run_falls_to_the_gibbs_law():
    problem, around, times = field(RAMP, 0.8, 40.0), bath(40.0, 40.0, 0.1), jnp.asarray([0.1, 1.0, 5.0, 30.0, 400.0])
    run = noisy_density(problem, around, EDGES, chi_mass(0.8, 40, EDGES), times, jnp.asarray(0.05))
    found = gibbs(problem, around, EDGES)
    np.testing.assert_allclose(jnp.sum(run.cells.mass, axis=1), 1.0, rtol=1e-9)
    assert (jnp.diff(run.free_energy) < 0).all()
    np.testing.assert_allclose(run.free_energy[-1], found.free_energy, atol=1e-6)
    np.testing.assert_allclose(run.cells.mass[-1], found.mass, atol=1e-4)


@pytest.mark.slow
def test_langevin_particles_follow_the_density():
    problem, around, times = field(RAMP, 0.8, 40.0), bath(40.0, 80.0, 0.1), jnp.asarray([0.2, 1.0])
    cells_run = noisy_density(problem, around, EDGES, chi_mass(0.8, 40, EDGES), times, jnp.asarray(0.005)).cells
    start = quantile_radii(0.8, 2000, 40)
    r, risk = langevin(problem, around, start, times, jnp.asarray(0.01), jax.random.key(1))
    means = cells_run.mass @ CENTRES
    z = (jnp.mean(r, axis=1) - means) / (jnp.std(r, axis=1) / sqrt(2000))
    assert np.abs(z).max() < 4
    np.testing.assert_allclose(risk, cells_run.risk, atol=0.01)


def test_temperature_costs_at_most_d_over_beta():
    excess = excess_risk(field(RAMP, 0.8, 40.0), 40.0, np.array([100.0, 1e3, 1e4, 1e5]), EDGES)
    assert (jnp.diff(excess.excess) < 0).all()
    assert ((excess.in_units > 0) & (excess.in_units < 1)).all()


def simulated(force, D, decay, beta, time, start, neurons=20_000, eps=0.01, seed=0):
    """Langevin neurons in D dimensions with a force that knows the moments of all."""
    rng = np.random.default_rng(seed)
    theta = start + rng.normal(size=(neurons, D))
    for _ in range(round(time / eps)):
        theta = theta + eps * (force(theta) - decay * theta) + sqrt(2 * eps / beta) * rng.normal(size=theta.shape)
    return theta


def test_linear_model_is_what_neurons_do():
    b = np.array([1.0, -0.5, 0.25])
    law = linear_law(b, 0.5, 4.0, 1.0, np.zeros(3), 1.0)
    np.testing.assert_allclose(law.mean, [0.5179, -0.2590, 0.1295], atol=5e-5)
    theta = simulated(lambda theta: b - theta.mean(axis=0), 3, 0.5, 4.0, 1.0, 0.0)
    # the interacting mean has half the noise of free neurons at most; the time step leaves 2 %
    np.testing.assert_allclose(theta.mean(axis=0), law.mean, atol=4 * sqrt(law.variance / 20_000) + 0.005)
    np.testing.assert_allclose(theta.var(axis=0).mean(), law.variance, rtol=0.02)
    last = linear_law(b, 0.5, 4.0, inf, np.zeros(3), 1.0)
    assert last.free_energy < law.free_energy
    np.testing.assert_allclose(last.variance, 1 / (4.0 * 0.5))


def quadratic_force(b):
    """Minus grad Psi of neurons <theta, x>² with labels b |x|²."""

    def force(theta):
        rest = theta.T @ theta / len(theta) - b * np.eye(theta.shape[1])
        return -2 * theta @ (np.trace(rest) * np.eye(len(rest)) + 2 * rest)

    return force


def test_quadratic_model_is_what_neurons_do():
    theta = simulated(quadratic_force(0.5), 3, 0.3, 5.0, 0.3, 0.0, eps=0.001)
    expected = quadratic_variance(0.5, 3, 0.3, 5.0, 0.3, 1.0)
    np.testing.assert_allclose(expected, 0.5191, atol=5e-5)
    np.testing.assert_allclose(theta.var(), expected, rtol=4 * sqrt(2 / 60_000))


@pytest.mark.slow
def test_stationary_variances_are_those_of_the_sheet():
    """Section c: .499 to .506 per coordinate against .5002, then .5086 against .5093 and .1958 against .1952."""
    b, n = np.array([1.0, -0.5, 0.25]), 20_000
    linear = linear_law(b, 0.5, 4.0, 8.0, np.zeros(3), 1.0).variance
    np.testing.assert_allclose(linear, 0.5002, atol=5e-5)
    theta = simulated(lambda theta: b - theta.mean(axis=0), 3, 0.5, 4.0, 8.0, 0.0)
    longer = 1 / (1 - 0.5 * 0.01 / 2)  # steps of eps leave 1/(1 - lambda eps/2)
    np.testing.assert_allclose(theta.var(axis=0), longer * linear, rtol=4 * sqrt(2 / n))
    np.testing.assert_allclose([0.499, 0.506], linear, rtol=4 * sqrt(2 / n))
    for (strength, D, decay, beta), value, measured in (
        ((0.5, 3, 0.3, 5.0), 0.5093, 0.5086),
        ((0.0, 2, 1.0, 2.0), 0.1952, 0.1958),
    ):
        expected = quadratic_variance(strength, D, decay, beta, inf, 1.0)
        np.testing.assert_allclose(expected, value, atol=5e-5)
        error = 4 * sqrt(2 / (n * D))
        np.testing.assert_allclose(measured, expected, rtol=error)
        theta = simulated(quadratic_force(strength), D, decay, beta, 1.5, 0.0, eps=0.001)
        np.testing.assert_allclose(theta.var(), expected, rtol=error)
        kurtosis = np.mean(theta**4) / np.mean(theta**2) ** 2
        assert abs(kurtosis - 3) < 4 * sqrt(24 / (n * D))  # the law is Gaussian; 3.04 in the sheet


def test_quadratic_variance_solves_its_equation():
    args, h = (0.5, 3, 0.3, 5.0), 1e-6
    for t in (0.01, 0.2, 1.0):
        s = quadratic_variance(*args, t, 1.0)
        slope = (quadratic_variance(*args, t + h, 1.0) - quadratic_variance(*args, t - h, 1.0)) / (2 * h)
        np.testing.assert_allclose(slope, -2 * (10 * (s - 0.5) + 0.3) * s + 2 / 5.0, atol=1e-7)
    assert quadratic_variance(*args, 0.0, 1.0) == pytest.approx(1.0)


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match=r"beta is 0; .* positive"):
        bath(40.0, 0.0)
    with pytest.raises(ProblemError, match="beta is -1"):
        quadratic_variance(0.5, 3, 0.3, -1.0, 1.0, 1.0)
    with pytest.raises(ProblemError, match="lambda is 0; the linear model needs a positive one"):
        linear_law(np.ones(2), 0.0, 1.0, 1.0, np.zeros(2), 1.0)
    with pytest.raises(ProblemError, match="needs a finite d"):
        bath(inf, 1.0)
    with pytest.raises(ProblemError, match="lambda is -1"):
        bath(40.0, 1.0, -1.0)
