"""Averages with a teacher of unlike units, against sums over many points of all fields at once."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from dimfree.functions import Committee, UnlikeUnits, activation
from dimfree.gaussian.moments import gradient_terms as eager_terms
from dimfree.gaussian.nodes import trapezoid
from dimfree.gaussian.offset_risk import offset_risk as eager_risk
from dimfree.gaussian.variance.ladder import variance as eager_variance
from dimfree.gaussian.variance.ladder import variance_method
from dimfree.states.overlaps import Overlaps

gradient_terms, variance, offset_risk = map(eqx.filter_jit, (eager_terms, eager_variance, eager_risk))
P = jnp.array([[0.8, 0.2], [0.2, 1.3]])
STATE = Overlaps(jnp.array([[0.9, 0.3], [0.3, 0.6]]), jnp.array([[0.3, -0.2], [0.1, 0.4]]), jnp.array([1.2, -0.7]))


class Student(NamedTuple):
    """A network of two units, as averages see it."""

    target: object
    activation: object
    width: int = 2
    Delta: object = jnp.array(0.3)
    dimension: object = jnp.array(100.0)

    @property
    def units(self):
        return self.target.units


def taught(*names, bias=(0.7, -1.1), constant=0.4):
    return UnlikeUnits(
        tuple(map(activation, names)),
        tuple(one != 0 for one in bias),
        jnp.array([1.5, -0.8]),
        jnp.array(bias),
        jnp.array(constant),
        P,
    )


def by_points(model, state, bias=0.0):
    """Risk, E[a sigma' lambda E_0] of all fields, E[sigma E_0] and Psi^Var, from a rule over all four fields."""
    x, w = trapezoid(1 / 2, 4, 7.0)
    u = jnp.asarray(x @ np.linalg.cholesky(np.asarray(state.covariance(P))).T)
    sigma = model.activation
    lambda_, slopes = sigma(u[:, :2] + bias), sigma.derivative(u[:, :2] + bias)
    error = model.target(u[:, 2:]) - lambda_ @ state.a / 2
    flow = (state.a * slopes).T @ (u * (w * error)[:, None])
    spread = (state.a * slopes).T @ (state.a * slopes * (w * (error**2 + model.Delta))[:, None])
    return w @ error**2 / 2, flow, lambda_.T @ (w * error), spread


@pytest.mark.slow
@pytest.mark.parametrize("names", [("erf", "erf"), ("linear", "erf"), ("tanh", "erf"), ("linear", "tanh")])
@pytest.mark.parametrize("own", ["erf", "tanh"])
def test_all_averages_are_those_over_all_fields(own, names):
    bias = tuple(0.0 if name == "linear" else b for name, b in zip(names, (0.7, -1.1), strict=True))
    model = Student(taught(*names, bias=bias), activation(own))
    value, flow, second, spread = by_points(model, STATE)
    found = gradient_terms(model, STATE)
    np.testing.assert_allclose(found.risk, value, rtol=1e-6)
    np.testing.assert_allclose(found.PsiM, flow[:, 2:], atol=1e-5)
    np.testing.assert_allclose(found.PsiGF, flow[:, :2] + flow[:, :2].T, atol=1e-5)
    np.testing.assert_allclose(found.Psia, second, atol=1e-5)
    exact = variance_method(model) == "tilted"
    assert exact == (own == "erf")
    np.testing.assert_allclose(variance(model, STATE), spread, rtol=1e-6 if exact else 2e-2)
    shifts = jnp.array([0.4, -0.9])
    np.testing.assert_allclose(offset_risk(model, STATE, shifts), by_points(model, STATE, shifts)[0], rtol=1e-6)


def test_alike_units_without_offsets_are_a_committee():
    unlike = Student(taught("erf", "erf", bias=(0.0, 0.0), constant=0.0), activation("erf"))
    alike = Student(Committee(activation("erf"), unlike.target.second_layer, P), activation("erf"))
    for one, other in zip(gradient_terms(unlike, STATE), gradient_terms(alike, STATE), strict=True):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(variance(unlike, STATE), variance(alike, STATE), rtol=1e-10)
