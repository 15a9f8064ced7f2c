"""Tangent kernels: closed forms at infinite width, the ladder for every other activation, error bars of finite networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions.named import activation
from dimfree.lazy.kernel import coinciding, compiled_kernel, sampled_kernel
from dimfree.lazy.network import Shape, paired

RNG = np.random.default_rng(3)


def shape_of(name, scale=1.0, second=1.0, trained=(True, True)):
    return Shape(activation(name), *trained, jnp.asarray(scale), jnp.asarray(second))


def closed(name, X, Z, scale=1.0, second=1.0):
    """Written down anew: arcsine kernel of erf(x/sqrt 2), arc-cosine kernels of the ReLU; values and slopes apart."""
    products = X @ Z.T
    q, r, c = scale**2 * np.sum(X**2, 1)[:, None], scale**2 * np.sum(Z**2, 1), scale**2 * products
    if name == "erf":
        value = 2 / np.pi * np.arcsin(c / np.sqrt((1 + q) * (1 + r)))
        slope = 2 / np.pi / np.sqrt((1 + q) * (1 + r) - c**2)
    else:
        angle = np.arccos(np.clip(c / np.sqrt(q * r), -1, 1))
        value = np.sqrt(q * r) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        slope = (np.pi - angle) / (2 * np.pi)
    return value, second**2 * products * slope


@pytest.mark.parametrize("name", ["erf", "relu"])
@pytest.mark.parametrize("numbers", [(1.0, 1.0), (2.3, 0.6)])
def test_closed_forms_to_rounding(name, numbers):
    X, Z = RNG.normal(size=(2, 30, 7)) / 7**0.5
    expected = sum(closed(name, X, Z, *numbers))
    np.testing.assert_allclose(compiled_kernel(shape_of(name, *numbers), X, Z), expected, rtol=0, atol=1e-12)
    whole = np.asarray(compiled_kernel(shape_of(name, *numbers), X))
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=0)
    np.testing.assert_allclose(np.tril(whole, -1), np.tril(sum(closed(name, X, X, *numbers)), -1), rtol=0, atol=1e-12)
    # on the diagonal both forms end in numbers: E sigma² + E a² |x|² E sigma'²
    q = numbers[0] ** 2 * np.sum(X**2, axis=1)
    ends = (
        2 / np.pi * np.arcsin(q / (1 + q)) + numbers[1] ** 2 * q / numbers[0] ** 2 * 2 / np.pi / np.sqrt(1 + 2 * q)
        if name == "erf"
        else q / 2 + numbers[1] ** 2 * q / numbers[0] ** 2 / 2
    )
    np.testing.assert_allclose(np.diagonal(whole), ends, rtol=0, atol=1e-12)


def test_layers_that_are_not_trained_have_no_part():
    X, Z = RNG.normal(size=(2, 5, 4))
    value, slope = closed("erf", X, Z)
    np.testing.assert_allclose(compiled_kernel(shape_of("erf", trained=(True, False)), X, Z), slope, atol=1e-12)
    np.testing.assert_allclose(compiled_kernel(shape_of("erf", trained=(False, True)), X, Z), value, atol=1e-12)


def test_a_function_that_nobody_knows_goes_down_the_ladder():
    """The same two functions, written by a user: quadrature, and quadrature between kinks."""
    X, Z = RNG.normal(size=(2, 4, 3))
    for name, written in (
        ("erf", lambda x: jax.scipy.special.erf(x / jnp.sqrt(2.0))),
        ("relu", lambda x: jnp.maximum(x, 0.0)),
    ):
        found = compiled_kernel(shape_of(written), X, Z)
        np.testing.assert_allclose(found, sum(closed(name, X, Z)), rtol=0, atol=1e-11)


def test_more_pairs_than_a_block():
    X = RNG.normal(size=(400, 3))
    np.testing.assert_allclose(compiled_kernel(shape_of("erf"), X, X), sum(closed("erf", X, X)), rtol=0, atol=1e-12)


WIDTHS = (64, 256, 1024, 4096)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["erf", "relu"])
def test_the_kernel_of_a_network_scatters_by_its_error_bar_which_shrinks_like_the_root_of_the_width(name):
    X, shape = jnp.asarray(RNG.normal(size=(6, 5)) / 5**0.5), shape_of(name)
    expected = np.asarray(compiled_kernel(shape, X))
    seeds = 40
    bars, scatter = [], []
    for width in WIDTHS:
        keys = jax.random.split(jax.random.key(width), seeds)
        one = jax.jit(jax.vmap(lambda key, width=width: sampled_kernel(shape, paired(shape, width, 5, key), X)))
        found = jax.tree.map(np.asarray, one(keys))
        bars.append(np.sqrt(np.mean(found.error**2)))
        off = found.kernel - expected
        scatter.append(np.sqrt(np.mean(off**2)))
        z = off.mean(axis=0) / (off.std(axis=0, ddof=1) / seeds**0.5)
        assert np.abs(z).max() < 4.5, "no bias"
    assert np.polyfit(np.log(WIDTHS), np.log(bars), 1)[0] == pytest.approx(-0.5, abs=0.03)
    assert np.polyfit(np.log(WIDTHS), np.log(scatter), 1)[0] == pytest.approx(-0.5, abs=0.1)
    np.testing.assert_allclose(np.divide(scatter, bars), 1.0, atol=0.25)


def test_points_that_a_network_confuses():
    x, z, w = np.eye(3)
    assert coinciding(shape_of("erf"), np.stack([x, z, w])) is None
    assert coinciding(shape_of("erf"), np.stack([x, z, w, z])) == (1, 3)
    assert coinciding(shape_of("erf"), np.stack([x, z, -x])) == (0, 2), "odd functions see one point in both"
    assert coinciding(shape_of("relu"), np.stack([x, z, -x])) is None
    assert coinciding(shape_of("relu"), np.stack([x, 3 * x])) == (0, 1), "a ReLU sees no length"
    assert coinciding(shape_of("erf"), np.stack([x, 3 * x])) is None
    assert coinciding(shape_of("sigmoid"), np.stack([x, -x])) is None
