"""Averages over random directions: neurons of a rotation-invariant network (docs/theory/mean-field.md, equation (b.4)).

Letters: g is sqrt(d) times the first coordinate of a uniform direction in d dimensions, a standard Gaussian at d = inf, and
x = |X|/sqrt(d) the scaled norm of a Gaussian vector, one at d = inf. So h_d(k) of the sheet is `mean` at scale k/sqrt(d), and
d = inf needs no formula of its own.
"""

from functools import lru_cache
from math import inf, isinf, pi, sqrt
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc, ndtr
from jaxtyping import Array, Float
from scipy.special import gammaln, poch

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation, Erf, PiecewiseLinear
from dimfree.gaussian.nodes import Vector, gauss_legendre

_REACH = 10.0  # standard deviations beyond which a Gaussian has no weight left
_TINY = 1e-300
_HALVINGS = 9  # how often panels are halved towards the point where a steep activation turns
_PANEL = 16  # nodes in a panel
_FINE = 512  # nodes of the fine rule that Gauss rules are computed from
_SCALE = 2.0  # half of the knots of a table lie below this scale


class Mean(NamedTuple):
    """E sigma(tau g + b) and its derivatives in tau and b."""

    value: Float[Array, "..."]
    by_scale: Float[Array, "..."]
    by_shift: Float[Array, "..."]


def check_dimension(dimension: float) -> None:
    """Refuse fewer than two dimensions, in which no direction is random."""
    if not dimension >= 2:
        raise ProblemError(f"the dimension is {dimension:g}; averages over directions need at least 2, or inf.")


def check_contrast(Delta: float) -> None:
    """Refuse a contrast for which one of the standard deviations 1 +- Delta is not positive."""
    if not 0 <= Delta < 1:
        raise ProblemError(f"Delta is {Delta:g}; the standard deviations 1 + Delta and 1 - Delta need 0 <= Delta < 1.")


def mean(sigma: Activation, tau: Float[Array, "..."], b: Float[Array, "..."], d: float = inf) -> Mean:
    """E sigma(tau g + b) for tau >= 0: closed for piecewise-linear functions, else by panels split at the kinks."""
    tau, b = jnp.broadcast_arrays(tau, b)
    match sigma:
        case PiecewiseLinear():
            return _piecewise_linear(sigma, tau, b, d)
        case Erf() if isinf(d):
            scale = 1 + tau**2
            slope = sqrt(2 / pi) * jnp.exp(-(b**2) / (2 * scale)) / jnp.sqrt(scale)
            return Mean(jax.scipy.special.erf(b / jnp.sqrt(2 * scale)), -slope * b * tau / scale, slope)
        case _:
            return _by_panels(sigma, tau, b, d)


def potential(sigma: Activation, Delta: float, r: Float[Array, "..."]) -> Float[Array, "..."]:
    """V(r) of the two centred Gaussians, the same for every d."""
    check_contrast(Delta)
    q_plus, q_minus = (mean(sigma, (1 + s * Delta) * r, jnp.zeros(())).value for s in (1, -1))
    return -0.5 * (q_plus - q_minus)


def interaction(
    sigma: Activation, Delta: float, r: Float[Array, "..."], r_: Float[Array, "..."], d: float = inf
) -> Float[Array, "..."]:
    """U_d(r, r') of the two centred Gaussians."""
    check_contrast(Delta)
    r, r_ = jnp.broadcast_arrays(r, r_)
    total = jnp.zeros_like(r)
    for stretch in (1 + Delta, 1 - Delta):
        # where a kink leaves the sphere the average over directions is not smooth
        edges = [abs(kink) / sqrt(d) / jnp.maximum(stretch * one, _TINY) for kink in sigma.kinks for one in (r, r_)]
        x, w = chi_rule(d, jnp.stack(edges, axis=-1) if edges else jnp.zeros((*r.shape, 0)))
        one, other = (mean(sigma, stretch * x * radius[..., None], jnp.zeros(()), d).value for radius in (r, r_))
        total = total + 0.5 * jnp.sum(w * one * other, axis=-1)
    return total


