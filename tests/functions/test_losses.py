"""Losses: derivatives by automatic differentiation, proximal maps by minimisation, names and refusals."""

import equinox as eqx
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
    np.testing.assert_allclose(loss("huber", 1.5)(jnp.asarray(u)), [1.5 * 2.25, 0.75**2 / 2, 1.5 * 1.25])
    np.testing.assert_allclose(loss("absolute")(jnp.asarray(u)), [3.0, 0.75, 2.0])
    np.testing.assert_allclose(loss("insensitive", 0.8)(jnp.asarray(u)), [2.2, 0.0, 1.2])


def test_logistic_far_away():
    far, logistic = jnp.asarray([-1000.0, 1000.0]), loss("logistic")
    np.testing.assert_array_equal(logistic(far), [1000.0, 0.0])
    np.testing.assert_array_equal(logistic.derivative(far), [-1.0, 0.0])
    np.testing.assert_array_equal(logistic.second_derivative(far), [0.0, 0.0])


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(name):
    one, u = loss(name, width=0.37), jnp.asarray(MARGINS)
    found, slope = jax.jit(lambda u: (one.derivative(u), jax.vmap(jax.grad(one))(u)))(u)
    np.testing.assert_allclose(found, slope, rtol=1e-12, atol=1e-15)
    if one.smooth:
        found, second = jax.jit(lambda u: (one.second_derivative(u), jax.vmap(jax.grad(one.derivative))(u)))(u)
        np.testing.assert_allclose(found, second, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("V", PROX)
@pytest.mark.parametrize("name", LOSSES)
def test_prox_minimises(name, V):
    one = loss(name, width=0.37)
    omega = np.array([-1.5 * V - 3, -V, -0.5, 0.4, 0.99, 1.3, 40.0])
    h = np.asarray(one.prox(jnp.asarray(omega), jnp.asarray(V)))

    def cost(h, omega):
        return float(one(jnp.asarray(h))) + (h - omega) ** 2 / (2 * V)

    for found, at in zip(h, omega, strict=True):
        best = minimize_scalar(
            cost, args=(at,), bounds=(at - V * (1 + abs(at)), at + V * (1 + abs(at))), method="bounded"
        )
        assert cost(found, at) <= best.fun * (1 + 1e-9) + 1e-12


@eqx.filter_jit
def solved(one, omega, V):
    """The proximal map, its slope, and both derivatives of the loss there."""
    h = one.prox(omega, V)
    slope = jax.vmap(jax.grad(one.prox), in_axes=(0, None))(omega, V)
    return h, slope, one.derivative(h), one.second_derivative(h)


@pytest.mark.parametrize("V", PROX)
@pytest.mark.parametrize("name", ["logistic", "square", "smooth-hinge", "huber"])
def test_prox_solves_its_equation(name, V):
    """h + V ell'(h) = omega, and dh/domega = 1/(1 + V ell''(h))."""
    omega = np.linspace(-11.03, 11.03, 41)
    h, slope, first, second = map(np.asarray, solved(loss(name, width=0.37), jnp.asarray(omega), jnp.asarray(V)))
    np.testing.assert_allclose(h + V * first, omega, rtol=1e-12, atol=2e-12 * (1 + V))
    np.testing.assert_allclose(slope, 1 / (1 + V * second), rtol=1e-9)


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


@pytest.mark.parametrize(
    ("name", "instead"), [("hinge", "smooth-hinge"), ("absolute", "huber"), ("insensitive", "huber")]
)
def test_kinks_have_no_curvature(name, instead):
    with pytest.raises(RefusalError, match=rf"{name} loss has no second derivative.*use '{instead}'"):
        loss(name).second_derivative(jnp.ones(2))


def test_huber_lies_between_the_square_and_the_absolute_loss():
    """Exactly the square loss up to its threshold; divided by a small threshold, the absolute loss up to half of it."""
    u, small = jnp.asarray(np.linspace(-2, 4, 121)), 1e-3
    np.testing.assert_array_equal(loss("huber", 3.0)(u), loss("square")(u))
    np.testing.assert_allclose(loss("huber", small)(u) / small, loss("absolute")(u), atol=small / 2 * (1 + 1e-12))


def test_losses_of_residuals_do_not_care_which_class_is_which():
    """|y - h| = |1 - y h| for labels of -1 and 1: one function of u serves classes and real labels."""
    r = jnp.asarray(np.linspace(-5, 5, 101))
    for name in LOSSES:
        one = loss(name, 0.7)
        assert one.of_residual == np.allclose(one(1 - r), one(1 + r), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "width", "message"),
    [
        ("logistc", 1.0, r"there is no loss 'logistc'; did you mean 'logistic'\?"),
        (
            "abc",
            1.0,
            r"there is no loss 'abc'; choose from: logistic, square, smooth-hinge, hinge, huber, absolute, insens",
        ),
        ("smooth-hinge", 0.0, "width of the smooth hinge is 0, it must be positive; width zero is 'hinge'"),
        ("smooth-hinge", float("nan"), "width of the smooth hinge is nan"),
        ("huber", 0.0, "threshold of the Huber loss is 0, it must be positive"),
        ("insensitive", -1.0, "tube of the insensitive loss is -1, it must be positive; tube zero is 'absolute'"),
    ],
)
def test_bad_names(name, width, message):
    with pytest.raises(ProblemError, match=message):
        loss(name, width)
