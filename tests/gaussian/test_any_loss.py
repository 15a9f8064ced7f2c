"""Averages of any loss: the square loss by the general road, invariants of losses, and noise in closed form."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.stats import qmc

from dimfree.functions.label_law import GaussianValues, LogisticClasses, Signs, StudentValues
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import (
    CorrelationLoss,
    ExponentialLoss,
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SquareLoss,
)
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.averages import averages, errors
from dimfree.gaussian.any_loss.ladder import estimated_error, loss_errors, quadrature
from dimfree.gaussian.any_loss.noise import Noise
from dimfree.gaussian.any_loss.points import Rule
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.variance.ladder import variance
from dimfree.states.overlaps import Overlaps

AVERAGES, ERRORS = eqx.filter_jit(averages), eqx.filter_jit(errors)
CLIPPED = eqx.filter_jit(lambda noise, *at: (noise.clipped(*at), noise.clipped_square(*at)))
ONE = Overlaps(jnp.array([[1.3]]), jnp.array([[0.4]]), jnp.array([0.9]))
SIGNS = Committee(activation("linear"), jnp.ones(1), jnp.ones((1, 1)))


class _Learner(eqx.Module):
    activation: eqx.Module
    target: Committee
    Delta: jnp.ndarray
    dimension: jnp.ndarray
    width: int = eqx.field(static=True)
    units: int = eqx.field(static=True)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "p", "k", "nodes"), [("erf", 2, 1, 12), ("erf", 1, 2, 12), ("relu", 1, 1, 24)])
def test_the_square_loss_by_the_general_road_is_the_closed_form(name, p, k, nodes):
    W = np.random.default_rng(p + 10 * k).normal(size=(p + k, 20))
    Omega, sigma = jnp.asarray(W @ W.T / 20), activation(name)
    state = Overlaps(Omega[:p, :p], Omega[:p, p:], jnp.linspace(0.8, 1.4, p))
    target = Committee(sigma, jnp.linspace(1.1, 0.7, k), Omega[p:, p:])
    learner = _Learner(sigma, target, jnp.asarray(0.2), jnp.asarray(100.0), p, k)
    found = AVERAGES(Task(sigma, target, SquareLoss(), GaussianValues(), jnp.asarray(0.2)), state, Rule(nodes))
    terms, H = gradient_terms(learner, state), found.D[:, :p]
    for one, other in (
        (found.D[:, p:], terms.PsiM),
        (H + H.T, terms.PsiGF),
        (found.Psia, terms.Psia),
        (found.Var, variance(learner, state)),
    ):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)


def _signs(loss, flip=0.1):
    return Task(activation("erf"), SIGNS, loss, Signs(jnp.asarray(flip), blurred=False), jnp.asarray(0.0))


def test_a_hinge_beyond_every_output_is_the_correlation_and_a_small_output_makes_logistic_errors_linear():
    far, hebb = (AVERAGES(_signs(loss), ONE, Rule(14)) for loss in (HingeLoss(jnp.asarray(2.0)), CorrelationLoss()))
    for one, other in zip(far, hebb, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)
    small = Overlaps(ONE.Q, ONE.M, jnp.array([1e-4]))  # e = (2 y - f)/4
    logistic = AVERAGES(_signs(LogisticLoss()), small, Rule(14))
    hebb = AVERAGES(_signs(CorrelationLoss()), small, Rule(14))
    np.testing.assert_allclose(logistic.D, hebb.D / 2, rtol=1e-3)


def test_a_label_that_says_nothing_moves_no_student_that_knows_nothing():
    blind = Overlaps(ONE.Q, 0 * ONE.M, ONE.a)
    assert abs(float(AVERAGES(_signs(CorrelationLoss(), 0.5), blind, Rule(14)).D[0, 1])) < 1e-13


def test_the_errors_of_a_linear_unit_are_an_angle_and_flips_of_it():
    for name in ("linear", "erf"):
        task = Task(activation(name), SIGNS, LogisticLoss(), Signs(jnp.asarray(0.1), blurred=False), jnp.asarray(0.0))
        seen = ERRORS(task, ONE, Rule(14))
        clean = np.arccos(0.4 / np.sqrt(1.3)) / np.pi
        np.testing.assert_allclose([seen.clean_error, seen.test_error], [clean, 0.1 + 0.8 * clean], atol=1e-9)


@pytest.mark.parametrize("labels", [Signs(jnp.asarray(0.1), blurred=True), LogisticClasses(jnp.asarray(2.0))])
def test_the_clean_error_knows_nothing_of_the_noise_of_labels(labels):
    task = Task(activation("linear"), SIGNS, LogisticLoss(), labels, jnp.asarray(0.3))
    seen, clean = eqx.filter_jit(loss_errors)(task, ONE), np.arccos(0.4 / np.sqrt(1.3)) / np.pi
    assert float(seen.clean_error) == pytest.approx(clean, abs=1e-9)
    assert float(seen.test_error) > clean + 0.02


def test_noise_without_a_variance_makes_that_of_steps_infinite_and_leaves_no_average_undefined():
    def found(labels):
        return AVERAGES(Task(activation("linear"), SIGNS, SquareLoss(), labels, jnp.asarray(0.2)), ONE, Rule(8))

    heavy, plain = found(StudentValues(jnp.asarray(1.5))), found(GaussianValues())
    assert heavy.Var[0, 0] == np.inf  # panels have weights of zero, at which an infinite E e² would not be a number
    np.testing.assert_array_equal(heavy.D, plain.D)
    np.testing.assert_array_equal(heavy.Psia, plain.Psia)


def test_the_correlation_of_values_is_minus_the_overlap():
    task = Task(activation("linear"), SIGNS, CorrelationLoss(), GaussianValues(), jnp.asarray(0.3))
    assert float(ERRORS(task, ONE, Rule(14)).risk) == pytest.approx(-0.9 * 0.4, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_signs_of_several_bounded_units_average_as_a_million_plain_points(seed):
    """Second layers of both signs, directions that overlap: along one direction alone the sign often does not change."""
    rng = np.random.default_rng(seed)
    W, k, flip, a = rng.normal(size=(4, 20)), 3, 0.1, 1.5
    Omega, second = W @ W.T / 20, rng.choice([-1, 1], size=3) * rng.uniform(0.6, 1.4, size=3)
    sigma, points = activation("erf"), qmc.Sobol(k + 1, rng=np.random.default_rng(1)).random_base2(20)
    u = special.ndtri(points + 2.0**-31) @ np.linalg.cholesky(Omega).T
    value, slope = special.erf(u[:, 0] / np.sqrt(2)), np.sqrt(2 / np.pi) * np.exp(-(u[:, 0] ** 2) / 2)
    y = np.sign(special.erf(u[:, 1:] / np.sqrt(2)) @ second)
    right, wrong = (z * special.expit(-z * a * value) for z in (y, -y))
    e, e2 = (1 - flip) * right + flip * wrong, (1 - flip) * right**2 + flip * wrong**2
    plain = a * (slope * e) @ u / len(u), a**2 * np.mean(slope**2 * e2), np.mean(value * e)
    target = Committee(sigma, jnp.asarray(second), jnp.asarray(Omega[1:, 1:]))
    task = Task(sigma, target, LogisticLoss(), Signs(jnp.asarray(flip), blurred=False), jnp.asarray(0.0))
    state = Overlaps(jnp.asarray(Omega[:1, :1]), jnp.asarray(Omega[:1, 1:]), jnp.array([a]))
    for rule in (Rule(7), Rule(6, 2**13)):
        for one, other in zip(AVERAGES(task, state, rule), plain, strict=True):
            np.testing.assert_allclose(jnp.squeeze(one), other, rtol=0, atol=2e-4)


@pytest.mark.slow
def test_the_error_of_fixed_points_is_estimated_for_linear_networks_too():
    three = Committee(activation("erf"), jnp.ones(3), jnp.eye(3))
    state = Overlaps(jnp.eye(2), 0.1 * jnp.ones((2, 3)), jnp.array([1.0, -0.5]))
    task = Task(activation("linear"), three, HuberLoss(jnp.asarray(0.5)), GaussianValues(), jnp.asarray(0.3))
    assert 0 < float(eqx.filter_jit(estimated_error)(task, state)) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("a", [0.5, 2.0])
def test_the_estimated_error_sees_the_exponential_loss_beyond_the_ends_of_panels(a):
    """E exp(-2 a y lambda) = 2 exp(2 a² Q) Phi(-2 a M/sqrt(P)), of which panels see what lies within seven widths."""
    Q, M = 1.3, 0.4
    task = Task(
        activation("linear"), SIGNS, ExponentialLoss(), Signs(jnp.asarray(0.0), blurred=False), jnp.asarray(0.0)
    )
    state = Overlaps(jnp.array([[Q]]), jnp.array([[M]]), jnp.array([a]))
    exact = a**2 * 2 * np.exp(2 * a**2 * Q) * special.ndtr(-2 * a * M)
    off = abs(float(AVERAGES(task, state, quadrature(task, 1).rule).Var[0, 0]) - exact)
    estimated = float(eqx.filter_jit(estimated_error)(task, state))
    assert off < 3 * estimated + 1e-9
    assert (off > 1e-3) == (a == 2.0)


@pytest.mark.parametrize("freedom", [None, 0.7, 1.0, 2.0, 3.0])
def test_clipped_noise_has_the_moments_of_its_integral(freedom):
    noise = Noise(jnp.asarray(0.4), None if freedom is None else jnp.asarray(freedom))
    law, r, theta = stats.norm(scale=0.4) if freedom is None else stats.t(freedom, scale=0.4), 0.3, 0.6
    for found, power in zip(CLIPPED(noise, jnp.asarray(r), jnp.asarray(theta)), (1, 2), strict=True):
        inside = integrate.quad(lambda x, n=power: (r + x) ** n * law.pdf(x), -theta - r, theta - r)[0]
        beyond = theta**power * (law.sf(theta - r) + (-1) ** power * law.cdf(-theta - r))
        assert float(found) == pytest.approx(inside + beyond, abs=1e-12)


def test_without_noise_a_wide_huber_loss_is_the_square_loss():
    noise, r = Noise(jnp.asarray(0.0)), jnp.array([-0.7, 0.2])
    np.testing.assert_allclose(noise.clipped(r, jnp.asarray(50.0)), r, atol=1e-12)
    np.testing.assert_allclose(noise.huber(r, jnp.asarray(50.0)), r**2 / 2, atol=1e-12)
    assert HuberLoss(jnp.asarray(50.0)).error(jnp.zeros(2), r).tolist() == r.tolist()
