import json
from functools import partial
from importlib.resources import files
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dimfree  # noqa: F401  (switches float64 on)
from dimfree.gaussian.variance import relu as module
from dimfree.gaussian.variance.relu import variance_relu
from stages import gating

REFERENCE = Path(str(files("dimfree.reference"))) / "data" / "committee.json"
relu = jax.jit(variance_relu)
value_and_gradient = jax.jit(jax.value_and_grad(lambda *args: jnp.sum(variance_relu(*args))))


def network(p, k, d=10, seed=0, Delta=0.1):
    """Return (Omega, v, a, Delta) of Gaussian weights."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(p + k, d))
    a, a_star = rng.uniform(0.5, 1.5, p), rng.uniform(0.5, 1.5, k)
    return jnp.asarray(W @ W.T / d), jnp.asarray(np.r_[-a / p, a_star / k]), jnp.asarray(a), jnp.asarray(Delta)


def orthant(R, nodes):
    """Return the four-unit orthant probability with a given number of nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_NODES", nodes)
        return float(
            module._four_orthant({(i, j): jnp.asarray([R[i, j]]) for i in range(4) for j in range(i + 1, 4)})[0]
        )


def test_reference_values():
    item = next(item for item in json.loads(REFERENCE.read_text())["items"] if item["id"] == "rhs_relu")
    Q, M, P, a, a_star = (np.array(item["inputs"][key]) for key in ("Q", "M", "P", "a", "astar"))
    Omega, v = np.block([[Q, M], [M.T, P]]), np.r_[-a / a.size, a_star / a_star.size]
    got = relu(*map(jnp.asarray, (Omega, v, a, item["inputs"]["Delta"])))
    np.testing.assert_allclose(got, item["expected"]["PsiVar"], rtol=item["rtol"], atol=item["atol"])


NETWORKS = [(1, 1, 10), (5, 3, 10), (2, 1, 10), (4, 2, 3)]


@pytest.mark.parametrize(("p", "k", "d"), gating(NETWORKS, NETWORKS[:2]))
def test_agrees_with_sampling_within_its_error_bars(p, k, d):
    Omega, v, a, Delta = network(p, k, d)
    values, vectors = np.linalg.eigh(Omega)
    u = np.random.default_rng(1).normal(size=(300_000, p + k)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    slopes = (u[:, :p] > 0) * np.asarray(a)
    squares = (np.maximum(u, 0) @ np.asarray(v)) ** 2 + float(Delta)
    mean = (slopes * squares[:, None]).T @ slopes / len(u)
    second = (slopes**2 * squares[:, None] ** 2).T @ slopes**2 / len(u)
    z = (mean - np.asarray(relu(Omega, v, a, Delta))) / np.sqrt((second - mean**2) / len(u))
    assert np.max(np.abs(z)) < 4.5


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.95])
def test_four_orthant_of_equal_correlations(rho):
    R = np.full((4, 4), rho) + (1 - rho) * np.eye(4)
    expected = {0.0: 1 / 16, 0.5: 1 / 5}.get(rho, orthant(R, 200))
    assert orthant(R, module._NODES) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_four_orthant_has_converged_also_when_units_are_dependent(seed):
    W = np.random.default_rng(seed).normal(size=(4, 3))
    W /= np.linalg.norm(W, axis=1)[:, None]
    assert orthant(W @ W.T, module._NODES) == pytest.approx(orthant(W @ W.T, 200), rel=1e-8, abs=1e-12)


def test_four_orthant_of_two_repeated_units_is_that_of_two():
    R = np.kron([[1.0, 0.3], [0.3, 1.0]], np.ones((2, 2)))
    assert orthant(R, module._NODES) == pytest.approx(0.25 + np.arcsin(0.3) / (2 * np.pi), rel=1e-10)


@pytest.mark.slow
def test_vanishes_at_the_teacher_without_noise():
    Omega, _, _, _ = network(1, 3)
    Omega = jnp.tile(Omega[1:, 1:], (2, 2))
    v = jnp.asarray([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]) / 3
    assert float(jnp.max(jnp.abs(relu(Omega, v, jnp.ones(3), jnp.asarray(0.0))))) < 1e-10
    assert float(jnp.min(relu(Omega, v, jnp.ones(3), jnp.asarray(0.1)))) > 1e-3


