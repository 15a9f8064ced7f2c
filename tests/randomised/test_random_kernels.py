"""One- and two-point averages against adaptive quadrature: every kind of function, variances from 0.01 to 50."""

import adaptive
import jax.numpy as jnp
import numpy as np
import pytest
from chance import Checks
from plain_functions import NAMES, function, in_dimfree

from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.ladder import two_point

pytestmark = pytest.mark.slow
PROMISED = 1e-9  # of the root of the average square (docs/accuracy.md)
ORDERS = 5


def variances(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.exp(rng.uniform(np.log(0.01), np.log(50), size=count))


def correlations(rng: np.random.Generator, count: int) -> np.ndarray:
    """Of both signs, some of them near one, where a function of w is nearly one of u."""
    near = 1 - 10 ** rng.uniform(-4, -1, size=count)
    return rng.choice([-1.0, 1.0], size=count) * np.where(rng.random(count) < 0.3, near, rng.uniform(0, 1, size=count))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_taken_by_hand_are_those_of_the_function(name, rng, checks):
    """The reference itself: differences of neighbours, away from the kinks."""
    f, x, h = function(name, rng), rng.normal(scale=2, size=200), 1e-5
    x = x[np.all(np.abs(x[:, None] - np.array([*f.kinks, np.inf])) > 1e-3, axis=1)]
    for low, high in ((f.value, f.slope), (f.slope, f.curvature)):
        checks.bounded(name, (low(x + h) - low(x - h)) / (2 * h), high(x), 1e-8 * (1 + np.abs(x) ** 3))
    for kink, bend in f.bends.items():
        around = f.slope(np.array([kink - 1e-9, kink + 1e-9]))
        checks.bounded("bend", around[1] - around[0], bend, 1e-7)
    checks.bounded("dimfree's function", in_dimfree(f)(jnp.asarray(x)), f.value(x), 1e-12 * (1 + np.abs(x) ** 3))
    checks.settle()


@pytest.mark.parametrize("name", NAMES)
def test_one_point_averages(name, rng, checks, cases):
    f, q = function(name, rng), variances(rng, 2 * cases)
    found = np.asarray(hermite_moments(in_dimfree(f), jnp.asarray(q), ORDERS))
    for n, one in enumerate(q):
        known = adaptive.one_point(f, one, ORDERS)
        checks.bounded(f"{name} at q = {one:.4g}, order ", found[n], known.value, PROMISED * known.size + known.error)
    checks.settle()


@pytest.mark.parametrize("name", NAMES)
def test_two_point_averages(name, rng, checks, cases):
    """Beside itself, and beside another."""
    f, other = function(name, rng), str(rng.choice([one for one in NAMES if one != name]))
    for partner in ((name, f), (other, function(other, rng))):
        compare(checks, rng, cases, (name, f), partner)
    checks.settle()


def compare(checks, rng, cases, one, another, factor=1.0):
    (name, f), (other, g) = one, another
    q_u, q_w, rho = variances(rng, cases), variances(rng, cases), correlations(rng, cases)
    c = rho * np.sqrt(q_u * q_w)
    found = np.stack(two_point(in_dimfree(f), in_dimfree(g), *(jnp.asarray(x) for x in (q_u, c, q_w))), axis=-1)
    for n in range(cases):
        known = adaptive.two_point(f, g, q_u[n], c[n], q_w[n])
        at = f"{name} and {other} at q_u = {q_u[n]:.4g}, q_w = {q_w[n]:.4g}, rho = {rho[n]:.5f}, (kappa, A, B)"
        checks.bounded(at, found[n], factor * known.value, PROMISED * known.size + known.error)


def test_a_wrong_factor_would_be_noticed(rng):
    """One part in a million."""
    checks = Checks(0)
    compare(checks, rng, 4, *(("tanh", function("tanh", rng)),) * 2, factor=1 + 1e-6)
    with pytest.raises(AssertionError, match="repeat with DIMFREE_RANDOM_SEED=0"):
        checks.settle()
