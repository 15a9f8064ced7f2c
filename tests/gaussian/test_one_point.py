"""Hermite moments h_j(q) = E[sigma^(j)(sqrt(q) x)], and the rules behind them."""

from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import hermite_e, polynomial
from pair_reference import FUNCTIONS, expectations

from dimfree.functions import Polynomial, activation
from dimfree.gaussian.nodes import gauss_hermite, gauss_legendre, trapezoid
from dimfree.gaussian.one_point import hermite_moments as hermite_moments_eager

hermite_moments = jax.jit(hermite_moments_eager, static_argnums=2)

VARIANCES = jnp.array([0.3, 1.0, 2.7])
NAMES = ["erf", "relu", "hard-tanh", "he3", "tanh", "jax.nn:elu"]
LINEAR = FUNCTIONS["erf"]._replace(value=lambda x: x, slope=np.ones_like, curvature=np.zeros_like)
ONE = LINEAR._replace(value=np.ones_like, slope=np.zeros_like)


@pytest.mark.parametrize("name", NAMES)
def test_first_moments(name):
    f, h = FUNCTIONS[name], hermite_moments(activation(name), VARIANCES, 3)
    for q, moments in zip(VARIANCES.tolist(), h, strict=True):
        h_0, h_2, _ = expectations(f, ONE, q, 0.0, 1.0)
        h_1 = expectations(f, LINEAR, q, 0.0, 1.0)[2]
        np.testing.assert_allclose(moments, [h_0, h_1, h_2], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_moments_obey_the_heat_equation(name):
    """h_{j+2} = 2 dh_j/dq."""
    sigma, ones = activation(name), jnp.ones_like(VARIANCES)
    h, slope = jax.jvp(lambda q: hermite_moments(sigma, q, 8), (VARIANCES,), (ones,))
    np.testing.assert_allclose(h[:, 2:], 2 * slope[:, :-2], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", ["relu", "hard-tanh"])
def test_asking_for_fewer_moments_gives_the_same(name, count):
    h = hermite_moments(activation(name), VARIANCES, 8)
    fewer = hermite_moments(activation(name), VARIANCES, count)
    assert fewer.shape == (3, count)
    np.testing.assert_allclose(fewer, h[:, :count], rtol=1e-14, atol=1e-14)


def test_polynomial_moments_agree_with_gauss_hermite():
    coefficients = (0.5, -1.0, 0.25, 2.0, -0.3, 0.0, 0.1)
    h = hermite_moments(Polynomial(coefficients=coefficients), VARIANCES, 9)
    x, w = hermite_e.hermegauss(20)
    for j in range(9):
        derivative = polynomial.polyder(coefficients, j)
        expected = [w @ polynomial.polyval(np.sqrt(q) * x, derivative) / np.sqrt(2 * np.pi) for q in VARIANCES.tolist()]
        np.testing.assert_allclose(h[:, j], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 4, 7])
def test_hermite_polynomials_have_one_moment_at_unit_variance(n):
    h = hermite_moments(activation(f"he{n}"), jnp.asarray(1.0), 9)
    np.testing.assert_allclose(h, [factorial(n) if j == n else 0.0 for j in range(9)], atol=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_rules_are_exact_for_what_they_promise(dimension):
    points, weights = gauss_hermite(5, dimension)
    np.testing.assert_allclose([weights.sum(), weights @ points[:, -1] ** 8], [1.0, 105.0], rtol=1e-12)
    np.testing.assert_allclose(weights @ (points**2).prod(axis=1), 1.0, rtol=1e-12)
    points, weights = trapezoid(1 / 3, dimension, 8.6)
    np.testing.assert_allclose(weights @ np.cos(points.sum(axis=1)), np.exp(-dimension / 2), rtol=1e-13)
    x, w = gauss_legendre(6)
    np.testing.assert_allclose(w @ x**11, 1 / 12, rtol=1e-13)
