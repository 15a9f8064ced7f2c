"""Averages of smooth functions at small and large variances: the nodes follow the scale, and what they miss is estimated."""

from functools import lru_cache
from math import sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy import integrate

from dimfree.functions import activation
from dimfree.functions.activation import Activation
from dimfree.gaussian.even_orders import even_orders
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.series import normalised_moments
from dimfree.gaussian.two_point.ladder import two_point, two_point_error
from dimfree.gaussian.two_point.shifted import shifted_kernel
from stages import gating

FUNCTIONS = {
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "softplus": "softplus",
    "sin": "sin",
    "wave": lambda x: x * jnp.exp(-(x**2)),
    "bump": lambda x: jnp.exp(-2 * (x - 1) ** 2),
}
POINTS = [
    (0.01, 0.003, 1.0),
    (1.0, 0.3, 1.0),
    (6.0, -5.0, 6.0),
    (50.0, 0.3, 0.02),
    (49.0, 30.0, 49.0),
    (49.0, 49.0, 49.0),
]
_T, _W = leggauss(10)


@lru_cache(maxsize=16)
def function(name: str) -> Activation:
    return activation(FUNCTIONS[name])


def pieces(spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes on pieces short enough for a function that is seen through a lens of this strength."""
    edges = np.linspace(-9, 9, 1 + int(36 * max(1.0, 1.5 * spread)))
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (_T + 1) / 2).ravel()
    return x, (np.diff(edges)[:, None] * _W / 2).ravel() * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def by_pieces(f: Activation, q_u: float, c: float, q_w: float) -> list[float]:
    scale, slope = sqrt(q_u), c / sqrt(q_u)
    rest = sqrt(q_w - slope**2) if q_w - slope**2 > 1e-14 * q_w else 0.0
    (x, weight_x), (y, weight_y) = pieces(max(scale, abs(slope))), pieces(rest)
    if not rest:
        y, weight_y = np.zeros(1), np.ones(1)
    u, w = jnp.asarray(scale * x), jnp.asarray(slope * x[:, None] + rest * y)
    g, slope_g = (np.asarray(part(w)) @ weight_y for part in (f, f.derivative))
    parts = f(u) * g, f.second_derivative(u) * g, f.derivative(u) * slope_g
    return [float(weight_x @ np.asarray(part)) for part in parts]


@pytest.mark.parametrize("name", gating(FUNCTIONS, ["sigmoid"]))
def test_kernels_from_small_to_large_variances(name):
    f = function(name)
    found = np.stack(jax.jit(two_point)(f, f, *map(jnp.asarray, np.array(POINTS).T)), axis=-1)
    expected = np.array([by_pieces(f, *point) for point in POINTS])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", gating(FUNCTIONS, ["tanh"]))
def test_moments_from_small_to_large_variances(name):
    f, variances = function(name), [0.01, 1.0, 50.0]
    found = hermite_moments(f, jnp.asarray(variances), 2)
    normalised = normalised_moments(f, jnp.asarray(variances), 2)
    orders = even_orders(f, jnp.sqrt(jnp.asarray(variances)), jnp.full(3, 0.7), 2)
    for n, q in enumerate(variances):

        def average(g, shift=0.0, q=q):
            density = lambda u: float(g(u + shift)) * np.exp(-(u**2) / (2 * q)) / np.sqrt(2 * np.pi * q)  # noqa: E731
            places = [side * x for x in (0.5, 2.0, 6.0) for side in (-1, 1) if x < 9 * sqrt(q)]
            return integrate.quad(density, -9 * sqrt(q), 9 * sqrt(q), points=places, limit=2000, epsabs=1e-14)[0]

        value = jax.jit(f)
        slope = jax.jit(f.derivative)
        np.testing.assert_allclose(found[n], [average(value), average(slope)], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(normalised[:, n], found[n] * np.array([1.0, sqrt(q)]), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(orders.value[0, n], average(value, 0.7), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(orders.by_shift[0, n], average(slope, 0.7), rtol=1e-9, atol=1e-12)


def test_shifted_kernels_at_large_variances():
    """A shift of an odd function by nothing is the kernel itself, and E f(u + b) f(w + s) is even in (b, s)."""
    f = function("tanh")
    q_u, c, q_w = map(jnp.asarray, np.array(POINTS).T)
    b, s = jnp.full(len(POINTS), 1.3), jnp.full(len(POINTS), -0.4)
    expected = two_point(f, f, q_u, c, q_w).kappa
    np.testing.assert_allclose(shifted_kernel(f, f, q_u, c, q_w, 0 * b, 0 * s), expected, rtol=1e-12)
    there, back = shifted_kernel(f, f, q_u, c, q_w, b, s), shifted_kernel(f, f, q_u, c, q_w, -b, -s)
    np.testing.assert_allclose(there, back, rtol=1e-10)
    assert not np.allclose(there, expected)


@pytest.mark.slow
def test_error_of_kernels_is_estimated():
    """Nodes are bounded: a steep function at a large variance gets too few, and the estimate says so."""
    steep = activation(lambda x: jnp.tanh(6 * x))
    for variance, least, most in [(1.0, 0.0, 1e-9), (60.0, 1e-5, 1.0)]:
        q = jnp.asarray(variance)
        found = np.stack(two_point(steep, steep, q, q, q))
        expected = np.array(by_pieces_of_steep(steep, variance))
        error = np.max(np.abs(found - expected) / np.abs(expected))
        estimate = float(two_point_error(steep, steep, q, q, q))
        assert least <= error <= most
        assert error < 3 * estimate + 1e-10
        assert estimate < 100 * error + 1e-9


def by_pieces_of_steep(f: Activation, q: float) -> list[float]:
    """A unit with itself is an average over one variable."""
    x, weight = pieces(8 * sqrt(q))
    u = jnp.asarray(sqrt(q) * x)
    value, slope = np.asarray(f(u)), np.asarray(f.derivative(u))
    return [float(weight @ part) for part in (value**2, value * np.asarray(f.second_derivative(u)), slope**2)]


def test_derivatives_pass_backwards_through_the_loops():
    f, q = function("tanh"), jnp.asarray([20.0, 9.0, 30.0])

    def total(q):
        kernels = two_point(f, f, q[:1], q[1:2], q[2:])
        return sum(jnp.sum(x) for x in kernels) + jnp.sum(hermite_moments(f, q, 3))

    slope, h = jax.jit(jax.grad(total))(q), 1e-3
    value = jax.jit(total)
    stencil = {-2: 1, -1: -8, 1: 8, 2: -1}
    expected = [sum(w * value(q + n * h * e) for n, w in stencil.items()) / (12 * h) for e in jnp.eye(3)]
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("q", [1.0, 10.0, 50.0])
def test_a_kinked_beside_a_smooth_function(q):
    """By symmetry B of relu and tanh is half of E tanh', and A is zero; at q = 50 B was once wrong by 8e-8."""
    found = two_point(activation("relu"), activation("tanh"), jnp.asarray(q), jnp.asarray(q / 2), jnp.asarray(q))

    def slope(x: float) -> float:
        return np.cosh(sqrt(q) * x) ** -2.0 * np.exp(-0.5 * x**2) / sqrt(2 * np.pi)

    half = integrate.quad(slope, -9, 9, epsabs=1e-14, epsrel=1e-13, limit=500, points=[0])[0] / 2
    assert float(found.B) == pytest.approx(half, rel=1e-12)
    assert abs(float(found.A)) < 1e-13
