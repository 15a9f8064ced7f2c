from itertools import pairwise
from math import inf, sqrt

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.activation import General
from dimfree.functions.ramps import DIP_RAMP, RAMP, RAMPS, TRUNCATED_RELU
from dimfree.gaussian.directions import chi_gauss, chi_rule, interaction, mean, potential, radial_table

DIMENSIONS = [2.0, 3.0, 40.0, 320.0, inf]
OTHERS = [("relu", 40.0), ("relu", inf), ("erf", 40.0), ("erf", inf), ("softplus", 3.0)]
CASES = [
    *(pytest.param(DIP_RAMP, d, id=f"dip-ramp-{d:g}") for d in DIMENSIONS),
    *(pytest.param(df.extend.activation(name), d, id=f"{name}-{d:g}") for name, d in OTHERS),
]


def test_ramps_pass_through_the_points_of_the_papers():
    x = jnp.asarray([-3.0, 0.0, 0.25, 0.5, 1.0, 1.5, 9.0])
    np.testing.assert_allclose(RAMP(x), [-2.5, -2.5, -2.5, -2.5, 2.5, 7.5, 7.5], atol=1e-13)
    np.testing.assert_allclose(DIP_RAMP(x), [-2.5, -2.5, -3.25, -4, 1.75, 7.5, 7.5], atol=1e-13)
    np.testing.assert_allclose(TRUNCATED_RELU(x), [0, 0, 0.25, 0.5, 1, 1, 1], atol=1e-13)
    assert list(RAMPS) == ["ramp", "dip-ramp", "truncated-relu"]


def adaptive(sigma, tau, b, d):
    """The mean by SciPy, in the angle of the direction (or in g at d = inf)."""
    if d == inf:
        places = sorted({*np.clip([(kink - b) / tau for kink in sigma.kinks], -9, 9), -b / tau, 0.0})
        weight = lambda g: np.exp(-(g**2) / 2) / sqrt(2 * np.pi)  # noqa: E731
        f, span = lambda g: weight(g) * float(sigma(jnp.asarray(tau * g + b))), 9.0
    else:
        inside = [(kink - b) / tau / sqrt(d) for kink in sigma.kinks]
        places = sorted({*np.arcsin(np.clip(inside, -1, 1)), 0.0})
        constant = gamma(d / 2) / gamma((d - 1) / 2) / sqrt(np.pi)
        f = lambda t: constant * np.cos(t) ** (d - 2) * float(sigma(jnp.asarray(tau * sqrt(d) * np.sin(t) + b)))  # noqa: E731
        span = np.pi / 2
    edges = [-span, *(x for x in places if -span < x < span), span]
    return sum(quad(f, low, high, epsabs=1e-12, limit=200)[0] for low, high in pairwise(edges))


@pytest.mark.parametrize("d", [3.0, 40.0, inf])
@pytest.mark.parametrize("sigma", [DIP_RAMP, df.extend.activation("tanh")], ids=lambda sigma: sigma.name)
def test_mean_is_the_integral(sigma, d):
    found = mean(sigma, jnp.asarray(1.3), jnp.asarray(0.4), d).value
    np.testing.assert_allclose(found, adaptive(sigma, 1.3, 0.4, d), rtol=1e-9)


