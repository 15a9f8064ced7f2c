from functools import lru_cache
from math import inf

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP, RAMP
from dimfree.gaussian.directions import interaction, potential
from dimfree.onepass.fields.field import Descent, Field, advance, begin, solve
from dimfree.onepass.fields.radial import ScaledRadialField, quantile_radii, two_gaussians
from stages import gating

field = lru_cache(two_gaussians)
R = jnp.asarray([0.1, 0.4, 0.9, 1.4, 2.3])


@pytest.mark.parametrize("d", gating([40.0, inf], [inf]))
def test_psi_and_risk_are_made_of_the_kernels(d):
    problem, mass = field(DIP_RAMP, 0.5, d), jnp.asarray([0.1, 0.2, 0.3, 0.15, 0.25])
    V = jax.jit(lambda r: potential(DIP_RAMP, 0.5, r))(R)
    U = jax.jit(lambda r: interaction(DIP_RAMP, 0.5, r[:, None], r, d))(R)
    output = problem.output(R, mass)
    np.testing.assert_allclose(problem.risk(output), 1 + 2 * mass @ V + mass @ U @ mass, rtol=1e-9)
    np.testing.assert_allclose(problem.psi(output, R)[0], V + U @ mass, atol=1e-9)


@pytest.mark.parametrize("d", [40.0, inf])
def test_velocity_is_the_gradient_of_the_risk(d):
    terms, h = eqx.filter_jit(field(RAMP, 0.8, d).terms), 2e-4
    velocity = terms(R)[0]
    for j in range(R.size):
        risk = [terms(R.at[j].add(s * h))[1] for s in (-2, -1, 1, 2)]
        slope = (8 * (risk[2] - risk[1]) - (risk[3] - risk[0])) / (12 * h)  # dR/dr_j = (2/n) psi'(r_j)
        np.testing.assert_allclose(-slope * R.size / 2, velocity[j], rtol=1e-9, atol=1e-9)


def test_risk_is_that_of_data():
    """(y - f)(y - f') with independent directions for every input and both factors has the risk as its mean."""
    rng, d, Delta, samples = np.random.default_rng(0), 40, 0.5, 4000
    y = rng.choice([-1.0, 1.0], samples)
    norm = (1 + y * Delta) * np.sqrt(rng.chisquare(d, samples))
    xi = rng.choice([-1, 1], (2, 100, samples)) * np.sqrt(rng.beta(0.5, (d - 1) / 2, (2, 100, samples)))
    neuron = lambda x: np.interp(x, [0, 0.5, 1.5], [-2.5, -4, 7.5])  # noqa: E731
    f = np.mean([neuron(norm * xi * float(r)).mean(axis=1) for r in R], axis=0)
    product = (y - f[0]) * (y - f[1])
    exact = float(field(DIP_RAMP, Delta, 40.0).terms(R)[1])
    assert abs(product.mean() - exact) < 4 * product.std() / np.sqrt(samples)


def test_kappa_decides_between_two_fates():
    """The dichotomy of the papers at d = 320 (docs/theory/mean-field.md, section b)."""
    problem, times = field(DIP_RAMP, 0.5, 320.0), jnp.asarray([10.0])
    fates = {kappa: solve(problem, quantile_radii(kappa, 100, 320), times) for kappa in (0.4, 0.1)}
    np.testing.assert_allclose(fates[0.4].risk, 0.0143, atol=5e-5)
    np.testing.assert_allclose(fates[0.1].risk, 7.25, atol=1e-9)
    np.testing.assert_array_equal(fates[0.1].particles, 0.0)  # they stick to the corner
    assert all(run.falls.all() for run in fates.values())


@pytest.mark.parametrize("step", gating([0.01, 0.02, 0.04], [0.02]))
def test_the_cone_at_zero_holds_what_reaches_it(step):
    """The force towards r = 0 does not vanish there: norms arrive in finite time, stay, and never turn negative."""
    problem, times = field(DIP_RAMP, 0.5, 320.0), jnp.linspace(0.0, 0.2, 21)
    run = solve(problem, quantile_radii(0.1, 100, 320), times, step)
    assert (run.particles >= 0).all()
    assert run.falls.all()
    arrived = np.asarray(run.particles == 0).all(axis=1)
    assert arrived[-1]
    assert (np.diff(arrived.astype(int)) >= 0).all(), "nothing leaves"
    assert float(-problem.terms(jnp.full(100, 1e-6))[0][0]) > 0.5  # so it is a cone, not a smooth minimum
    assert 0.02 < float(times[arrived.argmax()]) < 0.15


