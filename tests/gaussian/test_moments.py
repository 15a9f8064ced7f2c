"""The expectations that drive the overlaps, against direct quadrature over all preactivations, and their symmetries."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dimfree.gaussian import moments
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import model
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem
from dimfree.states.overlaps import Overlaps
from stages import gating

gradient_terms, risk = jax.jit(moments.gradient_terms), jax.jit(moments.risk)


@lru_cache(maxsize=64)
def model_of(student: str, teacher: str = "", width: int = 2, units: int = 1, **teacher_keys) -> TeacherModel:
    data = Teacher(units=units, activation=teacher or student, **teacher_keys)
    return model(Problem(data=data, network=TwoLayer(width=width, activation=student)))


def link_model(
    student: str, terms: tuple[tuple[int, ...], ...], coefficients: tuple[float, ...], width: int
) -> TeacherModel:
    data = MultiIndex(terms=terms, coefficients=coefficients)
    return model(Problem(data=data, network=TwoLayer(width=width, activation=student)))


def state_of(seed: int, m: TeacherModel, directions: int = 9, a: np.ndarray | None = None) -> Overlaps:
    """Random students, possible for this teacher: W = (C, rest) in a frame whose first directions span the teacher."""
    rng = np.random.default_rng(seed)
    C, rest = (
        rng.normal(size=(m.width, m.units)) * 0.6,
        rng.normal(size=(m.width, directions)) * 0.8 / np.sqrt(directions),
    )
    P = np.asarray(m.target.P)
    second_layer = rng.normal(size=m.width) if a is None else a
    return Overlaps(*map(jnp.asarray, (C @ P @ C.T + rest @ rest.T, C @ P, second_layer)))


def by_direct_quadrature(m: TeacherModel, state: Overlaps) -> dict[str, np.ndarray]:
    """Section 2 of the theory as it is written, by a trapezoidal rule over u in R^3."""
    p = m.width
    Omega = np.asarray(state.covariance(m.target.P))
    axis = np.arange(-8, 8.1, 0.25)
    xi = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    weight = np.exp(-0.5 * (xi**2).sum(axis=1)) * (0.25 / np.sqrt(2 * np.pi)) ** 3
    u = jnp.asarray(xi @ np.linalg.cholesky(Omega).T)
    students, teachers, a = np.asarray(u[:, :p]), np.asarray(u[:, p:]), np.asarray(state.a)
    value, slope = np.asarray(m.activation(u[:, :p])), np.asarray(m.activation.derivative(u[:, :p]))
    error = np.asarray(m.target(u[:, p:])) - value @ a / p
    pull = (weight * error)[:, None] * a * slope
    H = pull.T @ students
    return {
        "PsiM": pull.T @ teachers,
        "PsiGF": H + H.T,
        "Psia": value.T @ (weight * error),
        "risk": weight @ error**2 / 2,
    }


@pytest.mark.parametrize(
    "m",
    [
        model_of("tanh", "erf", overlap=((1.7,),), second_layer=-0.8),
        model_of("he3", "tanh", overlap=((0.6,),)),
        model_of("erf", "erf", width=1, units=2, overlap=((1.0, 0.4), (0.4, 0.9)), second_layer=(1.5, -0.5)),
        link_model("tanh", ((3,), (2,), (0,)), (0.3, -1.0, 0.2), width=2),
        link_model("erf", ((1, 0), (1, 1), (2, 3)), (1.0, -0.7, 0.2), width=1),
    ],
    ids=["tanh-erf", "he3-tanh", "two-teachers", "link", "two-index-link"],
)
def test_terms_agree_with_direct_quadrature(m):
    state = state_of(1, m)
    terms = gradient_terms(m, state)._asdict()
    for name, expected in by_direct_quadrature(m, state).items():
        np.testing.assert_allclose(terms[name], expected, rtol=1e-8, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(risk(m, state), terms["risk"], rtol=1e-14)
    Omega = state.covariance(m.target.P)
    H = terms["J"] @ Omega[:, : m.width]
    np.testing.assert_allclose(H + H.T, terms["PsiGF"], rtol=1e-12, atol=1e-13)


def test_jacobian_is_the_mean_derivative_of_the_gradient():
    """J = E[dc/du], with c_i = a_i sigma'(lambda_i) E_0."""
    m = model_of("tanh", "erf", overlap=((1.7,),), second_layer=-0.8)
    state, p = state_of(2, m), m.width

    def c(u):
        error = m.target(u[p:]) - jnp.mean(state.a * m.activation(u[:p]))
        return state.a * m.activation.derivative(u[:p]) * error

    axis = np.arange(-7, 7.1, 1 / 3)
    xi = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    weight = np.exp(-0.5 * (xi**2).sum(axis=1))
    u = xi @ np.linalg.cholesky(np.asarray(state.covariance(m.target.P))).T
    slopes = jax.vmap(jax.jacfwd(c))(jnp.asarray(u))
    np.testing.assert_allclose(gradient_terms(m, state).J, np.tensordot(weight / weight.sum(), slopes, 1), atol=1e-9)


