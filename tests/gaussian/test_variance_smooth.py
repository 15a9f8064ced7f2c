"""The variance term of smooth functions in few directions: against nested sums from small to large norms, and its estimate."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.gaussian.variance import ladder
from dimfree.gaussian.variance.smooth import variance_smooth
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import model
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem
from dimfree.states.overlaps import Overlaps

variance, variance_error = jax.jit(ladder.variance), jax.jit(ladder.variance_error)

# Psi^Var of tanh_model at students of these squared norms (11, 12, 22), made by `nested_sums` (see the slow test)
REFERENCE = {
    1.0: (0.15605988680985045, 0.08323296160254785, 0.07217707566634765),
    2.0: (0.12792878250709783, 0.05923165195273106, 0.06463021895229139),
    4.0: (0.10150266112164488, 0.0381514711253509, 0.05491384194100035),
    6.0: (0.08744162520995591, 0.028337145709296047, 0.04876136008219443),
    20.0: (0.05352495241533921, 0.010350322584486635, 0.03161538976812052),
    49.0: (0.03591349970485196, 0.0045404927762262935, 0.02169964884938112),
}


@lru_cache(maxsize=16)
def model_of(student: str, teacher: str = "", width: int = 2, units: int = 2, noise: float = 0.01) -> TeacherModel:
    data = Teacher(units=units, activation=teacher or student, noise=noise)
    return model(Problem(data=data, network=TwoLayer(width=width, activation=student)))


def state_of(norm: float, width: int = 2, units: int = 2) -> Overlaps:
    """Students of one norm, at fixed angles with each other and with the teachers."""
    along = np.array([[0.6, -0.3, 0.2], [0.2, 0.5, -0.4], [0.1, 0.1, 0.3]])[:width, :units]
    rest = np.array([[0.8, 0.3, 0.0], [-0.4, 0.7, 0.0], [0.2, 0.3, 0.6]])[:width]
    W = np.concatenate([along, rest], axis=1)
    W *= np.sqrt(norm) / np.linalg.norm(W, axis=1, keepdims=True)
    return Overlaps(*map(jnp.asarray, (W @ W.T, W[:, :units], np.array([1.3, 0.8, -0.5])[:width])))


def axis(spread: float, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    count = max(60, int(np.ceil(17.2 * spread / spacing)))
    x = (np.arange(count) - (count - 1) / 2) * 17.2 / count
    return x, 17.2 / count * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def nested_sums(m: TeacherModel, state: Overlaps, spacing: float) -> np.ndarray:
    """Two students and two teachers of tanh as the definition says: four nested trapezoidal sums."""
    L = np.linalg.cholesky(np.asarray(state.covariance(m.target.P)))
    (x, wx), (y, wy), (z, wz), (t, wt) = (axis(np.abs(L[:, j]).max(), spacing) for j in range(4))
    inner = np.stack(np.meshgrid(z, t, indexing="ij"), -1).reshape(-1, 2)
    weight = np.outer(wz, wt).ravel()
    inner, weight = inner[weight > 1e-18], weight[weight > 1e-18]
    a, v, total = np.asarray(state.a), np.asarray(m.target.second_layer) / 2, np.zeros((2, 2))
    added = inner @ L[2:, 2:].T
    for one, w_one in zip(x, wx, strict=True):
        for other, w_other in zip(y, wy, strict=True):
            if w_one * w_other < 1e-18:
                continue
            u = L[:, :2] @ [one, other]
            error = np.tanh(u[2:] + added) @ v - np.tanh(u[:2]) @ a / 2
            slopes = np.cosh(u[:2]) ** -2.0
            total += w_one * w_other * (weight @ error**2 + float(m.Delta)) * np.outer(slopes, slopes)
    return np.outer(a, a) * total


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def matrix(found: tuple[float, float, float]) -> np.ndarray:
    return np.array([[found[0], found[1]], [found[1], found[2]]])


@pytest.mark.parametrize("norm", REFERENCE)
def test_small_and_large_norms_and_the_estimate(norm):
    m, state = model_of("tanh"), state_of(norm)
    error = relative(np.asarray(variance(m, state)), matrix(REFERENCE[norm]))
    estimate = float(variance_error(m, state))
    assert error < 2e-8
    assert error < 5 * estimate
    assert estimate < 1e3 * max(error, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("norm", REFERENCE)
def test_the_reference_is_the_definition(norm):
    np.testing.assert_allclose(nested_sums(model_of("tanh"), state_of(norm), 0.25), matrix(REFERENCE[norm]), rtol=1e-9)


def test_the_estimate_knows_where_nodes_are_too_few():
    """Beyond a variance of 50 the nodes are bounded; a rule of more of them, from inside of the module, is the judge."""
    m, state = model_of("tanh"), state_of(300.0)
    judge = jax.jit(lambda m, state: variance_smooth(m, state, finer=1.8, orders=32))
    error, estimate = relative(np.asarray(variance(m, state)), np.asarray(judge(m, state))), variance_error(m, state)
    assert 1e-4 < error < 0.1
    assert error / 3 < float(estimate) < 3 * error


def over_all_directions(m: TeacherModel, state: Overlaps, spacing: float = 0.2) -> np.ndarray:
    """The definition by one sum over all directions, at moderate norms."""
    L = np.linalg.cholesky(np.asarray(state.covariance(m.target.P)))
    axes = [axis(np.abs(L[:, j]).max(), spacing) for j in range(len(L))]
    x = np.stack(np.meshgrid(*(one[0] for one in axes), indexing="ij"), -1).reshape(-1, len(L))
    w = np.stack(np.meshgrid(*(one[1] for one in axes), indexing="ij"), -1).reshape(-1, len(L)).prod(axis=1)
    u, w = jnp.asarray(x[w > 1e-18] @ L.T), w[w > 1e-18]
    error = np.asarray(m.target(u[:, m.width :]) - m.activation(u[:, : m.width]) @ state.a / m.width)
    slopes = np.asarray(m.activation.derivative(u[:, : m.width]) * state.a)
    return (slopes * (w * (error**2 + float(m.Delta)))[:, None]).T @ slopes


def link_model(terms, coefficients, width: int) -> TeacherModel:
    data = MultiIndex(terms=terms, coefficients=coefficients)
    return model(Problem(data=data, network=TwoLayer(width=width, activation="tanh")))


@pytest.mark.parametrize(
    "m",
    [
        model_of("tanh", width=1, units=2),
        model_of("sigmoid", "erf", width=2, units=1),
        model_of("he3", "tanh", width=1, units=2),
        link_model(((3,), (1,)), (0.4, -1.0), width=2),
        link_model(((2, 0), (1, 1)), (0.4, -1.0), width=1),
    ],
    ids=["two-teachers", "sigmoid-erf", "he3-tanh", "link", "two-index-link"],
)
def test_other_models_against_one_sum_over_three_directions(m):
    state = state_of(1.3, m.width, m.units)
    assert ladder.variance_method(m) == "smooth"
    np.testing.assert_allclose(variance(m, state), over_all_directions(m, state), rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "m",
    [model_of("tanh", width=3, units=1), model_of("tanh", width=1, units=3)],
    ids=["three-students", "three-teachers"],
)
def test_other_models_against_one_sum_over_four_directions(m):
    state = state_of(1.0, m.width, m.units)
    np.testing.assert_allclose(variance(m, state), over_all_directions(m, state, 0.3), rtol=1e-7)


def test_vanishes_with_the_error():
    """No cancellation: a student close to the teacher has a term as small as its risk, to many digits."""
    m = model_of("tanh", noise=0.0)
    tiny = 1e-4
    Q = jnp.eye(2) + tiny**2 * jnp.asarray([[1.0, 0.2], [0.2, 0.5]])
    term = variance(m, Overlaps(Q, jnp.eye(2), jnp.ones(2)))
    wider = variance(m, Overlaps(jnp.eye(2) + 4 * (Q - jnp.eye(2)), jnp.eye(2), jnp.ones(2)))
    np.testing.assert_allclose(wider, 4 * term, rtol=1e-6)


@pytest.mark.slow
def test_derivative_is_a_difference_quotient():
    m = model_of("tanh", width=2, units=1)
    state = state_of(2.0, 2, 1)

    def total(scale):
        moved = Overlaps(scale**2 * state.Q, scale * state.M, scale * state.a)
        return jnp.sum(jnp.sin(ladder.variance(replace(m, Delta=m.Delta * scale), moved)))

    value, h = jax.jit(total), 1e-4
    expected = (value(1 - 2 * h) - 8 * value(1 - h) + 8 * value(1 + h) - value(1 + 2 * h)) / (12 * h)
    assert float(jax.jit(jax.grad(total))(1.0)) == pytest.approx(float(expected), rel=1e-8)


def test_exact_rungs_have_no_error():
    for name in ("erf", "square"):
        m = model_of(name)
        assert ladder.variance_is_exact(m)
        assert float(variance_error(m, state_of(1.0))) == 0
    assert not ladder.variance_is_exact(model_of("tanh"))
    assert not ladder.variance_is_exact(model_of("jax.nn:elu"))
