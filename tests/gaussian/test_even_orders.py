"""Even Hermite orders of a neuron: shared nodes against split ones, random angles, and norms at a traced dimension."""

from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import betaln
from scipy.stats import chi

import dimfree as df
from dimfree.gaussian.closure import xi_rule
from dimfree.gaussian.directions import chi_gauss, mean, norm_rule
from dimfree.gaussian.even_orders import cosine_moments, even_orders, from_slopes, slopes
from dimfree.gaussian.two_point.ladder import two_point
from stages import gating

TAU, SHIFT = (jnp.asarray(x) for x in ([0.2, 0.5, 1.0, 1.3], [-1.0, 0.0, 0.7, 2.0]))


@pytest.mark.parametrize("name", gating(["tanh", "softplus", "square", "he3", "erf", "relu"], ["square", "he3", "erf"]))
def test_orders_are_the_integrals(name):
    """By the panels of `mean` and quadrature split where the argument is zero."""
    sigma = df.extend.activation(name)
    found = even_orders(sigma, TAU, SHIFT, 6)
    expected = from_slopes(mean(sigma, TAU, SHIFT).value, slopes(sigma, TAU, SHIFT, 12), TAU)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("name", gating(["tanh", "he3"], ["he3"]))
def test_derivatives_are_those_of_the_values(name):
    sigma, h = df.extend.activation(name), 1e-4
    of = jax.jit(lambda tau, b: even_orders(sigma, tau, b, 4))
    found, quotient = of(TAU, SHIFT), lambda up, down: (up.value - down.value) / (2 * h)
    np.testing.assert_allclose(quotient(of(TAU + h, SHIFT), of(TAU - h, SHIFT)), found.by_scale, atol=1e-6)
    np.testing.assert_allclose(quotient(of(TAU, SHIFT + h), of(TAU, SHIFT - h)), found.by_shift, atol=1e-6)
    np.testing.assert_allclose(found.over_scale[1:] * TAU, found.value[1:], rtol=1e-12)


@pytest.mark.parametrize("size", [2.0, 3.0, 18.0, 1e6])
def test_cosine_moments_are_those_of_a_random_angle(size):
    """alpha² has a beta law."""
    j = np.arange(6)
    expected = np.exp(betaln(0.5 + j, (size - 1) / 2) - betaln(0.5, (size - 1) / 2))
    np.testing.assert_allclose(jax.jit(cosine_moments, static_argnums=1)(size, 6), expected, rtol=1e-9)


def test_nothing_is_left_of_angles_in_infinite_dimension():
    np.testing.assert_array_equal(cosine_moments(jnp.asarray(inf), 4), [1, 0, 0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", gating(["erf", "relu"], ["relu"]))
def test_the_series_is_the_kernel_at_random_angles(name):
    sigma, size, r = df.extend.activation(name), jnp.asarray(18.0), jnp.asarray([0.6, 1.1])
    xi, w = xi_rule(size, 60)
    pair = two_point(sigma, sigma, r[0] ** 2, xi * r[0] * r[1], r[1] ** 2)
    h = even_orders(sigma, r, jnp.zeros(2), 8).value
    np.testing.assert_allclose(jnp.sum(cosine_moments(size, 8) * h[:, 0] * h[:, 1]), w @ pair.kappa, atol=1e-7)


@pytest.mark.parametrize("d", gating([2.0, 3.0, 29.0, 400.0, 1e8], [3.0, 1e8]))
def test_norms_at_a_traced_dimension_are_those_of_gaussian_vectors(d):
    x, w = jax.jit(norm_rule, static_argnums=1)(d, 5)
    for n in range(1, 10):
        log_moment = n * np.log(2 / d) / 2 + float(
            jax.scipy.special.gammaln((d + n) / 2) - jax.scipy.special.gammaln(d / 2)
        )
        expected = np.exp(log_moment) if d > 1e6 else chi(d).moment(n) / d ** (n / 2)
        np.testing.assert_allclose(w @ x**n, expected, rtol=1e-6 if d > 1e6 else 1e-9)
    for one, other in zip((x, w), chi_gauss(d, 5), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
