"""E[sigma(u + b) g(w + s)] for a Gaussian pair (u, w): the kernel of neurons with offsets.

The ladder of two_point at shifted arguments. erf and piecewise-linear functions need the probability that both of a Gaussian
pair lie above a level; a polynomial ends the series of Mehler; all else is quadrature, in pieces between the shifted kinks.
"""

from collections.abc import Callable
from math import ceil, factorial, pi, sqrt

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.adaptive import Sums
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.one_point import hermite_polynomials, split_rule
from dimfree.gaussian.resolution import resolution
from dimfree.gaussian.two_point.ladder import TwoPoint, two_point_seconds
from dimfree.gaussian.two_point.linear import both_above, hinges, piecewise_linear
from dimfree.gaussian.two_point.quadrature import BATCH, NODES, conditional, near, over_plane

_ONE_POINT_NODES = 96  # Gauss-Legendre nodes between two kinks of a single neuron


def shifted_kernel(
    sigma: Activation,
    g: Activation,
    q_u: Float[Array, "..."],
    c: Float[Array, "..."],
    q_w: Float[Array, "..."],
    b: Float[Array, "..."],
    s: Float[Array, "..."],
) -> Float[Array, "..."]:
    """The expectation for variances q_u, q_w, covariance c and shifts b, s, broadcast against each other."""
    if isinstance(sigma, Polynomial) or isinstance(g, Polynomial):
        return _series(sigma, g, q_u, c, q_w, b, s)  # neuron by neuron: a table of all pairs would hold their nodes
    q_u, c, q_w, b, s = jnp.broadcast_arrays(q_u, c, q_w, b, s)
    match sigma, g:
        case Erf(), Erf():
            return _erf(q_u, c, q_w, b, s)
        case PiecewiseLinear(), PiecewiseLinear():
            return piecewise_linear(hinges(sigma, b), hinges(g, s), q_u, c, q_w)[0]
        case _ if sigma.kinks or g.kinks:
            return _over_pairs(lambda *pair: _split(sigma, g, *pair), q_u, c, q_w, b, s)
        case _:
            return _smooth(sigma, g, q_u, c, q_w, b, s)


def shifted_two_point(
    sigma: Activation,
    g: Activation,
    q_u: Float[Array, "..."],
    c: Float[Array, "..."],
    q_w: Float[Array, "..."],
    s: Float[Array, "..."],
) -> TwoPoint:
    """kappa, A and B of sigma(u) and g(w + s); by Price's theorem A = 2 d kappa/dq_u and B = d kappa/dc."""
    q_u, c, q_w, s = jnp.broadcast_arrays(q_u, c, q_w, s)

    def kappa(q_u: Array, c: Array) -> Array:
        return shifted_kernel(sigma, g, q_u, c, q_w, jnp.zeros_like(s), s)

    if isinstance(sigma, Erf) and isinstance(g, Erf):
        det = (1 + q_u) * (1 + q_w) - c**2
        B = 2 / pi / jnp.sqrt(det) * jnp.exp(-0.5 * s**2 * (1 + q_u) / det)
        return TwoPoint(kappa(q_u, c), -c / (1 + q_u) * B, B)
    one, none = jnp.ones_like(c), jnp.zeros_like(c)
    value, by_variance = jax.jvp(kappa, (q_u, c), (one, none))
    return TwoPoint(value, 2 * by_variance, jax.jvp(kappa, (q_u, c), (none, one))[1])


def shifted_mean(g: Activation, q: Float[Array, "..."], s: Float[Array, "..."]) -> Float[Array, "..."]:
    """E[g(w + s)]."""
    return 2 * ndtr(s / jnp.sqrt(1 + q)) - 1 if isinstance(g, Erf) else shifted_moments(g, q, s, 1)[..., 0]


