from math import inf

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_gegenbauer

import dimfree as df
from dimfree.errors import ProblemError
from dimfree.functions.ramps import DIP_RAMP, RAMP
from dimfree.gaussian.directions import chi_gauss, mean
from dimfree.onepass.fields.anisotropic import Neurons, anisotropic
from dimfree.onepass.fields.field import solve
from dimfree.onepass.fields.radial import quantile_radii, two_gaussians
from stages import gating

RELU = df.extend.activation("relu")


def some_neurons(n=7, seed=0):
    rng = np.random.default_rng(seed)
    return Neurons(*(jnp.asarray(x) for x in (*rng.normal(size=(2, n)), *rng.uniform(0.2, 1.5, (2, n)))))


@pytest.mark.parametrize("sizes", [(inf, inf), (6.0, 14.0), (2.0, 3.0)], ids=str)
@pytest.mark.parametrize("name", ["relu", "dip-ramp", "tanh"])
def test_velocity_is_the_gradient_of_the_risk(name, sizes):
    sigma = DIP_RAMP if name == "dip-ramp" else df.extend.activation(name)
    field, neurons, h = anisotropic(sigma, 0.4, sizes, train_a=True, train_b=True), some_neurons(), 1e-4
    terms = eqx.filter_jit(field.terms)
    velocity = terms(neurons)[0]
    for letter in ("a", "b", "r1", "r2"):

        def moved(s, letter=letter):
            shifted = getattr(neurons, letter).at[2].add(s * h)
            return terms(Neurons(**{**vars(neurons), letter: shifted}))[1]

        slope = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h)
        np.testing.assert_allclose(-slope * 7 / 2, getattr(velocity, letter)[2], rtol=1e-7, atol=1e-9)


def by_product_quadrature(field, neurons, count, turns):
    """The other form of the sheet: f = mean of a E sigma(r1 X1 xi + r2 X2 xi' + b) on nodes of X1, X2 and xi'."""
    (x1, w1), (x2, w2) = (chi_gauss(size, count) for size in field.sizes)
    xi, w = roots_gegenbauer(turns, field.sizes[1] / 2 - 1)
    g, w, total = np.sqrt(field.sizes[1]) * xi[:, None], w / w.sum(), 0.0
    x1, x2 = (x.ravel() for x in np.meshgrid(x1, x2, indexing="ij"))
    velocity = np.zeros((4, neurons.a.size))
    for y in (1, -1):
        stretch = 1 + y * float(field.Delta)
        at = mean(
            field.sigma,
            stretch * x1[:, None, None] * neurons.r1,
            neurons.b + x2[:, None, None] * g * neurons.r2,
            field.sizes[0],
        )
        value, shift, along, rest = (
            np.einsum("xgn,g->xn", x, w)
            for x in (
                at.value,
                at.by_shift,
                at.by_scale * stretch * x1[:, None, None],
                at.by_shift * x2[:, None, None] * g,
            )
        )
        error = y - value @ np.asarray(neurons.a) / neurons.a.size
        force = 0.5 * np.outer(w1, w2).ravel() * error
        total += force @ error
        velocity += [force @ value, *(np.asarray(neurons.a) * (force @ slope) for slope in (shift, along, rest))]
    return velocity, total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sizes", "counts", "error"),
    [
        pytest.param("relu", (30.0, 130.0), (12, 160), 1e-9, marks=pytest.mark.slow),
        ("dip-ramp", (20.0, 20.0), (16, 120), 1e-9),
        pytest.param("dip-ramp", (30.0, 130.0), (16, 160), 1e-9, marks=pytest.mark.slow),
        pytest.param("erf", (20.0, 20.0), (12, 60), 1e-9, marks=pytest.mark.slow),
        pytest.param("dip-ramp", (6.0, 14.0), (32, 300), 1e-6, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_series_is_the_product_quadrature(name, sizes, counts, error):
    sigma = DIP_RAMP if name == "dip-ramp" else df.extend.activation(name)
    field, neurons = anisotropic(sigma, 0.4, sizes, train_a=True, train_b=True), some_neurons(3, 1)
    velocity, risk = eqx.filter_jit(field.terms)(neurons)
    expected, expected_risk = by_product_quadrature(field, neurons, *counts)
    np.testing.assert_allclose(risk, expected_risk, atol=error)
    np.testing.assert_allclose((velocity.a, velocity.b, velocity.r1, velocity.r2), expected, atol=error)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2, 5), (4, 3)], ids=str)
