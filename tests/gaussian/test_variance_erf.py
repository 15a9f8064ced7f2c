import json
from importlib.resources import files
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf

import dimfree  # noqa: F401  (switches float64 on)
from dimfree.gaussian.variance.erf import (
    variance_erf,
    variance_erf_exact,
    variance_erf_wide,
    variance_erf_wide_error,
    widest_exact,
)

REFERENCE = Path(str(files("dimfree.reference"))) / "data" / "committee.json"
exact = jax.jit(variance_erf_exact)
chosen = jax.jit(variance_erf)
wide_error = jax.jit(variance_erf_wide_error, static_argnames=("points", "scrambles"))
wide = jax.jit(variance_erf_wide, static_argnames=("points", "scramble"))


def network(p, k=4, d=1000, seed=0, specialised=None, Delta=0.0):
    """Return (Omega, v, a, Delta) of Gaussian weights; with `specialised`, students are teachers plus that much noise."""
    rng = np.random.default_rng(seed)
    teacher, student = rng.normal(size=(k, d)), rng.normal(size=(p, d))
    if specialised is not None:
        student = teacher[np.arange(p) % k] + specialised * student
    W = np.concatenate([student, teacher])
    a, a_star = rng.uniform(0.5, 1.5, p), rng.uniform(0.5, 1.5, k)
    if specialised is not None:
        a = np.tile(a_star, -(-p // k))[:p]  # so that E0 vanishes with the noise
    return jnp.asarray(W @ W.T / d), jnp.asarray(np.r_[-a / p, a_star / k]), jnp.asarray(a), jnp.asarray(Delta)


def relative(x, y):
    return float(jnp.linalg.norm(x - y) / jnp.linalg.norm(y))


def test_reference_values():
    item = next(item for item in json.loads(REFERENCE.read_text())["items"] if item["id"] == "rhs_erf")
    Q, M, P, a, a_star = (np.array(item["inputs"][key]) for key in ("Q", "M", "P", "a", "astar"))
    Omega, v = np.block([[Q, M], [M.T, P]]), np.r_[-a / a.size, a_star / a_star.size]
    got = chosen(*map(jnp.asarray, (Omega, v, a, item["inputs"]["Delta"])))
    np.testing.assert_allclose(got, item["expected"]["PsiVar"], rtol=item["rtol"], atol=item["atol"])


@pytest.mark.parametrize("p", [1, 3, 12])  # with and without the loop over blocks of pairs
def test_agrees_with_sampling_within_its_error_bars(p):
    Omega, v, a, Delta = network(p, k=2, d=20, seed=p, Delta=0.05)
    u = np.random.default_rng(1).multivariate_normal(np.zeros(p + 2), Omega, size=200_000, method="cholesky")
    slopes = np.sqrt(2 / np.pi) * np.exp(-(u[:, :p] ** 2) / 2) * np.asarray(a)
    squares = (erf(u / np.sqrt(2)) @ np.asarray(v)) ** 2 + float(Delta)
    mean = (slopes * squares[:, None]).T @ slopes / len(u)
    second = (slopes**2 * squares[:, None] ** 2).T @ slopes**2 / len(u)
    z = (mean - np.asarray(exact(Omega, v, a, Delta))) / np.sqrt((second - mean**2) / len(u))
    assert np.max(np.abs(z)) < 4.5


def test_vanishes_at_the_teacher_without_noise():
    Omega, _, _, _ = network(3, k=3, specialised=0.0)
    v, a = jnp.asarray([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]) / 3, jnp.ones(3)
    assert float(jnp.max(jnp.abs(exact(Omega, v, a, jnp.asarray(0.0))))) < 1e-15
    assert float(jnp.min(exact(Omega, v, a, jnp.asarray(0.1)))) > 0.01


@pytest.mark.slow
def test_identical_students_are_one_student():
    Omega, v, a, Delta = network(2, k=2, d=10, Delta=0.1)
    twin = [0, 0, 1, 2, 3]
    got = exact(
        Omega[jnp.ix_(*[jnp.asarray(twin)] * 2)],
        v[jnp.asarray(twin)] * jnp.asarray([0.5, 0.5, 1, 1, 1]),
        a[jnp.asarray(twin[:3])],
        Delta,
    )
    np.testing.assert_allclose(got, exact(Omega, v, a, Delta)[jnp.ix_(*[jnp.asarray(twin[:3])] * 2)], rtol=1e-13)


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(st.permutations(range(12)), st.permutations(range(2)))
def test_permuting_units_permutes_the_result(students, teachers):
    Omega, v, a, Delta = network(12, k=2, d=15, Delta=0.1)
    units, students = jnp.asarray([*students, *(12 + t for t in teachers)]), jnp.asarray(students)
    got = exact(Omega[jnp.ix_(units, units)], v[units], a[students], Delta)
    np.testing.assert_allclose(got, exact(Omega, v, a, Delta)[jnp.ix_(students, students)], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "p", "rtol"),
    [(variance_erf_exact, 3, 1e-7), (variance_erf_exact, 12, 1e-7), (variance_erf_wide, 12, 1e-6)],
)
def test_derivative_agrees_with_finite_differences(path, p, rtol):
    Omega, v, a, Delta = network(p, k=2, d=40, Delta=0.1)
    rng = np.random.default_rng(0)
    direction = rng.normal(size=Omega.shape)
    direction = jnp.asarray(direction + direction.T)
    weights = jnp.asarray(rng.normal(size=(p, p)))
    f = jax.jit(lambda Omega, v: jnp.sum(weights * path(Omega, v, a, Delta)))
    step = 1e-5
    slope = (f(Omega + step * direction, v) - f(Omega - step * direction, v)) / (2 * step)
    backward = jnp.sum(jax.jit(jax.grad(f))(Omega, v) * direction)
    forward = jax.jit(lambda Omega: jax.jvp(f, (Omega, v), (direction, jnp.zeros_like(v)))[1])(Omega)
    np.testing.assert_allclose([backward, forward], slope, rtol=rtol)


@pytest.mark.slow
@pytest.mark.parametrize("path", [variance_erf_exact, variance_erf_wide])
def test_derivative_is_finite_on_singular_covariances(path):
    Omega, v, a, Delta = network(6, k=3, d=4, specialised=0.0)
    value, gradient = jax.jit(jax.value_and_grad(lambda Omega: jnp.sum(path(Omega, v, a, Delta))))(Omega)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_maps_over_a_batch():
    problems = [network(12, k=2, seed=s, Delta=0.1) for s in range(3)]
    batch = jax.jit(jax.vmap(variance_erf_exact))(*map(jnp.stack, zip(*problems, strict=True)))
    np.testing.assert_allclose(batch, jnp.stack([exact(*problem) for problem in problems]), rtol=1e-13)


@pytest.mark.parametrize("specialised", [None, 0.5, 0.1])
def test_wide_path_agrees_with_the_exact_one(specialised):
    problem = network(128, specialised=specialised)
    assert relative(wide(*problem), exact(*problem)) < 1e-3


def test_wide_path_keeps_the_label_noise_exact():
    problem = network(20, k=2, d=50, Delta=0.0)
    noisy = (*problem[:3], jnp.asarray(0.7))
    np.testing.assert_allclose(wide(*noisy) - wide(*problem), exact(*noisy) - exact(*problem), rtol=1e-12)


@pytest.mark.slow
def test_error_estimate_covers_the_error():
    problem = network(20, k=2, d=30)
    error = relative(wide(*problem, points=512), exact(*problem))
    estimate = float(wide_error(*problem, points=512))
    assert estimate / 3 < error < 3 * estimate


@pytest.mark.slow
def test_more_points_reduce_the_error():
    problem = network(20, k=2, d=30)
    few, many = (
        np.mean([relative(wide(*problem, points=n, scramble=s), exact(*problem)) for s in range(3)])
        for n in (256, 4096)
    )
    assert many < few / 2.5


@pytest.mark.slow
def test_path_is_chosen_by_width():
    narrow, broad = network(widest_exact(), k=1), network(widest_exact() + 1, k=1)
    np.testing.assert_array_equal(chosen(*narrow), exact(*narrow))
    np.testing.assert_array_equal(chosen(*broad), wide(*broad))