def test_more_particles_and_smaller_steps_change_little():
    problem, times = field(RAMP, 0.8, 40.0), jnp.asarray([1.0, 2.0, 5.0, 10.0])
    runs = [solve(problem, quantile_radii(0.8, n, 40), times, h) for n, h in ((100, 0.02), (100, 0.04), (400, 0.02))]
    assert np.all(np.abs(runs[0].risk - runs[2].risk) < [3e-5, 3e-5, 9e-5, 4e-4])
    np.testing.assert_allclose(runs[0].risk, runs[1].risk, atol=2e-6)


def test_stopping_on_the_way_changes_nothing():
    problem, start = field(RAMP, 0.8, inf), quantile_radii(0.8, 20, 40)
    straight = solve(problem, start, jnp.asarray([1.0]))
    stops = solve(problem, start, jnp.asarray([0.0, 0.24, 0.24, 1.0]))
    np.testing.assert_array_equal(stops.particles[0], start)
    np.testing.assert_array_equal(stops.particles[1], stops.particles[2])
    np.testing.assert_allclose(stops.particles[-1], straight.particles[0], rtol=1e-9)
    np.testing.assert_allclose(stops.risk[0], problem.terms(start)[1])


def test_a_rising_risk_is_noticed():
    class Uphill(Field):
        def terms(self, particles):
            return particles, jnp.sum(particles**2)

    run = solve(Uphill(), jnp.ones(2), jnp.asarray([0.5, 1.0]))
    assert isinstance(run, Descent)
    assert not run.falls.any()
    assert not solve(Uphill(), jnp.ones(2), jnp.asarray([1000.0])).falls.any()  # infinite: it does not rise any more
    np.testing.assert_allclose(run.particles[:, 0], np.exp([0.5, 1.0]), rtol=1e-7)


def test_quantiles_have_the_moments_of_the_start():
    r = quantile_radii(0.8, 2000, 40)
    np.testing.assert_allclose(jnp.mean(r**2), 0.64, rtol=1e-3)
    np.testing.assert_array_equal(quantile_radii(0.8, 3, inf), 0.8)


def test_a_second_layer_that_stays_scales_the_neurons():
    """Neurons a sigma are neurons of the activation a sigma when a is one number, and the gradient of their risk otherwise."""
    problem, h = field(RAMP, 0.8, 40.0), 2e-4
    of = lambda a: eqx.filter_jit(ScaledRadialField(**vars(problem), a=a).terms)  # noqa: E731
    doubled = eqx.tree_at(lambda f: (f.table.values, f.table.slopes), problem, replace_fn=lambda x: 2 * x)
    for found, expected in zip(of(jnp.full(5, 2.0))(R), doubled.terms(R), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for found, expected in zip(of(jnp.ones(5))(R), problem.terms(R), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    terms = of(jnp.asarray([1.0, -1.0, 0.5, 2.0, -0.3]))
    for j in range(R.size):
        risk = [terms(R.at[j].add(s * h))[1] for s in (-2, -1, 1, 2)]
        slope = (8 * (risk[2] - risk[1]) - (risk[3] - risk[0])) / (12 * h)
        np.testing.assert_allclose(-slope * R.size / 2, terms(R)[0][j], rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_gradients_pass_through_all_steps():
    """Of the risk at the end, with respect to a number of the field and to the start."""
    start, times, step = quantile_radii(0.8, 10, 40), jnp.asarray([0.3, 1.0]), jnp.asarray(0.05)
    problem = field(RAMP, 0.8, 40.0)

    @eqx.filter_jit
    def last(stretch, kappa):
        stretched = eqx.tree_at(lambda f: f.nodes, problem, replace_fn=lambda x: stretch * x)
        return advance(stretched, begin(kappa * start), times, step)[1].risk[-1]

    found = jax.jit(jax.grad(last, argnums=(0, 1)))(1.0, 1.0)
    for n, slope in enumerate(found):
        ends = [last(*(1.0 + s * 1e-4 * (m == n) for m in range(2))) for s in (-2, -1, 1, 2)]
        np.testing.assert_allclose(slope, (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / 12e-4, rtol=1e-7)


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match="Delta is 1;"):
        two_gaussians(RAMP, 1.0, 40.0)
    with pytest.raises(ProblemError, match=r"kappa is 0; .* positive"):
        quantile_radii(0.0, 10, 40)
    with pytest.raises(ProblemError, match=r"dimension is 0\.5"):
        two_gaussians(RAMP, 0.5, 0.5)