def test_finite_risk_is_that_of_data(sizes):
    """Inputs and weights in d dimensions: (y - f)(y - f') with directions of their own has the risk as its mean."""
    rng, Delta, neurons, samples, copies = np.random.default_rng(2), 0.4, some_neurons(3, 3), 20_000, 40
    y = rng.choice([-1.0, 1.0], samples)
    parts = [rng.normal(size=(samples, size)) for size in sizes]
    parts[0] *= (1 + y * Delta)[:, None]
    fs = []
    for _ in range(2):
        at = np.zeros((copies, 3, samples)) + np.asarray(neurons.b)[:, None]
        for x, r in zip(parts, (neurons.r1, neurons.r2), strict=True):
            n = rng.normal(size=(copies, 3, samples, x.shape[1]))
            n /= np.linalg.norm(n, axis=-1, keepdims=True)
            at += np.asarray(r)[:, None] * np.einsum("cnsd,sd->cns", n, x)
        value = np.interp(at, [0, 0.5, 1.5], [-2.5, -4, 7.5])
        fs.append(np.mean(np.asarray(neurons.a)[:, None] * value.mean(axis=0), axis=0))
    sample = (y - fs[0]) * (y - fs[1])
    exact = [
        float(anisotropic(DIP_RAMP, Delta, one).terms(neurons)[1]) for one in (tuple(map(float, sizes)), (inf, inf))
    ]
    z = (sample.mean() - np.asarray(exact)) / (sample.std() / np.sqrt(samples))
    assert abs(z[0]) < 4
    assert abs(z[1]) > 10, "finite d must matter"


@pytest.mark.slow
def test_risk_at_infinity_is_that_of_data():
    rng, Delta, neurons = np.random.default_rng(1), 0.4, some_neurons(3)
    field = anisotropic(RELU, Delta)
    total = 0.0
    for y in (1, -1):
        g = rng.normal(size=(2, 3, 400_000))
        tau1, tau2 = (1 + y * Delta) * neurons.r1[:, None] * g[0], neurons.r2[:, None] * g[1]
        sample = np.asarray(neurons.a[:, None] * RELU(tau1 + tau2 + neurons.b[:, None]))
        # the law of large numbers over directions: f is the average of independent means
        total += 0.5 * (y - sample.mean(axis=1).mean()) ** 2
    np.testing.assert_allclose(field.terms(neurons)[1], total, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "error"), gating([(inf, 1e-8), (320.0, 1e-9), (40.0, 1e-8), (10.0, 1e-5)], [(inf, 1e-8)])
)
def test_without_a_rest_it_is_the_isotropic_problem(d, error):
    r = jnp.asarray([0.3, 0.8, 1.7])
    neurons = Neurons(jnp.ones(3), jnp.zeros(3), r, jnp.zeros(3))
    velocity, risk = anisotropic(RAMP, 0.8, (d, 0.0)).terms(neurons)
    expected, expected_risk = two_gaussians(RAMP, 0.8, d).terms(r)
    np.testing.assert_allclose(velocity.r1, expected, atol=error)
    np.testing.assert_allclose(risk, expected_risk, atol=error)
    for still in (velocity.a, velocity.b, velocity.r2):
        np.testing.assert_array_equal(still, 0.0)


@pytest.mark.slow
def test_tends_to_its_limit_like_one_over_d():
    neurons, share = some_neurons(), 3 / 16
    run = lambda sizes: anisotropic(DIP_RAMP, 0.4, sizes, train_a=True, train_b=True).terms(neurons)  # noqa: E731
    velocity, risk = run((inf, inf))
    gaps = []
    for d in (320.0, 2560.0):
        moved, higher = run((share * d, (1 - share) * d))
        gaps.append(
            [
                higher - risk,
                *(jnp.linalg.norm(getattr(moved, x) - getattr(velocity, x)) for x in ("a", "b", "r1", "r2")),
            ]
        )
    assert gaps[1][0] > 0, "what the norms of an input tell is noise"
    np.testing.assert_allclose(np.log(np.divide(*gaps)) / np.log(8), 1.0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(inf, inf), (60.0, 260.0)], ids=str)
def test_relu_run_forgets_its_offset_and_the_risk_falls(sizes):
    """Directions of the sheet: a, b and r2 fall, r1 grows."""
    r1, r2 = (quantile_radii(0.8 * (size / 320) ** 0.5, 5, size) for size in (60, 260))
    start = Neurons(jnp.ones(25), jnp.ones(25), *(r.ravel() for r in jnp.meshgrid(r1, r2)))
    run = solve(anisotropic(RELU, 0.4, sizes, train_a=True, train_b=True), start, jnp.asarray([3.0, 6.0]), 0.05)
    assert run.falls.all()
    last = run.particles
    assert last.a[-1].mean() < 0.5 > last.b[-1].mean()
    assert last.r1[-1].mean() > start.r1.mean()
    assert last.r2[-1].mean() < start.r2.mean()


def test_bad_input_is_told():
    with pytest.raises(ProblemError, match="Delta is 1;"):
        anisotropic(RELU, 1.0)
    with pytest.raises(ProblemError, match="dimension is 1; averages over directions need at least 2"):
        anisotropic(RELU, 0.4, (39.0, 1.0))