def chi_rule(
    d: float, breaks: Float[Array, "... b"], count: int = 64
) -> tuple[Float[Array, "... n"], Float[Array, "... n"]]:
    """Nodes and weights for x = |X|/sqrt(d), X a Gaussian vector in d dimensions; `count` nodes between two breaks."""
    check_dimension(d)
    if isinf(d):
        return jnp.ones((*breaks.shape[:-1], 1)), jnp.ones((*breaks.shape[:-1], 1))
    low, high = max(0.0, 1 - _REACH / sqrt(2 * d)), 1 + _REACH / sqrt(2 * d)
    x, w = _panels(jnp.sort(jnp.clip(breaks, low, high), axis=-1), low, high, count)
    log_density = (d - 1) * jnp.log(x) - 0.5 * d * x**2
    constant = (d / 2) * np.log(d / 2) - gammaln(d / 2) + np.log(2)
    return x, w * jnp.exp(log_density + constant)


@lru_cache(maxsize=64)
def chi_gauss(d: float, count: int) -> tuple[Vector, Vector]:
    """The Gauss rule of the same law, for smooth functions: few nodes. One node at d = inf."""
    if isinf(d):
        return np.ones(1), np.ones(1)
    with jax.ensure_compile_time_eval():  # computed as a constant, even if the caller is being traced
        nodes, weights = norm_rule(jnp.asarray(d), count)
        return np.asarray(nodes), np.asarray(weights)


def norm_rule(d: Float[Array, ""], count: int) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The same rule at a traced dimension, from the recurrence of the orthogonal polynomials of the law."""
    t, w = gauss_legendre(_FINE)
    root = jnp.sqrt(d)
    low, high = jnp.maximum(-root, -_REACH / sqrt(2)), _REACH / sqrt(2)
    u = low + (high - low) * t  # (norm - 1) sqrt(d): of order one in any dimension, so that no digits are lost
    weights = w * jnp.exp((d - 1) * jnp.log1p(u / root) - root * u - 0.5 * u**2)

    def another(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        before, now, off = carry
        middle = jnp.sum(weights * u * now**2)
        after = (u - middle) * now - off * before
        size = jnp.sqrt(jnp.sum(weights * after**2))
        return (now, after / size, size), (middle, size)

    start = (jnp.zeros_like(u), jnp.ones_like(u) / jnp.sqrt(jnp.sum(weights)), jnp.zeros(()))
    _, (diagonal, off) = jax.lax.scan(another, start, length=count)
    nodes, vectors = jnp.linalg.eigh(jnp.diag(diagonal) + jnp.diag(off[:-1], 1) + jnp.diag(off[:-1], -1))
    return 1 + nodes / root, vectors[0] ** 2


class RadialTable(eqx.Module):
    """tau -> E sigma(tau g) as a piecewise cubic, for loops in which the exact mean costs too much.

    The knots are equidistant in v = tau/(c + tau), and what is tabulated is (1 - v) E sigma: smooth up to tau = inf also where
    the mean grows linearly.
    """

    values: Float[Array, " n"]
    slopes: Float[Array, " n"]

    def __call__(self, tau: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The value and its derivative in tau."""
        n = self.values.shape[0]
        v = tau / (_SCALE + tau)
        cell = jnp.clip((v * n).astype(int), 0, n - 2)
        t = v * n - cell
        left, right = self.values[cell], self.values[cell + 1]
        rise, first, last = right - left, self.slopes[cell] / n, self.slopes[cell + 1] / n
        bend, twist = 3 * rise - 2 * first - last, first + last - 2 * rise
        scaled = left + t * (first + t * (bend + t * twist))
        scaled_slope = n * (first + t * (2 * bend + 3 * t * twist))
        value = scaled * (1 + tau / _SCALE)
        return value, (scaled_slope / (1 + tau / _SCALE) + scaled) / _SCALE


