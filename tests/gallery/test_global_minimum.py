from math import inf

import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP, RAMP
from dimfree.gallery.radial_laws.global_minimum import default_grid, global_minimum, stationarity
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.radial import quantile_radii, two_gaussians

GRID = default_grid()
TABLE = [
    (RAMP, 0.2, {40.0: 0.3951, 320.0: 0.3477, inf: 0.3412}),
    (RAMP, 0.5, {40.0: 0.0309, 320.0: 0.0041, inf: 0.0}),
    (RAMP, 0.8, {40.0: 0.0032, 320.0: 0.0004, inf: 0.0}),
    (DIP_RAMP, 0.5, {40.0: 0.0305, 320.0: 0.0040, inf: 0.0}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "Delta", "row"), TABLE, ids=lambda x: str(getattr(x, "name", ""))[:9])
def test_smallest_risks_are_those_of_the_sheet(sigma, Delta, row):
    for d, expected in row.items():
        field = two_gaussians(sigma, Delta, d)
        found = global_minimum(field, GRID)
        np.testing.assert_allclose(found.risk, expected, atol=6e-5)
        np.testing.assert_allclose(jnp.sum(found.mass), 1.0, rtol=1e-12)
        at = stationarity(field, found.r, found.mass, GRID)
        assert at.spread < 1e-8  # psi is constant on the support
        assert at.gap < 1e-8  # and nowhere lower


@pytest.mark.slow
def test_a_run_is_above_the_minimum_by_less_than_its_gap():
    """Near-stationary, but not the global minimum: 0.0143 against 0.0040."""
    field = two_gaussians(DIP_RAMP, 0.5, 320.0)
    run = solve(field, quantile_radii(0.4, 50, 320), jnp.asarray([10.0]))
    at = stationarity(field, run.particles[0], jnp.full(50, 0.02), GRID)
    assert at.slope < 5e-3
    assert float(run.risk[0]) - global_minimum(field, GRID).risk <= at.gap
    assert at.gap > 0.01


def test_a_corner_holds_what_is_pushed_into_it():
    field = two_gaussians(DIP_RAMP, 0.5, 320.0)
    at = stationarity(field, jnp.zeros(1), jnp.ones(1), GRID)
    assert at.slope == 0
    assert at.gap > 1


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match="negative entries"):
        global_minimum(two_gaussians(RAMP, 0.5), jnp.asarray([-0.1, 1.0]))
