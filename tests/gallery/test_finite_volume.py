import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP, RAMP
from dimfree.gallery.radial_laws.finite_volume import cells, chi_mass, solve_density
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.radial import quantile_radii, two_gaussians


def test_density_agrees_with_particles_to_first_order():
    """The sheet has 1.1268 with 600 cells against 1.1274 at t = 1; half the cells, twice the error."""
    field, time = two_gaussians(RAMP, 0.8, 40.0), jnp.asarray([1.0])
    particles = solve(field, quantile_radii(0.8, 400, 40), time)
    errors = []
    for count in (300, 600):
        edges = cells(4.0, count)
        run = solve_density(field, edges, chi_mass(0.8, 40, edges), time)
        np.testing.assert_allclose(jnp.sum(run.mass), 1.0, rtol=1e-12)
        assert (run.mass >= 0).all()
        errors.append(float(particles.risk[0] - run.risk[0]))
        mean = run.mass[0] @ (0.5 * (edges[1:] + edges[:-1]))
        np.testing.assert_allclose(mean, jnp.mean(particles.particles), atol=0.004)
    np.testing.assert_allclose(particles.risk, 1.1274, atol=5e-5)
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, atol=0.3)
    assert abs(errors[1]) < 1e-3


def test_mass_collects_in_the_corner():
    field, edges = two_gaussians(DIP_RAMP, 0.5, 320.0), cells(0.4, 100)
    run = solve_density(field, edges, chi_mass(0.1, 320, edges), jnp.asarray([0.0, 1.0]))
    np.testing.assert_allclose(run.mass[0], chi_mass(0.1, 320, edges))
    assert run.mass[1, 0] > 0.999
    assert run.risk[1] < run.risk[0]


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match=r"1 cells up to r = 2 .* at least 2 cells"):
        cells(2.0, 1)
