"""SGD on the sphere with Hermite links: the drift against the ODE, escape times against quadrature."""

from math import factorial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.questions.escape.sphere import escape_time, hermite_drift


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_drift_is_that_of_the_spherical_ode(degree):
    name, rate, noise, m = f"he{degree}", 0.03, 0.2, 0.4
    problem = df.Problem(
        data=df.Teacher(units=1, activation=name, noise=noise),
        network=df.TwoLayer(width=1, activation=name),
        training=df.OnePass(learning_rate=rate, spherical=True),
    )
    state = df.extend.Overlaps(jnp.eye(1), jnp.full((1, 1), m), jnp.ones(1))
    velocity = eqx.filter_jit(df.theories.HighDimensional().velocity)(df.extend.model(problem), jnp.zeros(()), state)
    assert float(hermite_drift(m, degree, rate, noise)) == pytest.approx(float(velocity.M[0, 0]), rel=1e-12)


def test_a_drift_that_was_first_traced_is_known_outside_the_trace():
    of = (0.4, 5, 0.05, 0.3)
    assert float(eqx.filter_jit(hermite_drift)(*of)) == pytest.approx(float(hermite_drift(*of)), rel=1e-12)


def test_drift_of_phase_retrieval_is_closed_and_vectorised():
    m, rate, noise = jnp.linspace(-1, 1, 7), 0.05, 0.3
    closed = m * (4 * (1 - 6 * rate) * (1 - m**2) - 2 * rate * noise)
    np.testing.assert_allclose(hermite_drift(m, 2, rate, noise), closed, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_escape_time_is_the_integral_over_the_drift(degree):
    expected = quad(lambda m: 1 / float(hermite_rate(m, degree)), 0.05, 0.9, epsabs=0, epsrel=1e-11)[0]
    assert escape_time(0.05, 0.9, degree) == pytest.approx(expected, rel=1e-9)


def hermite_rate(m: float, degree: int) -> float:
    return degree * factorial(degree) * m ** (degree - 1) * (1 - m**2)


def test_escape_times_grow_with_dimension_as_in_the_table():
    d = 1e12
    assert escape_time(d**-0.5, 0.5, 1) < 1
    assert escape_time(d**-0.5, 0.5, 2) - escape_time((d / 10) ** -0.5, 0.5, 2) == pytest.approx(np.log(10) / 8)
    assert escape_time(d**-0.5, 0.5, 4) == pytest.approx(d / (4 * 24 * 2), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: hermite_drift(0.1, 0, 0.1, 0.1), "degree 0 was given"),
        (lambda: escape_time(0.0, 0.5, 2), "a start exactly at m = 0 never escapes without noise"),
        (lambda: escape_time(0.5, 0.1, 2), "0 <= start <= end < 1"),
    ],
)
def test_errors_are_one_sentence(call, part):
    with pytest.raises(ProblemError) as caught:
        call()
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)
