import jax
import jax.numpy as jnp
import numpy as np

import dimfree  # noqa: F401  (switches float64 on)
from dimfree.gaussian.arcsine import arcsine


def _points() -> np.ndarray:
    near_one = 1.0 - np.logspace(-16, -1, 500)
    tiny = np.logspace(-300, -1, 500)
    x = np.concatenate([np.linspace(-1, 1, 20001), near_one, -near_one, tiny, -tiny, [0.5, np.nextafter(0.5, 1), 0.0]])
    return x


def test_agrees_with_numpy_to_a_few_units_in_the_last_place():
    x = _points()
    got, expected = np.asarray(jax.jit(arcsine)(x)), np.arcsin(x)
    assert np.max(np.abs(got - expected) / np.spacing(np.abs(expected))) <= 4


def test_is_exactly_odd_and_hits_the_ends():
    x = jnp.asarray(_points())
    np.testing.assert_array_equal(arcsine(-x), -arcsine(x))
    assert float(arcsine(jnp.asarray(1.0))) == np.pi / 2


def test_rounding_errors_outside_the_interval_count_as_one():
    x = jnp.asarray([1.0 + 1e-12, -1.0 - 1e-12])
    np.testing.assert_array_equal(arcsine(x), [np.pi / 2, -np.pi / 2])


def test_derivative_is_the_closed_one_and_zero_tangents_stay_zero():
    x = jnp.asarray([-0.999, -0.5, 0.0, 0.3, 0.75, 0.9999])
    np.testing.assert_allclose(jax.vmap(jax.grad(arcsine))(x), 1 / np.sqrt(1 - np.asarray(x) ** 2), rtol=1e-12)
    step = 1e-6
    slope = (arcsine(x + step) - arcsine(x - step)) / (2 * step)
    np.testing.assert_allclose(jax.vmap(jax.grad(arcsine))(x), slope, rtol=1e-4)
    assert float(jax.jvp(arcsine, (jnp.asarray(1.0),), (jnp.asarray(0.0),))[1]) == 0.0
