"""Learning curves in infinite dimension: limits, second routes, derivatives, complexities (docs/theory/static.md, a and b)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from dimfree.dataset.ends import rademacher
from dimfree.dataset.ends.bayes import bayes_optimal
from dimfree.dataset.ends.covariates import from_matrices, from_spectrum, isotropic
from dimfree.dataset.ends.max_margin import max_margin
from dimfree.dataset.ends.optimal_ridge import optimal_ridge
from dimfree.dataset.ends.random_features import features
from dimfree.dataset.ends.solve import curve, end_of, slopes, solved
from dimfree.dataset.ends.task import Task
from dimfree.errors import ProblemError
from dimfree.functions import activation
from dimfree.functions.loss import loss


def task(labels, name, alpha, ridge, noise=0.0, covariates=None):
    numbers = (jnp.asarray(number, dtype=float) for number in (alpha, ridge, noise))
    return Task(labels, loss(name), covariates or isotropic(), *numbers)


@pytest.mark.parametrize("alpha", [0.4, 3.0])
def test_least_squares_without_ridge(alpha):
    """Double descent in closed form on both sides of one sample per dimension."""
    noise = 0.3
    excess = noise / (alpha - 1) if alpha > 1 else (1 - alpha) + noise * alpha / (1 - alpha)
    assert 2 * float(solved(task("linear", "square", alpha, 1e-10, noise)).risk) == pytest.approx(excess, rel=1e-8)
    if alpha > 1:
        assert 2 * float(solved(task("linear", "square", alpha, 0.0, noise)).risk) == pytest.approx(excess, rel=1e-12)


def test_the_best_ridge_of_signs_is_the_same_everywhere():
    """For the square loss the sign acts as noise: pi/2 - 1 at every number of samples."""
    best = optimal_ridge(task("sign", "square", 1.0, 1.0), np.array([0.5, 2.0, 20.0]))
    np.testing.assert_allclose(best.lambda_, np.pi / 2 - 1, rtol=1e-6)


def gordon(alpha):
    """Margin and error of the other route: the largest kappa with min_R alpha E(kappa - s)_+² - (1 - R²) <= 0."""

    def lowest(kappa):
        def value(R):
            density = lambda s: 2 * norm.pdf(s) * norm.cdf(R * s / np.sqrt(1 - R**2)) * (kappa - s) ** 2  # noqa: E731
            return alpha * quad(density, -9, kappa, points=[0.0], epsabs=1e-11)[0] - (1 - R**2)

        return minimize_scalar(value, bounds=(0.01, 0.9999), method="bounded", options={"xatol": 1e-8})

    kappa = brentq(lambda k: lowest(k).fun, 0.02, 3.0, xtol=1e-8)
    return kappa, np.arccos(lowest(kappa).x) / np.pi


@pytest.mark.slow
def test_the_largest_margin_by_another_route():
    found = max_margin(task("sign", "hinge", 2.0, 1.0))
    assert float(found.left) < 1e-9
    kappa, error = gordon(2.0)
    assert float(found.norm) ** -0.5 == pytest.approx(kappa, rel=1e-6)
    assert float(task("sign", "hinge", 2.0, 1.0).risk(found.m, found.q)) == pytest.approx(error, rel=1e-5)


@pytest.mark.slow
def test_hinge_reaches_the_largest_margin_at_a_finite_ridge():
    hinge = solved(task("sign", "hinge", 5.0, 3e-3))
    hard = max_margin(task("sign", "hinge", 5.0, 1.0))
    np.testing.assert_allclose([hinge.m, hinge.q], [hard.m, hard.q], rtol=1e-9)


@pytest.mark.slow
def test_a_curve_of_fifty_points_is_one_call_and_differentiable():
    samples, ridge = np.geomspace(0.1, 50.0, 50), np.full(50, 0.05)
    logistic = task("sign", "logistic", 1.0, 1.0)
    found = curve(logistic, jnp.asarray(samples), jnp.asarray(ridge))
    assert float(found.left.max()) < 1e-9
    assert (np.diff(found.risk) < 0).all()
    np.testing.assert_allclose(found.risk[17], solved(task("sign", "logistic", samples[17], 0.05)).risk, rtol=1e-10)
    h = 1e-5
    steps = jnp.log(0.05) + h * jnp.asarray([-1.0, 0.0, 1.0])
    risk, slope = slopes(logistic, 2.0 * jnp.ones(3), steps)
    assert float(slope[1]) == pytest.approx(float(risk[2] - risk[0]) / (2 * h), rel=1e-6)


@pytest.mark.slow
def test_risk_is_differentiable_in_the_number_of_samples():
    ridge, h = task("sign", "hinge", 2.0, 0.3), 1e-5

    @jax.jit
    @jax.vmap
    def risk_and_slope(alpha):
        return jax.value_and_grad(lambda a: end_of(ridge.at(a, ridge.lambda_)).risk)(alpha)

    risk, slope = risk_and_slope(2.0 + h * jnp.asarray([-1.0, 0.0, 1.0]))
    assert float(slope[1]) == pytest.approx(float(risk[2] - risk[0]) / (2 * h), rel=1e-7)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(alpha=st.floats(0.1, 40), ridge=st.floats(-4, 2), noise=st.sampled_from([0.0, 0.3]))
def test_nobody_beats_bayes(alpha, ridge, noise):
    learner = task("sign", "logistic", alpha, 10.0**ridge, noise)
    found = solved(learner)
    assert float(found.left) < 1e-9
    one = jnp.ones(())
    best = bayes_optimal(alpha * one, one, noise * one)
    assert float(learner.risk(best.q, best.q)) <= float(found.risk) + 1e-12
    assert float(found.train_loss) >= 0
    assert 0.5 < float(found.train_accuracy) <= 1 + 1e-12


def test_bayes_for_many_samples():
    one = jnp.ones(())
    found = bayes_optimal(1e4 * one, one, 0 * one)
    assert 1e4 * np.arccos(np.sqrt(float(found.q))) / np.pi == pytest.approx(0.4417, abs=1e-4)


@pytest.mark.slow
def test_features_that_are_drawn_tend_to_the_law_of_marchenko_and_pastur():
    rng, D, d = np.random.default_rng(0), 200, 300
    made = features(activation("relu"))
    drawn = made.drawn(rng.standard_normal((d, D)), np.ones(D))
    limit = made.limit(jnp.asarray(d / D))
    for ridge in (0.02, 0.5):
        risks = [float(solved(task("linear", "square", 1.5, ridge, 0.1, cov)).risk) for cov in (drawn, limit)]
        assert risks[0] == pytest.approx(risks[1], rel=0.05)
    assert float(limit.explained) < float(limit.rho)


def test_complexities():
    """Where counting overtakes the replica-symmetric value, the large-sample constant, and the linear class by drawing."""
    apart = lambda a: (rademacher.sign_replica_symmetric(np.array([a])) - rademacher.sign_counting(np.array([a])))[0]  # noqa: E731
    assert brentq(apart, 50.0, 200.0) == pytest.approx(106.97, abs=0.01)
    assert pytest.approx(2.1813732832661716, rel=1e-14) == rademacher.LARGE_SAMPLES
    rng, n, d = np.random.default_rng(1), 12, 5
    x, signs = rng.standard_normal((4000, n, d)), rng.choice([-1.0, 1.0], (4000, n, 1))
    drawn = np.linalg.norm((signs * x).sum(axis=1), axis=1) / n  # sup over |w|² <= d of w.x/sqrt(d)
    z = (drawn.mean() - rademacher.linear_class_finite(n, d)) / (drawn.std(ddof=1) / np.sqrt(len(drawn)))
    assert abs(z) < 4


def test_matrices_are_their_spectrum():
    """A rotation of features changes nothing, and half of the teacher's variance is unexplained."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    omega, b = np.arange(1.0, 7.0), np.ones(6)
    theta = np.ones(6)
    Omega, Phi = Q @ np.diag(omega) @ Q.T, np.diag(b) @ Q.T * 0.5
    found = from_matrices(np.eye(6), Phi, Omega, theta)
    np.testing.assert_allclose(found.omega, omega, rtol=1e-12)
    np.testing.assert_allclose(found.phi2, 0.25 / 6, rtol=1e-10)
    assert float(found.rho) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Omega": np.diag([1.0, -0.5])}, "eigenvalues from -0.5 to 1, so that it is not positive semi-definite"),
        ({"Omega": np.array([[1.0, 0.4], [0.0, 1.0]])}, "Omega is not symmetric"),
        ({"Phi": 3 * np.eye(2)}, "would explain a variance of 9 of a teacher that has 1"),
        ({"theta": np.ones(3)}, "give p x p, p x d, d x d and p numbers"),
        ({"Phi": np.full((2, 2), np.nan)}, "not finite"),
    ],
)
def test_covariances_that_are_none(change, message):
    matrices = {"Psi": np.eye(2), "Phi": 0.5 * np.eye(2), "Omega": np.eye(2), "theta": np.ones(2)} | change
    with pytest.raises(ProblemError, match=message):
        from_matrices(**matrices)


def test_a_teacher_in_directions_without_features_is_no_covariance():
    with pytest.raises(ProblemError, match="joint covariance is not positive semi-definite"):
        from_spectrum(np.array([1.0, 0.0]), np.array([0.1, 0.5]), 1.0)
