"""Kernels and risk of neurons with offsets: against dense quadrature, against those without, and against fresh samples."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pair_reference import FUNCTIONS, expectations

from dimfree.functions import activation
from dimfree.gaussian import moments
from dimfree.gaussian.offset_risk import offset_risk as eager_offset_risk
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.gaussian.two_point.shifted import shifted_kernel as eager_kernel
from dimfree.gaussian.two_point.shifted import shifted_moments
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import MultiIndex, Teacher
from dimfree.onepass.model import model
from dimfree.onepass.sections import TwoLayer
from dimfree.problem import Problem
from dimfree.states.overlaps import Overlaps
from stages import gating

offset_risk, risk = jax.jit(eager_offset_risk), jax.jit(moments.risk)
shifted_kernel = jax.jit(eager_kernel)
SHIFTS = np.array([(0.0, 0.0), (0.7, 0.0), (0.0, -1.2), (1.5, -0.4), (-0.8, -0.8), (3.0, 2.5), (0.3, 0.3003)])
# variances and correlation: independent, moderate, nearly and exactly the same, opposite, of very different size
PAIRS = np.array(
    [(1.0, 1.0, 0.0), (1.3, 0.6, 0.5), (0.9, 0.9, 0.999), (0.9, 0.9, 1 - 1e-7), (1.1, 1.1, 1.0), (0.8, 1.2, -0.97),
     (4.0, 0.05, 0.3)]
)  # fmt: skip
KERNELS = [
    ("erf", "erf"),
    ("relu", "relu"),
    ("hard-tanh", "relu"),
    ("he3", "he3"),
    ("square", "relu"),
    ("tanh", "he3"),
    ("erf", "relu"),
    ("tanh", "tanh"),
    ("tanh", "erf"),
    ("jax.nn:elu", "tanh"),
]
GATES = [("erf", "erf"), ("he3", "he3"), ("tanh", "erf"), ("erf", "link"), ("square", "single")]


def shifted(name: str, b: float):
    """A function of pair_reference at a shifted argument."""
    f = FUNCTIONS[name]
    return f._replace(value=lambda x: f.value(x + b), bends={kink - b: bend for kink, bend in f.bends.items()})


@pytest.mark.parametrize(("student", "other"), gating(KERNELS, GATES))
def test_kernels_agree_with_dense_quadrature(student, other):
    q_u, q_w, rho = (PAIRS[:, None, n] for n in range(3))
    c = rho * np.sqrt(q_u * q_w)
    b, s = SHIFTS[:, 0], SHIFTS[:, 1]
    found = shifted_kernel(activation(student), activation(other), *map(jnp.asarray, (q_u, c, q_w, b, s)))
    assert found.shape == (len(PAIRS), len(SHIFTS))
    for i, j in np.ndindex(found.shape):
        expected = expectations(
            shifted(student, b[j]), shifted(other, s[j]), float(q_u[i, 0]), float(c[i, 0]), float(q_w[i, 0])
        )[0]
        assert abs(found[i, j] - expected) < 1e-9 * max(1.0, abs(expected)), (PAIRS[i], SHIFTS[j])


@pytest.mark.parametrize(("student", "other"), gating(KERNELS, GATES))
def test_without_a_shift_they_are_the_two_point_kernels(student, other):
    q_u, q_w, rho = (jnp.asarray(PAIRS[:, n]) for n in range(3))
    sigma, g, c, none = activation(student), activation(other), rho * jnp.sqrt(q_u * q_w), jnp.zeros(len(PAIRS))
    expected = jax.jit(lambda *x: two_point(sigma, g, *x).kappa)(q_u, c, q_w)
    np.testing.assert_allclose(shifted_kernel(sigma, g, q_u, c, q_w, none, none), expected, rtol=1e-11, atol=1e-11)


def test_a_polynomial_may_swallow_its_shift():
    """(x + b)² - 1 = He_2(x) + 2 b x + b²: the moments are its coefficients times j!, at any degree asked for."""
    found = shifted_moments(activation("square"), jnp.asarray(1.0), jnp.asarray(0.7), 5)
    np.testing.assert_allclose(found, [1 + 0.49, 1.4, 2.0, 0.0, 0.0], atol=1e-12)


@lru_cache(maxsize=16)
def model_of(student: str, teacher: str) -> TeacherModel:
    links = {
        "link": MultiIndex(terms=((1, 0), (1, 1), (0, 3)), coefficients=(1.0, -0.5, 0.2)),
        "single": MultiIndex(terms=((2,), (0,)), coefficients=(0.7, 0.3)),
    }
    data = links.get(teacher) or Teacher(
        units=2, activation=teacher, overlap=((1.0, 0.3), (0.3, 1.2)), second_layer=(1.5, -0.5)
    )
    return model(Problem(data=data, network=TwoLayer(width=3, activation=student, bias_start=0.1)))


def state_of(m: TeacherModel, seed: int = 0, gap: float = 1e-3) -> tuple[Overlaps, jax.Array]:
    """The first two students are so near to each other."""
    rng = np.random.default_rng(seed)
    P, C, rest = np.asarray(m.target.P), rng.normal(size=(3, m.units)) * 0.6, rng.normal(size=(3, 5)) * 0.4
    C[1], rest[1] = C[0], rest[0] + gap * rng.normal(size=5)
    overlaps = Overlaps(*map(jnp.asarray, (C @ P @ C.T + rest @ rest.T, C @ P, np.array([1.5, -2.0, 2.5]))))
    return overlaps, jnp.asarray([0.9, -0.6, 1.2])


MODELS = [
    ("erf", "erf"),
    ("relu", "relu"),
    ("tanh", "erf"),
    ("he3", "tanh"),
    ("erf", "link"),
    ("relu", "single"),
    ("tanh", "link"),
    ("square", "single"),
]


@pytest.mark.parametrize(("student", "teacher"), gating(MODELS, GATES))
def test_risk_is_that_of_fresh_samples(student, teacher):
    m, count = model_of(student, teacher), 400_000
    state, bias = state_of(m)
    Omega = np.asarray(state.covariance(m.target.P))
    values, vectors = np.linalg.eigh(Omega)
    u = np.random.default_rng(5).normal(size=(count, len(Omega))) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    f = np.asarray(m.activation(jnp.asarray(u[:, :3]) + bias)) @ np.asarray(state.a) / 3
    losses = (np.asarray(m.target(jnp.asarray(u[:, 3:]))) - f) ** 2 / 2
    error = losses.std() / np.sqrt(count)
    found = float(offset_risk(m, state, bias))
    assert abs(losses.mean() - found) < 4.5 * error
    unshifted = float(risk(m, state))
    assert abs(losses.mean() - unshifted) > 20 * error, "the offsets must matter"


@pytest.mark.parametrize(("student", "teacher"), gating(MODELS, GATES))
def test_risk_without_offsets_is_the_risk(student, teacher):
    m = model_of(student, teacher)
    for seed in range(3):
        state, _ = state_of(m, seed)
        np.testing.assert_allclose(offset_risk(m, state, jnp.zeros(3)), risk(m, state), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", gating(["erf", "relu", "tanh"], ["erf"]))
def test_equal_units_make_one(name):
    """Students that are the same, offsets included, are one student: the kernel of a pair at correlation one is that of one."""
    m = model_of(name, "erf")
    state, _ = state_of(m)
    first = Overlaps(
        jnp.broadcast_to(state.Q[0, 0], (3, 3)), jnp.broadcast_to(state.M[0], (3, 2)), jnp.asarray([3.0, 0, 0])
    )
    spread = Overlaps(first.Q, first.M, jnp.asarray([0.5, 1.5, 1.0]))
    one, other = (offset_risk(m, s, jnp.full(3, 0.6)) for s in (first, spread))
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["erf", "relu", "tanh"])
def test_gradients_are_those_of_differences(name):
    m = model_of(name, "erf")
    state, bias = state_of(m, gap=0.4)

    def value(h):
        return eager_offset_risk(m, Overlaps(state.Q + h * jnp.eye(3), state.M * (1 + h), state.a), bias * (1 - h))

    slope, f = jax.jit(jax.grad(value))(0.0), jax.jit(value)
    assert np.isfinite(slope)
    np.testing.assert_allclose(slope, (f(1e-4) - f(-1e-4)) / 2e-4, rtol=1e-6)