@pytest.mark.slow
def test_identical_students_are_one_student():
    Omega, v, a, Delta = network(2, 3)
    twin = jnp.asarray([0, 0, 1, 2, 3, 4])
    halves = jnp.asarray([0.5, 0.5, 1, 1, 1, 1])
    got = relu(Omega[jnp.ix_(twin, twin)], v[twin] * halves, a[twin[:3]], Delta)
    np.testing.assert_allclose(got, relu(Omega, v, a, Delta)[jnp.ix_(twin[:3], twin[:3])], rtol=1e-9)


def test_opposite_students_are_never_active_together():
    Omega, v, a, Delta = network(2, 2)
    sign = jnp.asarray([1.0, -1.0, 1.0, 1.0, 1.0])
    units = jnp.asarray([0, 0, 1, 2, 3])
    got = relu(Omega[jnp.ix_(units, units)] * sign * sign[:, None], v[units], a[units[:3]], Delta)
    assert abs(float(got[0, 1])) < 1e-10
    assert float(got[0, 0]) > 1e-3


@pytest.mark.slow
def test_null_units_contribute_nothing():
    Omega, v, a, Delta = network(3, 2)
    null = jnp.asarray([1.0, 1.0, 1.0, 1.0, 0.0])
    got = relu(Omega * null * null[:, None], v, a, Delta)
    np.testing.assert_allclose(got, relu(Omega[:4, :4], v[:4], a, Delta), rtol=1e-12)


@pytest.mark.slow
def test_scales_like_the_activation():
    Omega, v, a, _ = network(4, 2)
    noiseless = jnp.asarray(0.0)
    np.testing.assert_allclose(relu(9 * Omega, v, a, noiseless), 9 * relu(Omega, v, a, noiseless), rtol=1e-12)


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(st.permutations(range(5)), st.permutations(range(2)))
def test_permuting_units_permutes_the_result(students, teachers):
    Omega, v, a, Delta = network(5, 2)
    units, students = jnp.asarray([*students, *(5 + t for t in teachers)]), jnp.asarray(students)
    got = relu(Omega[jnp.ix_(units, units)], v[units], a[students], Delta)
    np.testing.assert_allclose(got, relu(Omega, v, a, Delta)[jnp.ix_(students, students)], rtol=1e-11)


@pytest.mark.slow
def test_derivative_agrees_with_finite_differences():
    Omega, v, a, Delta = network(3, 2)
    rng = np.random.default_rng(0)
    direction = rng.normal(size=Omega.shape)
    direction = jnp.asarray(direction + direction.T)
    weights = jnp.asarray(rng.normal(size=(3, 3)))
    f = jax.jit(lambda Omega: jnp.sum(weights * variance_relu(Omega, v, a, Delta)))
    step = 1e-5
    slope = (f(Omega + step * direction) - f(Omega - step * direction)) / (2 * step)
    backward = jnp.sum(jax.jit(jax.grad(f))(Omega) * direction)
    forward = jax.jit(lambda Omega: jax.jvp(f, (Omega,), (direction,))[1])(Omega)
    np.testing.assert_allclose([backward, forward], slope, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])  # a repeated, an opposite and a null student
def test_value_and_derivative_are_finite_on_degenerate_covariances(sign):
    Omega, v, a, Delta = network(2, 3)
    units, scale = jnp.asarray([0, 0, 1, 2, 3, 4]), jnp.asarray([1.0, sign, 1, 1, 1, 1])
    Omega, v, a = Omega[jnp.ix_(units, units)] * scale * scale[:, None], v[units], a[units[:3]]
    value, gradient = value_and_gradient(Omega, v, a, Delta)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.slow
def test_blocks_do_not_change_the_result(monkeypatch):
    problem = network(4, 2)
    expected = relu(*problem)
    monkeypatch.setattr(module, "_TUPLES_AT_ONCE", 7)
    monkeypatch.setattr(module, "_QUADS_AT_ONCE", 2)
    np.testing.assert_allclose(jax.jit(partial(variance_relu, problem[0]))(*problem[1:]), expected, rtol=1e-13)


@pytest.mark.slow
def test_maps_over_a_batch():
    problems = [network(3, 2, seed=s) for s in range(3)]
    batch = jax.jit(jax.vmap(variance_relu))(*map(jnp.stack, zip(*problems, strict=True)))
    np.testing.assert_allclose(batch, jnp.stack([relu(*problem) for problem in problems]), rtol=1e-13)
