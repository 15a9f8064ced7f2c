"""Equations on structured inputs: isotropic inputs are a special case, what must not matter does not, starts are true."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dimfree as df
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.limits.caution import large_eigenvalue
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import model
from dimfree.onepass.start import draw_start
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps

P = 2, 2  # width and units


def structured(values, multiplicities, **changes):
    levels = {"kind": "levels", "values": values, "multiplicities": multiplicities, "normalise": False}
    data = {"kind": "teacher", "noise": 0.1, "covariance": levels}
    base = df.Problem(dimension=sum(multiplicities), data=data, network={"width": 2}, training={"learning_rate": 1.5})
    return base.replace(**changes) if changes else base


@eqx.filter_jit
def velocity(m, state):
    return BlockEquations().velocity(m, jnp.zeros(()), state)


def state(values, shares, seed=0):
    """Overlaps of every eigenvalue, whose fields have the teacher overlap 1."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(len(values), 4, 6)) * np.sqrt(np.asarray(shares) / 6)[:, None, None]
    K = np.einsum("b,bij->ij", values, A[:, 2:] @ np.swapaxes(A[:, 2:], 1, 2))
    A[:, 2:] = np.linalg.inv(np.linalg.cholesky(K)) @ A[:, 2:]
    Omega = A @ np.swapaxes(A, 1, 2)
    return Blocks(*map(jnp.asarray, (Omega, np.array([1.0, 0.7]), np.array(values), np.array(shares), 0.0)))


@pytest.mark.parametrize("spherical", [pytest.param(False, marks=pytest.mark.slow), True])
def test_one_eigenvalue_of_one_is_the_isotropic_case(spherical):
    decay = {"training.weight_decay": 0.3, "training.spherical": spherical}
    m = model(structured([1.0], [100], **decay))
    isotropic = model(df.Problem(dimension=100, data={"kind": "teacher", "noise": 0.1}).replace(
        **{"network.width": 2, "training.learning_rate": 1.5, **decay}
    ))  # fmt: skip
    one = state([1.0], [1.0])
    Omega = one.Omega[0]
    found = velocity(m, one)
    wanted = eqx.filter_jit(HighDimensional().velocity)(
        isotropic, jnp.zeros(()), Overlaps(Omega[:2, :2], Omega[:2, 2:], one.a)
    )
    np.testing.assert_allclose(found.Omega[0, :2, :2], wanted.Q, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.Omega[0, :2, 2:], wanted.M, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.Omega[0, 2:, 2:], 0, atol=1e-14)


def test_splitting_an_eigenvalue_changes_nothing():
    m = model(structured([2.0, 0.5], [30, 70]))
    one = state([2.0, 0.5], [0.3, 0.7])
    split = Blocks(
        jnp.concatenate([0.4 * one.Omega[:1], 0.6 * one.Omega[:1], one.Omega[1:]]),
        one.a,
        jnp.array([2.0, 2.0, 0.5]),
        jnp.array([0.12, 0.18, 0.7]),
        one.error,
    )
    whole, parts = velocity(m, one).Omega, velocity(m, split).Omega
    np.testing.assert_allclose(parts[0] + parts[1], whole[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts[2], whole[1], rtol=1e-12, atol=1e-14)


def test_a_scale_of_the_covariance_is_a_scale_of_weights_and_time():
    m = model(structured([2.0, 0.5], [30, 70]))
    one = state([2.0, 0.5], [0.3, 0.7])
    c = 3.0
    stretched = Blocks(one.Omega / c, one.a, c * one.s, one.rho, one.error)
    slower = eqx.tree_at(lambda x: x.gamma, m, m.gamma / c)
    np.testing.assert_allclose(velocity(slower, stretched).Omega, velocity(m, one).Omega, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_starts_have_the_teachers_fields_and_the_same_law_as_vectors():
    one = structured([3.0, 1.0, 0.2], [8, 12, 20])
    keys = jax.random.split(jax.random.key(0), 40)
    drawn = {vectors: [draw_start(one, key, vectors=vectors).blocks.Omega for key in keys] for vectors in (True, False)}
    columns = {}
    for vectors, found in drawn.items():
        Omega = np.stack([np.asarray(x) for x in found])
        seen = np.einsum("b,rbij->rij", [3.0, 1.0, 0.2], Omega)[:, 2:, 2:]
        np.testing.assert_allclose(seen, np.broadcast_to(np.eye(2), seen.shape), atol=1e-10)
        columns[vectors] = Omega.reshape(40, -1)
    first, second = columns[True], columns[False]
    error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 40) + 1e-12
    assert (np.abs(first.mean(axis=0) - second.mean(axis=0)) < 5 * error).all()


def test_a_teacher_that_inputs_do_not_see_is_told():
    with pytest.raises(
        df.ProblemError, match="2 independent teacher directions do not fit into the directions in which"
    ):
        draw_start(structured([3.0, 0.0], [1, 39]), jax.random.key(0), vectors=True)


def test_steep_spectra_carry_the_warning_that_the_ode_stays_off():
    steep = {"kind": "power", "exponent": 1.5}
    for dimension in (200, 1000):
        one = df.Problem(dimension=dimension, data={"kind": "teacher", "covariance": steep}, network={"width": 2})
        said = " ".join(large_eigenvalue(model(one)))
        assert said.startswith("largest eigenvalue times step is 0.")
        assert "the ode keeps an error at every dimension" in said
    assert not [*large_eigenvalue(model(structured([1.0, 0.5], [100, 100])))]
