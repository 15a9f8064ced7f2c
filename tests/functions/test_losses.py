"""Losses: derivatives by automatic differentiation, proximal maps by minimisation, names and refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.loss import LOSSES, loss

MARGINS = np.concatenate([np.linspace(-4.9, 4.9, 23), [-30.0, 30.0]])  # no kink is hit
PROX = [0.01, 0.7, 5.0, 3000.0]


def test_values():
    u = np.array([-2.0, 0.25, 3.0])
    np.testing.assert_allclose(loss("logistic")(jnp.asarray(u)), np.log(1 + np.exp(-u)), rtol=1e-14)
    np.testing.assert_allclose(loss("square")(jnp.asarray(u)), (1 - u) ** 2 / 2, rtol=1e-14)
    np.testing.assert_allclose(loss("hinge")(jnp.asarray(u)), [3.0, 0.75, 0.0])
    np.testing.assert_allclose(loss("smooth-hinge")(jnp.asarray(u)), [2.5, 0.75**2 / 2, 0.0])


def test_logistic_far_away():
    far, logistic = jnp.asarray([-1000.0, 1000.0]), loss("logistic")
    np.testing.assert_array_equal(logistic(far), [1000.0, 0.0])
    np.testing.assert_array_equal(logistic.derivative(far), [-1.0, 0.0])
    np.testing.assert_array_equal(logistic.second_derivative(far), [0.0, 0.0])


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name):
    one, u = loss(name, width=0.37), jnp.asarray(MARGINS)
    np.testing.assert_allclose(one.derivative(u), jax.vmap(jax.grad(one))(u), rtol=1e-12, atol=1e-15)
    if one.smooth:
        second = jax.vmap(jax.grad(one.derivative))(u)
        np.testing.assert_allclose(one.second_derivative(u), second, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("V", PROX)
@pytest.mark.parametrize("name", LOSSES)
def test_prox_minimises(name, V):
    one = loss(name, width=0.37)
    omega = np.array([-1.5 * V - 3, -V, -0.5, 0.4, 0.99, 1.3, 40.0])
    h = np.asarray(one.prox(jnp.asarray(omega), jnp.asarray(V)))

    def cost(h, omega):
        return float(one(jnp.asarray(h))) + (h - omega) ** 2 / (2 * V)

    for found, at in zip(h, omega, strict=True):
        best = minimize_scalar(cost, args=(at,), bounds=(at - 1e-9, at + V * (1 + max(-at, 0))), method="bounded")
        assert cost(found, at) <= best.fun * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("V", PROX)
@pytest.mark.parametrize("name", ["logistic", "square", "smooth-hinge"])
def test_prox_solves_its_equation(name, V):
    """h + V ell'(h) = omega, and dh/domega = 1/(1 + V ell''(h))."""
    one, omega, V = loss(name, width=0.37), jnp.linspace(-11.03, 11.03, 41), jnp.asarray(V)
    h = one.prox(omega, V)
    np.testing.assert_allclose(h + V * one.derivative(h), omega, rtol=1e-12, atol=2e-12 * float(1 + V))
    slope = jax.vmap(jax.grad(one.prox), in_axes=(0, None))(omega, V)
    np.testing.assert_allclose(slope, 1 / (1 + V * one.second_derivative(h)), rtol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_prox_bends_where_it_says(name):
    one, V = loss(name, width=0.37), jnp.asarray(0.8)
    kinks = [float(kink) for kink in one.prox_kinks(V)]
    grid = np.arange(-3, 3, 1e-3)
    bends = grid[1:-1][np.abs(np.diff(one.prox(jnp.asarray(grid), V), 2)) > 1e-4]
    for kink in kinks:
        assert np.abs(bends - kink).min() < 1e-3
    assert all(min(abs(bend - kink) for kink in kinks) < 2e-3 for bend in bends)


def test_smooth_hinge_tends_to_the_hinge():
    u = jnp.asarray(np.linspace(-2, 3, 101))
    for width in (1.0, 0.1, 0.01):
        gap = loss("hinge")(u) - loss("smooth-hinge", width)(u)
        assert float(gap.min()) >= 0
        assert float(gap.max()) == pytest.approx(width / 2, rel=1e-12)


def test_hinge_has_no_curvature():
    with pytest.raises(RefusalError, match=r"hinge loss has no second derivative.*use 'smooth-hinge'"):
        loss("hinge").second_derivative(jnp.ones(2))


@pytest.mark.parametrize(
    ("name", "width", "message"),
    [
        ("logistc", 1.0, r"there is no loss 'logistc'; did you mean 'logistic'\?"),
        ("abc", 1.0, r"there is no loss 'abc'; choose from: logistic, square, smooth-hinge, hinge\."),
        ("smooth-hinge", 0.0, "width of the smooth hinge is 0, it must be positive; width zero is 'hinge'"),
        ("smooth-hinge", float("nan"), "width of the smooth hinge is nan"),
    ],
)
def test_bad_names(name, width, message):
    with pytest.raises(ProblemError, match=message):
        loss(name, width)