def shifted_moments(
    sigma: Activation, q: Float[Array, "..."], b: Float[Array, "..."], count: int
) -> Float[Array, "... count"]:
    """E[sigma(sqrt(q) x + b) He_j(x)] for j below `count`: exact for polynomials, else in pieces between the kinks."""
    if isinstance(sigma, Erf) and count <= 2:
        slope = sqrt(2 / pi) * jnp.sqrt(q / (1 + q)) * jnp.exp(-0.5 * b**2 / (1 + q))
        return jnp.stack([shifted_mean(sigma, q, b), slope], axis=-1)[..., :count]
    scale, shift = jnp.sqrt(q)[..., None], b[..., None]
    if isinstance(sigma, Polynomial):
        points, weights = gauss_hermite(ceil((sigma.degree + count) / 2), 1)
        x, w = jnp.asarray(points[:, 0]), jnp.asarray(weights)
    else:
        turns = jnp.asarray([0.0, *near(sigma)])  # smooth functions turn where their argument is zero
        x, w = split_rule((turns - shift) / scale, _ONE_POINT_NODES)
    values = w * sigma(scale * x + shift)
    return jnp.stack([jnp.sum(values * he, axis=-1) for he in hermite_polynomials(x, max(count, 2))[:count]], axis=-1)


def shifted_seconds(sigma: Activation) -> float:
    """Roughly what one pair costs, for predictions of cost."""
    return max(3e-6, two_point_seconds(sigma))


def _erf(q_u: Array, c: Array, q_w: Array, b: Array, s: Array) -> Array:
    """erf(z/sqrt(2)) = 2 P(x < z) - 1, so that the pair is one of variances 1 + q at levels -b and -s."""
    one, other = ndtr(b / jnp.sqrt(1 + q_u)), ndtr(s / jnp.sqrt(1 + q_w))
    return 4 * both_above(-b, -s, 1 + q_u, c, 1 + q_w) - 2 * one - 2 * other + 1


def _series(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array, b: Array, s: Array) -> Array:
    """sum_j E[sigma He_j] E[g He_j] rho^j/j!, finite because one function is a polynomial."""
    count = 1 + min(f.degree for f in (sigma, g) if isinstance(f, Polynomial))
    both = shifted_moments(sigma, q_u, b, count) * shifted_moments(g, q_w, s, count)
    product = q_u * q_w
    rho = jnp.where(product > 0, c / jnp.sqrt(jnp.where(product > 0, product, 1.0)), 0.0)
    return sum((both[..., j] * rho**j / factorial(j) for j in range(count)), jnp.zeros_like(c))


def _smooth(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array, b: Array, s: Array) -> Array:
    def terms(u: Array, weight_u: Array, w: Array, weight_w: Array, b: Array, s: Array) -> Sums:
        return ((sigma(u + b[:, None]) * (g(w + s[:, None, None]) @ weight_w)) @ weight_u,)

    return over_plane(terms, (resolution(sigma, 2), resolution(g, 2)), q_u, c, q_w, b, s)[0]


def _split(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array, b: Array, s: Array) -> Array:
    """As two_point.quadrature.split: pieces between the kinks of u, and between those of w given u."""
    scale, slope, rest = conditional(q_u, c, q_w)
    safe_slope = jnp.where(jnp.abs(slope) > 1e-3, slope, 1e-3)
    layer = 8 * rest / safe_slope  # within this distance of a kink of g its average over y is not yet straight
    outer = [(kink - b) / scale for kink in near(sigma)]
    outer += [(kink - s) / safe_slope + side * layer for kink in near(g) for side in (-1, 0, 1)]
    x, weight_x = split_rule(jnp.stack(outer), NODES)
    safe_rest = jnp.where(rest > 1e-9, rest, 1.0)
    inner = [jnp.where(rest > 1e-9, (kink - s - slope * x) / safe_rest, 0.0) for kink in near(g)]
    y, weight_y = split_rule(jnp.stack(inner or [jnp.zeros_like(x)], axis=-1), NODES)
    g_w = jnp.sum(weight_y * g(slope * x[:, None] + rest * y + s), axis=-1)
    return jnp.vdot(weight_x * g_w, sigma(scale * x + b))


def _over_pairs(pair: Callable[..., Array], *numbers: Array) -> Array:
    flat = tuple(jnp.ravel(x) for x in numbers)
    found = jax.lax.map(lambda one: pair(*one), flat, batch_size=min(BATCH, flat[0].shape[0]))
    return jnp.reshape(found, jnp.shape(numbers[0]))
