"""Two-point expectations: every rung of the ladder against another quadrature, and against Price's theorem."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pair_reference import FUNCTIONS, Function, expectations

from dimfree.functions import activation
from dimfree.gaussian.two_point.ladder import TwoPoint
from dimfree.gaussian.two_point.ladder import two_point as two_point_eager
from stages import gating

two_point = jax.jit(two_point_eager)

ELU, SOFTSIGN = "jax.nn:elu", "jax.nn:soft_sign"
PAIRS = [
    ("erf", "erf"),
    ("relu", "relu"),
    ("hard-tanh", "hard-tanh"),
    ("leaky-relu", "hard-tanh"),
    ("he3", "he3"),
    ("square", "erf"),
    ("tanh", "he3"),
    ("he3", "relu"),
    ("relu", "he3"),
    (SOFTSIGN, "he3"),
    ("tanh", "tanh"),
    ("erf", "tanh"),
    ("relu", "erf"),
    ("tanh", "relu"),
    (ELU, ELU),
    ("hard-tanh", ELU),
    (SOFTSIGN, "tanh"),
]
# one of every rung of the ladder
GATES = [
    ("erf", "erf"),
    ("relu", "relu"),
    ("leaky-relu", "hard-tanh"),
    ("he3", "he3"),
    ("tanh", "he3"),
    ("tanh", "tanh"),
]
INTERIOR = [(1.3, 0.4, 0.8), (0.5, -0.6, 1.7), (2.5, 0.02, 1.0), (3.9, 1.7, 1.2)]
EDGES = [
    (0.04, 0.01, 0.09),
    (2.5, 0.0, 1.0),
    (1.5, 0.99999 * 1.5, 1.5),
    (0.7, -0.9999 * np.sqrt(0.7 * 1.2), 1.2),
    (1.1, 1.1, 1.1),  # a unit with itself
    (0.9, -1.8, 3.6),  # w = -2u
]
STEP = 1e-3
SHIFTS = np.array([-2, -1, 1, 2]) * STEP
SLOPE = np.array([1, -8, 8, -1]) / (12 * STEP)  # the derivative up to STEP⁴


@lru_cache(maxsize=64)
def evaluated(sigma: str, g: str) -> dict[str, np.ndarray]:
    """One call for all that the tests need: at the points, and on stencils in c and q_u around the interior ones."""
    inside = np.array(INTERIOR)
    along_c = inside[:, None, :] + SHIFTS[:, None] * [0, 1, 0]
    along_q = inside[:, None, :] + SHIFTS[:, None] * [1, 0, 0]
    at = np.concatenate([np.array(INTERIOR + EDGES), along_c.reshape(-1, 3), along_q.reshape(-1, 3)])
    values = np.stack(two_point(activation(sigma), activation(g), *map(jnp.asarray, at.T)), axis=-1)
    split = np.split(values, [len(INTERIOR + EDGES), len(INTERIOR + EDGES) + along_c.size // 3])
    kappa_c, kappa_q = (part[:, 0].reshape(len(INTERIOR), 4) for part in split[1:])
    return {"points": split[0], "by_c": kappa_c @ SLOPE, "by_q": kappa_q @ SLOPE}


@pytest.mark.parametrize(("sigma", "g"), gating(PAIRS, GATES))
def test_expectations_agree_with_another_quadrature(sigma, g):
    expected = [expectations(FUNCTIONS[sigma], FUNCTIONS[g], *point) for point in INTERIOR + EDGES]
    np.testing.assert_allclose(evaluated(sigma, g)["points"], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("sigma", "g"), gating(PAIRS, GATES))
def test_price(sigma, g):
    """B = d kappa/dc and A = 2 d kappa/dq_u."""
    values = evaluated(sigma, g)
    _, A, B = values["points"][: len(INTERIOR)].T
    np.testing.assert_allclose(values["by_c"], B, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(2 * values["by_q"], A, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("sigma", "g"), [("leaky-relu", "hard-tanh"), ("tanh", "he3"), ("tanh", "relu"), ("erf", "tanh")]
)
def test_roles_can_be_swapped(sigma, g):
    q_u, c, q_w = (jnp.asarray(x) for x in np.array(INTERIOR).T)
    kappa, A, B = evaluated(sigma, g)["points"][: len(INTERIOR)].T
    swapped = two_point(activation(g), activation(sigma), q_w, c, q_u)
    np.testing.assert_allclose(swapped.kappa, kappa, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(swapped.B, B, rtol=1e-12, atol=1e-13)
    assert not np.allclose(swapped.A, A)


@pytest.mark.parametrize(("sigma", "g"), [("erf", "erf"), ("relu", "relu"), ("tanh", "tanh")])
def test_arguments_are_broadcast(sigma, g):
    q_u, c, q_w = (
        jnp.array([[1.0], [2.0]]),
        jnp.array([[0.1, -0.3, 0.5], [0.2, 0.0, 0.9]]),
        jnp.array([[1.0, 0.5, 1.5]]),
    )
    table = two_point(activation(sigma), activation(g), q_u, c, q_w)
    assert isinstance(table, TwoPoint)
    entry = two_point(activation(sigma), activation(g), q_u[1, 0], c[1, 2], q_w[0, 2])
    for whole, one in zip(table, entry, strict=True):
        assert whole.shape == (2, 3)
        assert one.shape == ()
        assert float(whole[1, 2]) == pytest.approx(float(one), rel=1e-13)


def test_smooth_function_against_kinks_away_from_zero_at_small_correlation():
    points = [(2.5, 0.02, 1.0), (1.0, 0.1, 2.0), (2.5, 0.0, 1.0)]
    found = np.stack(two_point(activation("tanh"), activation("hard-tanh"), *map(jnp.asarray, np.array(points).T)), -1)
    expected = [expectations(FUNCTIONS["tanh"], FUNCTIONS["hard-tanh"], *point) for point in points]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_cubed_relu():
    def up(x):
        return np.maximum(x, 0)

    cubed = Function(lambda x: up(x) ** 3, lambda x: 3 * up(x) ** 2, lambda x: 6 * up(x), {0.0: 0.0})
    sigma, points = activation(lambda x: jnp.maximum(x, 0) ** 3), INTERIOR
    found = np.stack(two_point(sigma, sigma, *map(jnp.asarray, np.array(points).T)), -1)
    np.testing.assert_allclose(found, [expectations(cubed, cubed, *point) for point in points], rtol=1e-6)


def test_large_relu_units_with_themselves():
    q = jnp.linspace(5.0, 50.0, 500)
    kappa, A, B = two_point(activation("relu"), activation("relu"), q, q, q)
    np.testing.assert_allclose(kappa, q / 2, rtol=1e-13)
    np.testing.assert_allclose(A, 0.0, atol=1e-13)
    np.testing.assert_allclose(B, 0.5, atol=1e-13)
