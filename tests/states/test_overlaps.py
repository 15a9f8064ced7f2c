"""Overlaps, and factors of their covariance."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from dimfree.states.overlaps import Overlaps, eigenpairs, factor
from stages import TYPES_CHECKED

factor_jit = jax.jit(factor, static_argnums=1)


def gram(seed: int, rows: int, columns: int, twins: tuple[int, int] | None = None) -> np.ndarray:
    W = np.random.default_rng(seed).normal(size=(rows, columns))
    if twins:
        W[twins[1]] = W[twins[0]]
    Omega = W @ W.T / columns
    Omega = (Omega + Omega.T) / 2
    if twins:
        Omega[twins[1]] = Omega[twins[0]]
        Omega[:, twins[1]] = Omega[:, twins[0]]
    return Omega


@pytest.mark.skipif(not TYPES_CHECKED, reason="this process of the run does not check types")
def test_shapes_are_checked_in_tests():
    with pytest.raises(TypeCheckError):
        Overlaps(jnp.zeros((2, 3)), jnp.zeros((2, 1)), jnp.zeros(2))


def test_covariance_has_students_first():
    Q, M, P = jnp.array([[1.0, 0.1], [0.1, 2.0]]), jnp.array([[0.3], [0.4]]), jnp.array([[5.0]])
    expected = [[1.0, 0.1, 0.3], [0.1, 2.0, 0.4], [0.3, 0.4, 5.0]]
    np.testing.assert_array_equal(Overlaps(Q, M, jnp.ones(2)).covariance(P), expected)
    many = Overlaps(jnp.stack([Q, Q]), jnp.stack([M, M]), jnp.ones((2, 2))).covariance(P)
    np.testing.assert_array_equal(many, [expected, expected])


@given(st.integers(0, 2**31))
def test_factor_of_a_regular_matrix(seed):
    Omega = gram(seed, 5, 12)
    A = factor_jit(jnp.asarray(Omega), 5)
    np.testing.assert_allclose(A @ A.T, Omega, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(A, np.tril(A))


@given(st.integers(0, 2**31))
def test_factor_of_a_singular_matrix(seed):
    Omega = gram(seed, 5, 3)
    A = factor_jit(jnp.asarray(Omega), 5)
    np.testing.assert_allclose(A @ A.T, Omega, rtol=0, atol=1e-7)  # pivots below 1e-13 are dropped


@given(st.integers(0, 2**31))
def test_factor_with_fewer_columns_than_rows(seed):
    Omega = gram(seed, 5, 3)
    A = factor_jit(jnp.asarray(Omega), 3)
    assert A.shape == (5, 3)
    np.testing.assert_allclose(A @ A.T, Omega, rtol=0, atol=1e-13)


@given(st.integers(0, 2**31), st.integers(0, 3))
def test_neighbouring_twins_stay_twins_to_the_last_bit(seed, first):
    Omega = gram(seed, 5, 12, twins=(first, first + 1))
    A = factor_jit(jnp.asarray(Omega), 5)
    np.testing.assert_array_equal(A[first], A[first + 1])
    np.testing.assert_allclose(A @ A.T, Omega, rtol=0, atol=1e-13)


def test_distant_twins_stay_twins_to_the_last_bit():
    for seed in range(20):
        A = factor_jit(jnp.asarray(gram(seed, 5, 12, twins=(0, 2))), 5)
        np.testing.assert_array_equal(A[0], A[2])


def test_factors_of_many_matrices_are_those_of_each():
    Omegas = np.stack([gram(seed, 5, 12) for seed in range(6)]).reshape(2, 3, 5, 5)
    for rank in (5, 3):
        together = factor_jit(jnp.asarray(Omegas), rank)
        assert together.shape == (2, 3, 5, rank)
        alone = factor_jit(jnp.asarray(Omegas[1, 2]), rank)
        np.testing.assert_allclose(together[1, 2] @ together[1, 2].T, alone @ alone.T, rtol=0, atol=1e-13)


def test_zero_and_diagonal_matrices():
    np.testing.assert_array_equal(factor_jit(jnp.zeros((5, 5)), 5), np.zeros((5, 5)))
    A = factor_jit(jnp.diag(jnp.array([4.0, 0.0, 1.0, 9.0, 0.0])), 5)
    np.testing.assert_allclose(A, np.diag([2.0, 0.0, 1.0, 3.0, 0.0]), rtol=1e-15)


def test_eigenvalues_are_found_one_matrix_after_the_other():
    """Many at once are shared out to threads, for which groups of replicas wait on each other for ever."""
    x = np.random.default_rng(0).normal(size=(3, 5, 4, 4))
    Omega = jnp.asarray(x @ np.swapaxes(x, -1, -2))
    for function in (eigenpairs, lambda given: factor(given, 2)):
        program = str(jax.make_jaxpr(function)(Omega))
        assert re.search(r"f64\[4,4\] \w+:f64\[4\] = eigh", program)
    values, vectors = map(np.asarray, eigenpairs(Omega))
    np.testing.assert_allclose((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2), Omega, rtol=1e-10)
