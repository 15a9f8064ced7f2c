"""Averages over a student's field and the sign of a teacher: known moments, adaptive quadrature, narrow steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dimfree.functions import activation
from dimfree.functions.loss import HardMargin, loss
from dimfree.gaussian.linear_part import linear_part
from dimfree.gaussian.sign_channel import fields, sign_information

seen_at = eqx.filter_jit(fields)


@pytest.mark.parametrize("ell", [loss("logistic"), HardMargin()], ids=lambda ell: ell.name)
def test_moments_of_the_labelled_field(ell):
    for R in (0.01, 0.9, 1 - 1e-9):
        seen = seen_at(ell, jnp.asarray(3.0), jnp.asarray(7.0), jnp.asarray(R))
        along = np.sqrt(2 / np.pi)
        known = {"weight": (1.0, R * along, 1.0), "slope": (along, 0.0, (1 - R**2) * along)}
        for name, moments in known.items():
            found = [np.sum(np.asarray(getattr(seen, name)) * np.asarray(seen.xi) ** power) for power in range(3)]
            np.testing.assert_allclose(found, moments, rtol=2e-12, atol=1e-13)


@pytest.mark.parametrize(("V", "q", "R"), [(0.3, 0.5, 0.7), (400.0, 900.0, 0.95)])
def test_a_force_of_the_logistic_loss_on_a_fine_grid(V, q, R):
    """The trapezoidal rule with the proximal map itself."""
    ell, xi = loss("logistic"), np.linspace(-9, 9, 40_001)
    seen = seen_at(ell, jnp.asarray(V), jnp.asarray(q), jnp.asarray(R))
    found = np.sum(np.asarray(seen.weight) * ((np.asarray(seen.h) - np.asarray(seen.omega)) / V) ** 2)
    omega = np.sqrt(q) * xi
    force = (np.asarray(jax.jit(ell.prox)(jnp.asarray(omega), jnp.asarray(V))) - omega) / V
    density = 2 * norm.pdf(xi) * norm.cdf(R / np.sqrt(1 - R**2) * xi)
    assert found == pytest.approx(np.sum(density * force**2) * (xi[1] - xi[0]), rel=1e-11)


@pytest.mark.parametrize("gap", [1e-6, 0.3, 1.0 - 1e-6])
def test_what_a_sign_tells(gap):
    def integrand(u):  # in units of sqrt(gap)
        return np.exp(-0.5 * u**2 * gap / (1 - gap) + 2 * norm.logpdf(u) - norm.logcdf(u))

    reach = 12 * np.sqrt(1 - gap)
    known = (
        quad(integrand, -reach, reach, epsabs=0, epsrel=1e-12, limit=200)[0] * 2 / np.sqrt(2 * np.pi * gap * (1 - gap))
    )
    assert float(sign_information(jnp.asarray(gap))) == pytest.approx(known, rel=1e-11)


def test_a_line_has_nothing_left():
    part = linear_part(activation("linear"))
    np.testing.assert_allclose(part, (0.0, 1.0, 0.0), atol=1e-7)