@pytest.mark.parametrize(("sigma", "d"), CASES)
def test_derivatives_are_those_of_the_value(sigma, d):
    rng = np.random.default_rng(0)
    tau, b, h = jnp.asarray(rng.uniform(0.3, 3, 40)), jnp.asarray(rng.normal(size=40)), 1e-5
    at = mean(sigma, tau, b, d)
    for name, one, other in (("by_scale", (tau + h, b), (tau - h, b)), ("by_shift", (tau, b + h), (tau, b - h))):
        slope = (mean(sigma, *one, d).value - mean(sigma, *other, d).value) / (2 * h)
        # a kink that leaves the sphere makes the derivative itself jump (d = 2) or bend (d = 3)
        error = np.sort(np.abs(slope - getattr(at, name)))
        assert error[-4] < 2e-8
        assert error[-1] < (0.5 if d < 4 else 1e-6)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_panels_agree_with_closed_forms(d):
    rng = np.random.default_rng(1)
    tau, b = jnp.asarray(rng.uniform(0, 6, 40)), jnp.asarray(rng.normal(size=40))

    general = General(function=DIP_RAMP, kinks=DIP_RAMP.kinks, step=0.1)
    for one, other in zip(mean(DIP_RAMP, tau, b, d), mean(general, tau, b, d), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_no_scale_is_the_activation_itself():
    b = jnp.asarray([-1.0, 0.0, 0.3, 0.5, 2.0])
    for sigma in (DIP_RAMP, df.extend.activation("tanh")):
        for d in (5.0, inf):
            np.testing.assert_allclose(mean(sigma, jnp.zeros(()), b, d).value, sigma(b), atol=1e-12)


@pytest.mark.parametrize(("sigma", "d"), CASES)
def test_tables_are_the_mean(sigma, d):
    tau = jnp.asarray(np.random.default_rng(2).uniform(0, 30, 40))
    value, slope = radial_table(sigma, d)(tau)
    at = mean(sigma, tau, jnp.zeros(()), d)
    np.testing.assert_allclose(value, at.value, atol=1e-9)
    np.testing.assert_allclose(slope, at.by_scale, atol=1e-8 if d > 3 else 1e-4)


@pytest.mark.parametrize("d", [2.0, 5.0, 40.0, 1e4])
def test_norms_have_their_moments(d):
    for x, w in (chi_rule(d, jnp.asarray([0.3, 1.0])), chi_gauss(d, 12)):
        np.testing.assert_allclose([np.sum(w), np.sum(w * x**2), np.sum(w * x**4)], [1, 1, 1 + 2 / d], rtol=1e-11)


@pytest.mark.slow
def test_kernels_are_averages_over_data():
    """V and U against inputs of the two classes and random directions, by their standard errors."""
    rng, d, Delta, r, r_ = np.random.default_rng(3), 8, 0.4, 0.9, 1.6
    samples = 400_000
    y = rng.choice([-1.0, 1.0], samples)
    x = rng.normal(size=(samples, d)) * (1 + y * Delta)[:, None]
    n = rng.normal(size=(2, samples, d))
    n = n / np.linalg.norm(n, axis=-1, keepdims=True)
    one, other = (np.asarray(DIP_RAMP(jnp.asarray(np.sum(n[i] * x, axis=1) * s))) for i, s in enumerate((r, r_)))
    for sample, exact in (
        (-y * one, potential(DIP_RAMP, Delta, jnp.asarray(r))),
        (one * other, interaction(DIP_RAMP, Delta, jnp.asarray(r), jnp.asarray(r_), float(d))),
    ):
        z = (sample.mean() - float(exact)) / (sample.std() / sqrt(samples))
        assert abs(z) < 4


@pytest.mark.slow
def test_interaction_tends_to_its_limit_like_one_over_d():
    r, limit = jnp.asarray([0.7, 1.3]), interaction(RAMP, 0.8, jnp.asarray([0.7, 1.3]), jnp.asarray(1.3))
    gaps = [np.max(np.abs(interaction(RAMP, 0.8, r, jnp.asarray(1.3), d) - limit)) for d in (40.0, 320.0)]
    np.testing.assert_allclose(np.log(gaps[0] / gaps[1]) / np.log(8), 1.016, atol=0.04)


def test_bad_input_is_told():
    one = jnp.ones(())
    with pytest.raises(ProblemError, match=r"Delta is 1; .* need 0 <= Delta < 1"):
        potential(RAMP, 1.0, one)
    with pytest.raises(ProblemError, match=r"Delta is 1\.5"):
        interaction(RAMP, 1.5, one, one)
    with pytest.raises(ProblemError, match="dimension is 1;"):
        radial_table(RAMP, 1.0)
