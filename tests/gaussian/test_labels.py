"""What labels say: level sets against closed forms, exponents of the literature, noise, and the tower property for any link."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.gaussian.labels import generative_exponent, labels
from dimfree.gaussian.level_sets import level_sets


def bump(z):
    """E[g | y] = 0 and E[g² | y] = 1 for every label: the classical link of generative exponent 4."""
    return z**2 * jnp.exp(-(z**2))


def saturating(z):
    return jnp.tanh(3 * z**2)


LINKS = [
    "square",
    "he3",
    "he4",
    "relu",
    "hard-tanh",
    "sin",
    jnp.sign,
    bump,
    saturating,
    lambda z: jnp.abs(jnp.abs(z) - 1),
]


def written(value: object) -> str:
    """A name that is the same in every process."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("link", LINKS, ids=written)
def test_what_labels_say_averages_to_what_is_known(link):
    """E[E[g | y]] = 0, E[E[g² | y]] = 1, E[y E[g | y]] = E[y g], E[y E[g² | y]] = E[y g²] (by plain sums over g)."""
    seen = labels(link)
    g = np.linspace(-9, 9, 200_001)
    w = np.exp(-0.5 * g**2)
    y = level_sets(link).value(g)
    plain = [np.average(y * g**k, weights=w) for k in (1, 2)]
    found = [seen.weight @ (seen.y * moment) for moment in (seen.first, seen.second)]
    np.testing.assert_allclose(
        [seen.weight.sum(), seen.weight @ seen.first, seen.weight @ seen.second], [1, 0, 1], atol=2e-7
    )  # near saturation float64 tells labels apart no better
    np.testing.assert_allclose(found, plain, rtol=1e-6, atol=2e-5)  # jumps cost the plain sums that much


def test_single_labels():
    first, second = labels("square").moments(np.array([0.25, 4.0]))
    np.testing.assert_allclose(first, 0, atol=1e-12)
    np.testing.assert_allclose(second, [0.25, 4.0], rtol=1e-12)
    y = np.array([0.0, 1.5])
    first, second = labels("relu").moments(y)
    np.testing.assert_allclose(first, [-np.sqrt(2 / np.pi), 1.5], rtol=1e-12)
    np.testing.assert_allclose(second, [1, 2.25], rtol=1e-12)
    x = np.roots([1, 0, -3, -1.0]).real  # He_3 = 1 has three real roots
    weight = np.exp(-0.5 * x**2) / np.abs(3 * x**2 - 3)
    np.testing.assert_allclose(labels("he3").moments(np.ones(1))[0], np.average(x, weights=weight), rtol=1e-10)


def test_labels_of_positive_probability():
    seen = labels(lambda z: jnp.where(z > 1, 2.0, jnp.where(z < -2, 2.0, -1.0)))
    assert sorted(seen.y) == pytest.approx([-1, 2])
    assert seen.weight[np.argmax(seen.y)] == pytest.approx(ndtr(-1) + ndtr(-2), rel=1e-9)


@pytest.mark.parametrize(
    ("link", "exponent"),
    [
        ("he1", 1),
        ("square", 2),
        ("he3", 1),
        ("he4", 2),
        ("he5", 1),
        ("he6", 2),
        ("cos", 2),
        (jnp.sign, 1),
        (bump, 4),
        (saturating, 2),
        (df.Hermite(hermite=(1.0, 0.0, 0.0, 1e-3)), 1),
    ],
    ids=written,
)
def test_generative_exponents(link, exponent):
    assert generative_exponent(link) == exponent


def test_a_link_with_a_band_where_the_second_moment_balances():
    """y = 1(a < |g| < b) with a phi(a) = b phi(b) has E[g² | y] = 1; a wider band has not."""
    a = 0.5
    b = brentq(lambda b: a * np.exp(-(a**2) / 2) - b * np.exp(-(b**2) / 2), 1.0, 3.0, xtol=1e-14)
    band = lambda b: lambda z: jnp.where((jnp.abs(z) > a) & (jnp.abs(z) < b), 1.0, 0.0)  # noqa: E731
    assert generative_exponent(band(b)) == 4
    assert generative_exponent(band(1.9)) == 2


@pytest.mark.parametrize("noise", [0.01, 0.5, 3.0])
def test_noise_on_a_linear_link_is_a_gaussian_posterior(noise):
    seen = labels("he1", noise)
    inner = np.abs(seen.y) < 4 * np.sqrt(1 + noise)
    np.testing.assert_allclose(seen.first[inner], seen.y[inner] / (1 + noise), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        seen.second[inner], noise / (1 + noise) + (seen.y[inner] / (1 + noise)) ** 2, rtol=1e-5, atol=1e-6
    )


def test_small_noise_is_hardly_any():
    clean = labels("he3")
    powers = [float(one.weight @ one.first**2) for one in (clean, labels("he3", 1e-4), labels("he3", 1e-2))]
    assert powers[0] > powers[1] > powers[2]
    assert powers[1] == pytest.approx(powers[0], rel=0.01)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: generative_exponent(df.Polynomial(polynomial=(3.0,))), "the labels say nothing of the direction"),
        (lambda: generative_exponent(lambda z: 5.0 + 0 * z), "the labels say nothing of the direction"),
        (lambda: labels(lambda z: jnp.sin(30 * z)), "turns or bends"),
        (lambda: labels("he4", 1e-12), "noise of variance 1e-12 is too small"),
    ],
)
def test_errors_are_one_sentence(call, part):
    with pytest.raises(ProblemError) as caught:
        call()
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
