"""The O(p) series of the mean-field closures against all pairs, and the average over Xi against SciPy."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_jacobi

import dimfree as df
from dimfree.gaussian import closure, series
from dimfree.gaussian.closure import truncation, uses_series
from dimfree.gaussian.moments import gradient_terms
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.model import model
from dimfree.states.overlaps import Overlaps
from dimfree.states.particles import Particles

dimensionless_terms = jax.jit(closure.dimensionless_terms, static_argnums=2)


def gating(cases, quick):
    """Every structure is compiled anew: one of each kind gates, the others are slow."""
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.slow) for case in cases]


WIDTH = closure.NARROW + 5
P2, P3 = [[1.0, 0.4], [0.4, 1.3]], [[1.0, 0.2, 0.0], [0.2, 0.8, -0.3], [0.0, -0.3, 1.1]]


@lru_cache(maxsize=32)
def model_of(student: str, teacher: str, k: int, width: int = WIDTH) -> TeacherModel:
    overlap = {1: [[1.4]], 2: P2, 3: P3}[k]
    data = df.Teacher(units=k, activation=teacher, overlap=overlap, second_layer=[1.0, -0.7, 0.4][:k])
    return model(df.Problem(dimension=100, data=data, network=df.TwoLayer(width=width, activation=student)))


def state_of(m: TeacherModel, seed: int = 0) -> Particles:
    rng = np.random.default_rng(seed)
    p, k = m.width, m.units
    return Particles(*map(jnp.asarray, (0.4 * rng.normal(size=(p, k)), rng.uniform(0.4, 1.0, p), rng.normal(size=p))))


@partial(jax.jit, static_argnums=2)
def pairs(m: TeacherModel, state: Particles, self_term: bool):
    return closure._pair_terms(m, state, self_term, jnp.zeros(1), jnp.ones(1))


def assert_same(found, expected, tolerance):
    for name, one, other in zip(expected._fields, found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance, err_msg=name)


SERIES = [
    ("erf", "erf", 1),
    ("erf", "erf", 2),
    ("erf", "erf", 3),
    ("relu", "relu", 2),
    ("hard-tanh", "relu", 1),
    ("he3", "erf", 3),
    ("tanh", "tanh", 2),
    ("erf", "tanh", 1),
    ("jax.nn:elu", "erf", 1),
]
LEFT_OUT = [("relu", 2, 1.5), ("relu", 3, 1.0), ("tanh", 3, 1.5), ("erf", 3, 2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("self_term", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("student", "teacher", "k"), gating(SERIES, [("erf", "erf", 2), ("relu", "relu", 2)]))
def test_the_series_agrees_with_all_pairs(student, teacher, k, self_term):
    m = model_of(student, teacher, k)
    state = state_of(m)
    assert uses_series(m.activation, k, m.width)
    assert_same(dimensionless_terms(m, state, self_term), pairs(m, state, self_term), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("self_term", [pytest.param(True, marks=pytest.mark.slow), False])
def test_a_link_of_hermite_products(self_term):
    data = df.MultiIndex(terms=((1, 0), (1, 1), (0, 3)), coefficients=(1.0, -0.5, 0.2))
    m = model(df.Problem(data=data, network=df.TwoLayer(width=WIDTH)))
    state = state_of(m)
    assert_same(dimensionless_terms(m, state, self_term), pairs(m, state, self_term), 1e-10)


@pytest.mark.slow
def test_every_level_of_the_series_is_taken_and_right():
    m = model_of("erf", "erf", 2)
    taken = set()
    for scale in (0.2, 1.0, 3.0):
        state = state_of(m)
        state = Particles(scale * state.M, state.q, state.a)
        levels = series.series_levels(m.activation, 2)
        taken.add(sum(bool(closure._left_out(m, state, level) > closure._NOTHING) for level in levels[:-1]))
        error = max(1e-12, 10 * float(truncation(m, state)))
        assert_same(dimensionless_terms(m, state, True), pairs(m, state, True), error)
    assert taken == set(range(len(levels)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "scale"), gating(LEFT_OUT, [("relu", 2, 1.5)]))
def test_what_is_left_out_is_known(name, k, scale):
    m = model_of(name, "erf", k)
    state = state_of(m)
    state = Particles(scale * state.M, 0.3 * state.q, state.a)
    found, expected = dimensionless_terms(m, state, False), pairs(m, state, False)
    error = max(float(jnp.abs(x - y).max()) for x, y in zip(found, expected, strict=True))
    assert error < 10 * float(truncation(m, state)) * float(jnp.abs(state.a).max()) + 1e-11


@pytest.mark.slow
def test_pairs_are_the_overlap_equations_when_orthogonal_parts_do_not_meet():
    """With Q = C + diag(q) the closure is the right-hand side of (2.1) without the variance."""
    m = model_of("tanh", "erf", 2, width=3)
    state = state_of(m)
    N = state.along(m.target.P)
    full = gradient_terms(m, Overlaps(N @ N.T + jnp.diag(state.q), state.M, state.a))
    terms = dimensionless_terms(m, state, True)
    along = 2 * jnp.sum(N * (terms.PsiM @ jnp.linalg.inv(jnp.linalg.cholesky(m.target.P)).T), axis=1)
    np.testing.assert_allclose(terms.PsiM, full.PsiM, atol=1e-12)
    np.testing.assert_allclose(terms.Psiq + along, jnp.diagonal(full.PsiGF), atol=1e-12)
    np.testing.assert_allclose(terms.Psia, full.Psia, atol=1e-12)
    np.testing.assert_allclose(terms.risk, full.risk, atol=1e-12)


@pytest.mark.parametrize("free", [2, 3, 10, 998])
def test_the_average_over_xi_is_scipys(free):
    nodes, weights = closure.xi_rule(jnp.asarray(1.0 * free), 12)
    x, w = roots_jacobi(12, (free - 3) / 2, (free - 3) / 2)
    np.testing.assert_allclose(nodes, x, atol=1e-12)
    np.testing.assert_allclose(weights, w / w.sum(), atol=1e-12)


def test_one_free_direction_is_a_coin():
    nodes, weights = closure.xi_rule(jnp.ones(()), 6)
    np.testing.assert_allclose(jnp.sum(weights * nodes**2), 1.0, atol=1e-12)
    np.testing.assert_allclose(jnp.sum(weights * nodes**4), 1.0, atol=1e-12)


def test_a_teacher_with_equal_units_has_fewer_directions():
    data = df.Teacher(units=2, overlap=[[1.0, 1.0], [1.0, 1.0]])
    m = model(df.Problem(data=data, network=df.TwoLayer(width=3)))
    state = Particles(jnp.asarray([[0.3, 0.3], [-0.2, -0.2], [0.5, 0.5]]), jnp.ones(3), jnp.ones(3))
    np.testing.assert_allclose(state.norms(m.target.P), 1 + state.M[:, 0] ** 2, atol=1e-14)
    assert np.isfinite(dimensionless_terms(m, state, True).PsiM).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", gating([("erf",), ("relu",), ("tanh",)], [("erf",)]))
def test_gradients_are_those_of_differences(name):
    m = model_of(name, name, 1)
    state = state_of(m)
    way = state_of(m, seed=1)

    def total(h):
        moved = jax.tree.map(lambda x, y: x + h * y, state, way)
        return sum(jnp.sum(jnp.cos(term)) for term in dimensionless_terms(m, moved, True))

    slope = jax.jit(jax.grad(total))(0.0)
    f = jax.jit(total)
    np.testing.assert_allclose(slope, (f(1e-4) - f(-1e-4)) / 2e-4, rtol=1e-5)


@pytest.mark.slow
def test_units_have_no_order():
    m = model_of("erf", "erf", 2)
    state, order = state_of(m), np.random.default_rng(2).permutation(WIDTH)
    before, after = (dimensionless_terms(m, s, True) for s in (state, jax.tree.map(lambda x: x[order], state)))
    for one, other in zip(before[:3], after[:3], strict=True):
        np.testing.assert_allclose(one[order], other, atol=1e-13)
    np.testing.assert_allclose(before.risk, after.risk, rtol=1e-12)


def test_too_many_teacher_directions_leave_no_series():
    assert series.series_degrees(df.extend.activation("erf"), 2)[-1] == 95
    assert series.series_degrees(df.extend.activation("erf"), 8) == ()
    assert series.series_degrees(df.extend.activation("square"), 20) == (0, 1, 2)