@lru_cache(maxsize=16)
def radial_table(sigma: Activation, d: float = inf, knots: int = 16384) -> RadialTable:
    """The table of an activation in d dimensions; its error is below 1e-9, or 1e-6 at d < 10, where the mean has kinks."""
    check_dimension(d)
    with jax.ensure_compile_time_eval():  # computed as a constant, even if the caller is being traced
        v = jnp.arange(1.0 * knots) / knots
        found = mean(sigma, _SCALE * v / (1 - v), jnp.zeros(()), d)
        return RadialTable((1 - v) * found.value, found.by_scale * _SCALE / (1 - v) - found.value)


def _piecewise_linear(sigma: PiecewiseLinear, tau: Array, b: Array, d: float) -> Mean:
    value, by_scale, by_shift = sigma.constant + sigma.slope * b, jnp.zeros_like(b), jnp.full_like(b, sigma.slope)
    for kink, bend in zip(sigma.kinks, sigma.bends, strict=True):
        x = (kink - b) / jnp.maximum(tau, _TINY)
        lever, above = _above(x, d)
        value += bend * (tau * lever - (kink - b) * above)
        by_scale += bend * lever
        by_shift += bend * above
    return Mean(value, by_scale, by_shift)


def _above(x: Array, d: float) -> tuple[Array, Array]:
    """E[g; g > x] and P(g > x)."""
    if isinf(d):
        return jnp.exp(-0.5 * x**2) / sqrt(2 * pi), ndtr(-x)
    xi = jnp.clip(x / sqrt(d), -1, 1)
    lever = sqrt(d / pi) * poch((d - 1) / 2, 0.5) * (1 - xi**2) ** ((d - 1) / 2) / (d - 1)
    return lever, 0.5 - 0.5 * jnp.sign(xi) * betainc(0.5, (d - 1) / 2, xi**2)


@eqx.filter_jit
def _by_panels(sigma: Activation, tau: Array, b: Array, d: float) -> Mean:
    g, w = _direction_rule(sigma, tau, b, d)
    at = tau[..., None] * g + b[..., None]
    slope = w * sigma.derivative(at)
    return Mean(jnp.sum(w * sigma(at), axis=-1), jnp.sum(g * slope, axis=-1), jnp.sum(slope, axis=-1))


def _direction_rule(sigma: Activation, tau: Array, b: Array, d: float) -> tuple[Array, Array]:
    """Nodes and weights for g, in the angle whose sine is g/sqrt(d): panels shrink towards preactivation zero."""
    span = _REACH if isinf(d) else min(pi / 2, _REACH / sqrt(max(d - 2, 1.0)))
    size = 2 * span * 0.5 ** np.arange(_HALVINGS)
    around = np.concatenate([-size, [0.0], size[::-1]])
    wanted = [-b / jnp.maximum(tau, _TINY), *((kink - b) / jnp.maximum(tau, _TINY) for kink in sigma.kinks)]
    centre, *kinks = (x if isinf(d) else jnp.arcsin(jnp.clip(x / sqrt(d), -1, 1)) for x in wanted)
    inside = jnp.clip(centre[..., None], -span, span) + around
    coarse = jnp.broadcast_to(span * np.array([-0.5, -0.25, 0.0, 0.25, 0.5]), (*b.shape, 5))
    breaks = jnp.concatenate([inside, coarse, *(kink[..., None] for kink in kinks)], axis=-1)
    angle, w = _panels(jnp.sort(jnp.clip(breaks, -span, span), axis=-1), -span, span, _PANEL)
    if isinf(d):
        return angle, w * jnp.exp(-0.5 * angle**2) / sqrt(2 * pi)
    return sqrt(d) * jnp.sin(angle), w * poch((d - 1) / 2, 0.5) / sqrt(pi) * jnp.cos(angle) ** (d - 2)


def _panels(breaks: Array, low: float, high: float, count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes between low, the sorted breaks and high."""
    end = jnp.ones((*breaks.shape[:-1], 1))
    edges = jnp.concatenate([low * end, breaks, high * end], axis=-1)
    t, w = gauss_legendre(count)
    widths = jnp.diff(edges, axis=-1)[..., None]
    x, weights = edges[..., :-1, None] + widths * t, widths * w
    return x.reshape(*x.shape[:-2], -1), weights.reshape(*x.shape[:-2], -1)
