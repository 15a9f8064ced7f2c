"""Links: coefficients against closed forms, and exponents."""

from math import factorial, pi, sqrt

import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.gaussian.links import hermite_coefficients, information_exponent
from dimfree.gaussian.one_point import hermite_moments


@pytest.mark.parametrize("name", ["erf", "relu", "hard-tanh", "tanh", "he7", "square"])
def test_coefficients_agree_with_the_ladder(name):
    moments = np.asarray(hermite_moments(df.extend.activation(name), jnp.ones(()), 12))
    expected = moments / np.sqrt([factorial(j) for j in range(12)])
    np.testing.assert_allclose(
        hermite_coefficients(name, 12), expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max()
    )


def test_coefficients_of_a_link_that_jumps():
    c = hermite_coefficients(lambda z: jnp.sign(z - 0.3), 3)
    density = np.exp(-0.045) / sqrt(2 * pi)
    np.testing.assert_allclose(c[1:], [2 * density, 2 * 0.3 * density / sqrt(2)], rtol=1e-10)


def test_squares_sum_to_the_second_moment():
    assert np.sum(hermite_coefficients(lambda z: z**3 + 2 * z, 4) ** 2) == pytest.approx(15 + 12 + 4, rel=1e-12)


@pytest.mark.parametrize(
    ("link", "exponent"),
    [
        ("relu", 1),
        ("square", 2),
        ("he5", 5),
        (df.extend.activation("cos"), 2),
        (jnp.sign, 1),
        (lambda z: 1e6 + jnp.abs(z), 2),
        (lambda z: z**4 - 6 * z**2, 4),
        (lambda z: z**3 - 3 * z + 1e-4 * z**2, 2),
        (df.Hermite(hermite=(1.0, 0.0, 0.0, 1e-3)), 3),
    ],
)
def test_information_exponent(link, exponent):
    assert information_exponent(link) == exponent


def test_information_exponent_with_an_activation():
    link = df.Hermite(hermite=(0.0, 1.0, 0.0, 0.0, 1.0))
    assert information_exponent(link) == 1
    assert information_exponent(link, activation="cos") == 4
    assert information_exponent(link, activation="erf") == 1


def test_tolerance_decides_what_is_zero():
    def link(z):
        return z**2 + 1e-3 * z

    assert (information_exponent(link), information_exponent(link, tolerance=1e-2)) == (1, 2)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: information_exponent(lambda z: 5.0 + 0 * z), "the link is constant"),
        (lambda: information_exponent(lambda z: 0.0), "the link is constant"),
        (lambda: information_exponent(df.Polynomial(polynomial=(3.0,))), "the link is constant"),
        (
            lambda: information_exponent(lambda z: jnp.sin(50 * z)),
            "the link has no Hermite component of degree 1 to 20",
        ),
        (lambda: information_exponent("he3", activation="square"), "the link and the activation share no"),
        (lambda: hermite_coefficients(jnp.log), "not finite at z = -12"),
        (lambda: hermite_coefficients(lambda z: jnp.stack([z, z])), "shape (2,) from one number"),
        (lambda: hermite_coefficients(float), "does not run on a jax array"),
        (lambda: hermite_coefficients(lambda z: jnp.sign(jnp.sin(1e4 * z))), "could not be found"),
    ],
)
def test_errors_are_one_sentence(call, part):
    with pytest.raises(ProblemError) as caught:
        call()
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
