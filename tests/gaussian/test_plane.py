"""Two units that learn the sign of one direction: averages along rays against SciPy's adaptive quadrature."""

from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from dimfree.functions.activation import Erf
from dimfree.functions.label_law import Signs
from dimfree.functions.named import activation
from dimfree.functions.sample_loss import HingeLoss, LogisticLoss
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.averages import averages
from dimfree.gaussian.any_loss.ladder import estimated_error, quadrature
from dimfree.gaussian.any_loss.plane import is_plane
from dimfree.gaussian.any_loss.task import Task
from dimfree.states.overlaps import Overlaps

AVERAGES, ESTIMATE = eqx.filter_jit(averages), eqx.filter_jit(estimated_error)
FLIP, MARGIN, LAST = 0.1, 0.5, np.array([1.2, -0.9])
LOSSES = {"logistic": LogisticLoss(), "hinge": HingeLoss(jnp.asarray(MARGIN))}
KINDS = [("erf", "logistic"), ("relu", "logistic"), ("relu", "hinge")]
APART = {"far": 1.0, "near": 1e-2, "nearly one": 1e-4}  # of both units and the teacher


def overlaps(width):
    W = np.random.default_rng(3).normal(size=(3, 8))
    W[1:] = W[0] * [[0.8], [1.1]] + width * W[1:]
    return W @ W.T / 8


def task_of(name, loss, Omega):
    target = Committee(activation("linear"), jnp.ones(1), jnp.asarray(Omega[2:, 2:]))
    return Task(activation(name), target, LOSSES[loss], Signs(jnp.asarray(FLIP), blurred=False), jnp.asarray(0.0))


def plain(name, loss, Omega):
    """E[c_i lambda_j], E[c_i lambda*], Psi^Var and Psi^a over x with fields L x: Gauss panels along y, adaptive ones over x."""
    L = np.linalg.cholesky(Omega)
    s, ends, (t, w) = L[2, 2], 8.0, np.polynomial.legendre.leggauss(24)

    def integrand(x, y):
        x = np.stack([np.full_like(y, x), y])
        fields, mu = L[:2, :2] @ x, L[2, :2] @ x
        if name == "erf":
            value, slope = special.erf(fields / np.sqrt(2)), np.sqrt(2 / np.pi) * np.exp(-(fields**2) / 2)
        else:
            value, slope = np.maximum(fields, 0), (fields > 0) * 1.0
        f, right = LAST @ value / 2, special.ndtr(mu / s)
        mean = mu * right + s * np.exp(-((mu / s) ** 2) / 2) / np.sqrt(2 * np.pi)
        plus, last = FLIP + (1 - 2 * FLIP) * right, FLIP * mu + (1 - 2 * FLIP) * mean
        up, down = (special.expit(-f), -special.expit(f)) if loss == "logistic" else (f < MARGIN, -1.0 * (f > -MARGIN))
        e1, e2, e_last = (
            plus * up + (1 - plus) * down,
            plus * up**2 + (1 - plus) * down**2,
            last * up + (mu - last) * down,
        )
        c = LAST[:, None] * slope
        found = [c[:, None] * fields * e1, c * e_last, c[:, None] * c * e2, value * e1]
        return np.concatenate([one.reshape(-1, y.size) for one in found]) * np.exp(-np.sum(x**2, axis=0) / 2)

    def line(x):
        """Over y, cut where anything bends, turns or jumps along it."""
        centres = [-L[i, 0] * x / L[i, 1] for i in (1, 2)]
        widths = [1 / L[1, 1] if name == "erf" else 0.0, 2 * s / abs(L[2, 1])]
        cuts = [-ends, -3.0, 0.0, 3.0, ends]
        cuts += [c + k * w for c, w in zip(centres, widths, strict=True) for k in (-4, -2, -1, 0, 1, 2, 4)]
        if loss == "hinge":  # where a_1 (lambda_1)_+ + a_2 lambda_2 is 2 margin or -2 margin, lambda_2 > 0
            first = LAST[0] * max(L[0, 0] * x, 0)
            cuts += [((sign * 2 * MARGIN - first) / LAST[1] - L[1, 0] * x) / L[1, 1] for sign in (1, -1)]
        cuts = np.sort(np.clip(cuts, -ends, ends))
        half = np.diff(cuts)[:, None] / 2
        y, weights = (cuts[:-1, None] + half * (1 + t)).ravel(), (half * w).ravel()
        return integrand(x, y) @ weights / (2 * np.pi)

    steep = [abs(L[i, 1] / L[i, 0]) for i in (1, 2)] + [s]
    outer = [-ends, 0.0, ends, *(sign * k * w for w in steep for k in (0.5, 2, 6) for sign in (1, -1))]
    outer += [sign * 10.0**-k for k in range(1, 6) for sign in (1, -1)]  # adaptive panels overlook what is that narrow
    if loss == "hinge":
        outer += [sign * 2 * MARGIN / abs(a) for a in (LAST[0] * L[0, 0], LAST @ L[:2, 0]) for sign in (1, -1)]
    pairs = pairwise(np.unique(np.clip(outer, -ends, ends)))
    return sum(integrate.quad_vec(line, a, b, epsabs=1e-8, epsrel=0, limit=200)[0] for a, b in pairs)


def flat(found):
    D = np.asarray(found.D)
    return np.concatenate([D[:, :2].ravel(), D[:, 2], np.asarray(found.Var).ravel(), np.asarray(found.Psia)])


CASES = [(*kind, width) for kind in KINDS for width in APART]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "loss", "width"), CASES)
def test_nearly_parallel_units_average_as_adaptive_quadrature_and_the_estimated_error_says_how_well(name, loss, width):
    Omega = overlaps(APART[width])
    task, state = task_of(name, loss, Omega), Overlaps(*map(jnp.asarray, (Omega[:2, :2], Omega[:2, 2:], LAST)))
    rule = quadrature(task, 2).rule
    assert is_plane(task, 2, rule)
    off = np.max(np.abs(flat(AVERAGES(task, state, rule)) - plain(name, loss, Omega)))
    assert off < 5e-5
    assert off < 3 * float(ESTIMATE(task, state)) + 1e-6


def test_units_without_a_direction_have_averages_with_finite_derivatives():
    """Units that are zero, equal, or know nothing of the teacher: angles of nothing are looked for."""
    task = task_of("erf", "logistic", np.eye(3))
    total = lambda Q, M: jnp.sum(averages(task, Overlaps(Q, M, jnp.asarray(LAST)), quadrature(task, 2).rule).D)  # noqa: E731
    slope = jax.jit(jax.grad(total, argnums=(0, 1)))
    for Q, M in ((jnp.eye(2), 0.0), (jnp.ones((2, 2)), 0.3), (jnp.zeros((2, 2)), 0.0)):
        assert all(np.all(np.isfinite(one)) for one in slope(Q, jnp.full((2, 1), M)))


def test_the_value_and_slope_of_erf_are_those_of_scipy_and_of_each_other():
    x = jnp.asarray(np.concatenate([np.linspace(-40, 40, 4001), [0.0, 1e-9, -1e-9]]))
    value, slope = Erf().with_derivative(x)
    np.testing.assert_allclose(value, special.erf(np.asarray(x) / np.sqrt(2)), rtol=0, atol=2e-15)
    np.testing.assert_allclose(slope, Erf().derivative(x), rtol=1e-12, atol=1e-300)
    tangent = jax.vmap(jax.grad(lambda at: Erf().with_derivative(at)[0]))(x)
    np.testing.assert_allclose(tangent, slope, rtol=0, atol=1e-12)