def test_hermite_link_of_one_direction_is_a_single_index_teacher():
    link, teacher = link_model("tanh", ((3,),), (1.0,), width=2), model_of("tanh", "he3")
    state = state_of(3, link)
    terms = (jax.tree.leaves(gradient_terms(model, state)) for model in (link, teacher))
    for one, other in zip(*terms, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


ERF = model_of("erf", width=3, units=2, overlap=((1.0, 0.3), (0.3, 1.2)), second_layer=(1.5, -0.5))


@given(st.integers(0, 2**31), st.permutations(range(3)), st.permutations(range(2)))
def test_units_have_no_order(seed, students, teachers):
    state = state_of(seed, ERF)
    s, t = np.array(students), np.array(teachers)
    target = ERF.target
    shuffled = type(target)(target.activation, target.second_layer[t], target.P[t][:, t])
    m = replace(ERF, target=shuffled)
    before = gradient_terms(ERF, state)
    after = gradient_terms(m, Overlaps(state.Q[s][:, s], state.M[s][:, t], state.a[s]))
    exact = {"rtol": 1e-11, "atol": 1e-13}
    np.testing.assert_allclose(after.PsiM, before.PsiM[s][:, t], **exact)
    np.testing.assert_allclose(after.PsiGF, before.PsiGF[s][:, s], **exact)
    np.testing.assert_allclose(after.Psia, before.Psia[s], **exact)
    np.testing.assert_allclose(after.risk, before.risk, **exact)
    both = np.concatenate([s, 3 + t])
    np.testing.assert_allclose(after.J, before.J[s][:, both], **exact)


@pytest.mark.parametrize("student", ["erf", "relu", "he3"])
@given(seed=st.integers(0, 2**31))
def test_risk_is_not_negative(student, seed):
    m = model_of(student, width=3, units=2)
    assert float(risk(m, state_of(seed, m, directions=1))) >= 0


@pytest.mark.parametrize("name", ["erf", "relu", "tanh", "square"])
def test_a_student_that_is_the_teacher_rests(name):
    P = ((1.0, 0.3), (0.3, 1.2))
    m = model_of(name, width=2, units=2, overlap=P, second_layer=(1.5, -0.5))
    terms = gradient_terms(m, Overlaps(jnp.asarray(P), jnp.asarray(P), jnp.array([1.5, -0.5])))
    for value in terms[:3]:
        np.testing.assert_allclose(value, 0.0, atol=1e-12)
    assert float(terms.risk) == pytest.approx(0.0, abs=1e-13)


@given(st.integers(0, 2**31), st.floats(0.1, 1.0))
def test_relu_scales(seed, scale):
    """R(scale² Omega) = scale² R(Omega), teacher included."""
    m = model_of("relu", width=3, units=2)
    state, target = state_of(seed, m), m.target
    larger = type(target)(target.activation, target.second_layer, scale**2 * target.P)
    scaled = replace(m, target=larger)
    after = risk(scaled, Overlaps(scale**2 * state.Q, scale**2 * state.M, state.a))
    np.testing.assert_allclose(after, scale**2 * risk(m, state), rtol=1e-11, atol=1e-13)


@lru_cache(maxsize=16)
def slope_of_terms(name: str):
    """A number made of all terms, and its gradient, as functions of (Q_11, Q_12, Q_22, M_1, M_2, a_1, a_2)."""
    m = model_of(name, width=2, units=1)

    def total(x):
        Q = jnp.array([[x[0], x[1]], [x[1], x[2]]])
        terms = moments.gradient_terms(m, Overlaps(Q, x[3:5, None], x[5:]))
        return sum(jnp.sum(jnp.cos(term)) for term in jax.tree.leaves(terms))

    return jax.jit(jax.value_and_grad(total))


DIFFERENTIATED = pytest.mark.parametrize("name", gating(["erf", "relu", "tanh", "he3", "jax.nn:elu"], ["tanh"]))


@DIFFERENTIATED
def test_gradients_are_those_of_finite_differences_on_the_diagonal_too(name):
    """Every unit is perfectly correlated with itself: the kernels' square roots must not spoil the derivative there."""
    numbers, h, slope = jnp.array([1.3, 0.4, 0.9, 0.5, -0.3, 1.2, 0.7]), 1e-4, slope_of_terms(name)
    stencil = {-2: 1, -1: -8, 1: 8, 2: -1}
    expected = [sum(w * slope(numbers + n * h * e)[0] for n, w in stencil.items()) / (12 * h) for e in jnp.eye(7)]
    np.testing.assert_allclose(slope(numbers)[1], expected, rtol=1e-7, atol=1e-7)


@DIFFERENTIATED
def test_gradients_of_twins_are_finite(name):
    gradient = slope_of_terms(name)(jnp.array([1.3, 1.3, 1.3, 0.4, 0.4, 1.0, 1.0]))[1]
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0
