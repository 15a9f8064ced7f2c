"""Student's law by two tables of coefficients: closed forms, a series of positive terms, SciPy, and integrals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from dimfree.gaussian.any_loss.noise import Noise
from dimfree.gaussian.any_loss.student import Student

Z = np.array([0.0, 1e-8, 1e-3, 0.1, 0.5, 1.0, 1.7, 3.0, 5.0, 10.0, 30.0, 1e3, 1e5])
DEGREES = (
    0.05,
    0.3,
    0.7,
    1.0,
    1.0 + 1e-9,
    1.3,
    1.5,
    2.0 - 1e-7,
    2.0,
    2.5,
    3.0,
    3.0 + 1e-7,
    3.7,
    4.0,
    5.0,
    8.3,
    30.0,
    200.0,
)


def _seen(nu, z):
    law = Student(nu)
    return law.below(z), law.below(-z), law.density(z), law.first(z), law.second(z)


SEEN = jax.jit(_seen)


def _tails(nu):
    """P(> z) and F'(0), from nu R(h) = sum_n prod_j (nu + j - 1)/(nu + 2 j) (1 - h)^n in extended precision."""
    wide = np.longdouble
    nu, z = wide(nu), Z.astype(wide)
    root = np.sqrt(nu + z**2)
    g = np.append(nu / (root * (root + z)), wide(1))  # at last R(0)
    term = np.ones_like(g)
    found = term.copy()
    for n in range(1, 200 + int(40 * nu)):
        term = term * g * (nu + n - 1) / (nu + 2 * n)
        found += term
    R = found / nu
    return 0.5 * (nu / (nu + z**2)) ** (nu / 2) * R[:-1] / R[-1], 0.5 / (np.sqrt(nu) * R[-1])


@pytest.mark.parametrize("nu", DEGREES)
def test_the_distribution_function_is_good_to_thirteen_digits_and_so_are_its_tails(nu):
    up, down, density, _, _ = (np.asarray(x) for x in SEEN(jnp.asarray(nu), jnp.asarray(Z)))
    tail, peak = _tails(nu)
    np.testing.assert_allclose(up, (1 - tail).astype(float), rtol=0, atol=1e-14)
    there = tail > 1e-280
    np.testing.assert_allclose(down[there], tail[there].astype(float), rtol=2e-13, atol=0)
    exact = peak * (1 + Z.astype(np.longdouble) ** 2 / nu) ** (-(np.longdouble(nu) + 1) / 2)
    np.testing.assert_allclose(density, exact.astype(float), rtol=1e-12, atol=1e-14)


def test_closed_forms_of_one_two_and_three_degrees_of_freedom_and_of_very_many():
    z = Z[:-1]
    root = np.sqrt(2 + z**2)
    angle = np.arctan2(np.sqrt(3), z)
    closed = {
        1.0: np.arctan2(1, z) / np.pi,
        2.0: 1 / (root * (root + z)),
        3.0: (angle - np.sqrt(3) * z / (3 + z**2)) / np.pi,
        1e12: special.ndtr(-z),
    }
    for nu, tail in closed.items():
        np.testing.assert_allclose(SEEN(jnp.asarray(nu), jnp.asarray(z))[1], tail, rtol=0, atol=2e-13)


@pytest.mark.parametrize("nu", [50.0, 1e3, 1e5, 1e8])
def test_many_degrees_of_freedom_agree_with_scipy(nu):
    np.testing.assert_allclose(SEEN(jnp.asarray(nu), jnp.asarray(Z))[1], stats.t.sf(Z, nu), rtol=0, atol=2e-13)


@pytest.mark.parametrize("nu", DEGREES)
def test_partial_moments_are_the_integrals_that_they_stand_for(nu):
    *_, first, second = (np.asarray(x) for x in SEEN(jnp.asarray(nu), jnp.asarray(Z)))
    peak = float(_tails(nu)[1])
    t, w = np.polynomial.legendre.leggauss(30)
    for i, z in enumerate(Z):
        edges = np.concatenate([[0.0], np.geomspace(1e-3 * min(z, 1.0), z, 60)]) if z else np.zeros(2)
        x, weights = (edges[:-1, None] + np.diff(edges)[:, None] * (t + 1) / 2), w / 2 * np.diff(edges)[:, None]
        weights = weights * peak * np.exp(-(nu + 1) / 2 * np.log1p(x**2 / nu))
        for found, power in ((first, 1), (second, 2)):
            assert found[i] == pytest.approx(np.sum(weights * x**power), rel=1e-13, abs=1e-13)


def test_moments_have_their_parity_and_no_noise_has_no_tail():
    nu, z = jnp.asarray(1.7), jnp.asarray(Z[:5])
    up, down, _, first, second = SEEN(nu, z)
    np.testing.assert_array_equal(SEEN(nu, -z)[3], first)
    np.testing.assert_array_equal(SEEN(nu, -z)[4], -second)
    np.testing.assert_allclose(up + down, 1.0, atol=1e-15)
    r = jnp.array([-0.7, 0.2])

    @jax.jit
    def without_noise(freedom):
        noise, theta = Noise(jnp.asarray(0.0), freedom), jnp.asarray(0.5)
        return noise.sign(r), noise.clipped(r, theta), noise.clipped_square(r, theta)

    for freedom in (0.5, 1.0, 2.0, 4.0):
        found = np.stack(without_noise(jnp.asarray(freedom)))
        np.testing.assert_allclose(found, [[-1.0, 1.0], [-0.5, 0.2], [0.25, 0.04]], atol=1e-13)


def test_the_law_is_integrated_to_its_moments_by_another_rule():
    noise, law = Noise(jnp.asarray(0.4), jnp.asarray(2.6)), stats.t(2.6, scale=0.4)
    mean = integrate.quad(lambda x: abs(0.3 + x) * law.pdf(x), -np.inf, -0.3)[0]
    mean += integrate.quad(lambda x: abs(0.3 + x) * law.pdf(x), -0.3, np.inf)[0]
    assert float(noise.distance(jnp.asarray(0.3))) == pytest.approx(mean, abs=1e-8)  # what quad resolves of the tails


@pytest.mark.slow
def test_without_a_mean_risks_are_those_above_the_teachers():
    """d/dr of the mean loss is the mean error, and at r = 0 nothing is above the teacher."""
    r, theta = jnp.linspace(-3.0, 3.0, 7), jnp.asarray(0.6)
    t, w = np.polynomial.legendre.leggauss(40)

    @jax.jit
    def seen(freedom):
        noise, at = Noise(jnp.asarray(0.4), freedom), 0.5 * r[:, None] * (t + 1)
        errors = [noise.sign(at), noise.clipped(at, theta)]
        return [noise.distance(r), noise.huber(r, theta)], [0.5 * r * jnp.sum(w * e, axis=1) for e in errors]

    for freedom in (0.6, 1.0):
        for above, integrated in zip(*seen(jnp.asarray(freedom)), strict=True):
            np.testing.assert_allclose(above, integrated, atol=1e-9)  # what 40 nodes resolve
    for with_floor, integrated in zip(*seen(jnp.asarray(1.5)), strict=True):
        np.testing.assert_allclose(with_floor - with_floor[3], integrated, atol=1e-9)
        assert with_floor[3] > 0.2
