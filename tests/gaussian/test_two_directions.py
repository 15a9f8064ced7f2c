from itertools import product
from math import factorial, inf, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import hermite_e
from scipy.integrate import quad
from scipy.special import roots_gegenbauer

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP
from dimfree.gaussian.even_orders import slopes
from dimfree.gaussian.two_directions import angular_table, polar

SIGMAS = [DIP_RAMP, *(df.extend.activation(name) for name in ("relu", "erf", "tanh"))]


def cosines(size):
    """Nodes and weights of the cosine of a random angle: density proportional to (1 - alpha²)^((D - 3)/2)."""
    if size in (0, inf):
        return np.zeros(1), np.ones(1)
    if size == 2:
        return np.cos(pi * (np.arange(200) + 0.5) / 200), np.full(200, 1 / 200)
    x, w = roots_gegenbauer(120, size / 2 - 1)
    return x, w / w.sum()


@pytest.mark.parametrize("sizes", [(30.0, 130.0), (6.0, 14.0), (2.0, 3.0), (40.0, 0.0), (5.0, inf)])
def test_table_is_the_average_over_angles(sizes):
    K, phi, phi_ = angular_table(sizes), 0.7, 1.2
    if sizes[1] == 0:
        phi = phi_ = 0.0
    (x, w), (y, v) = map(cosines, sizes)
    rho = np.cos(phi) * np.cos(phi_) * x[:, None] + np.sin(phi) * np.sin(phi_) * y
    waves, waves_ = (np.cos(2 * np.arange(len(K)) * angle) for angle in (phi, phi_))
    for m, table in enumerate(K):
        np.testing.assert_allclose(waves @ table @ waves_, w @ rho ** (2 * m) @ v, rtol=1e-9, atol=1e-14)


def test_series_is_as_long_as_it_must_be():
    lengths = [
        len(angular_table(sizes)) for sizes in ((inf, inf), (1e4, 1e4), (60.0, 260.0), (30.0, 130.0), (2.0, 3.0))
    ]
    assert lengths[0] == 1
    assert lengths == sorted(lengths)
    assert lengths[-1] == 65


@pytest.mark.parametrize("sigma", SIGMAS, ids=lambda sigma: sigma.name)
def test_slopes_are_the_integrals(sigma):
    tau, b = 1.3, 0.4
    found = slopes(sigma, jnp.asarray(tau), jnp.asarray(b), 12)
    for m in (0, 1, 2, 5, 11):
        he = lambda g, m=m: hermite_e.hermeval(g, [0] * m + [1]) / sqrt(factorial(m))  # noqa: E731
        f = lambda g, he=he: he(g) * float(sigma.derivative(jnp.asarray(tau * g + b))) * np.exp(-g * g / 2)  # noqa: E731
        edges = [-12.0, *sorted((kink - b) / tau for kink in sigma.kinks), 12.0]
        exact = sum(quad(f, *edges[i : i + 2], epsabs=1e-12, limit=200)[0] for i in range(len(edges) - 1)) / sqrt(
            2 * pi
        )
        np.testing.assert_allclose(found[m], exact, atol=1e-10)


@pytest.mark.parametrize("sigma", SIGMAS, ids=lambda sigma: sigma.name)
def test_derivatives_are_those_of_the_value(sigma):
    """Of h_n cos(2c phi), the functions of which every network is made, in tau1, tau2 and b."""
    at, h, count = jnp.asarray([0.9, 0.6, -0.3]), 1e-5, 8
    features = jax.jit(lambda x: (lambda p: p.value[:, None] * p.waves)(polar(sigma, *x, count)))
    p = polar(sigma, *at, count)
    outward, around = p.by_scale[:, None] * p.waves, p.over_scale[:, None] * p.waves_by_angle
    around = around.at[0].set(0.0)  # order 0 has the constant wave only
    expected = (p.one * outward - p.two * around, p.two * outward + p.one * around, p.by_shift[:, None] * p.waves)
    for place, wanted in enumerate(expected):
        step = h * jnp.eye(3)[place]
        slope = (features(at + step) - features(at - step)) / (2 * h)
        for m, c in product(range(1, count), range(count)):
            np.testing.assert_allclose(slope[m, c], wanted[m, c], rtol=1e-7, atol=3e-9)
        np.testing.assert_allclose(slope[0, 0], wanted[0, 0], rtol=1e-7, atol=3e-9)


def test_a_neuron_without_weights_is_a_constant():
    p = polar(DIP_RAMP, jnp.zeros(3), jnp.zeros(3), jnp.asarray([-1.0, 0.2, 2.0]), 5)
    np.testing.assert_allclose(p.value[0], DIP_RAMP(jnp.asarray([-1.0, 0.2, 2.0])), atol=1e-12)
    np.testing.assert_array_equal(p.value[1:], 0.0)
    assert all(np.isfinite(letter).all() for letter in p)


def test_bad_input_is_told():
    for sizes in ((1.0, 5.0), (5.0, 1.0), (0.0, 5.0)):
        with pytest.raises(ProblemError, match=r"dimension is [01]; .* need at least 2, or inf"):
            angular_table(sizes)
