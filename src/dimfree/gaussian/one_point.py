"""One-point expectations: h_j(q) = E[sigma^(j)(sqrt(q) x)], the Hermite moments of a function at variance q."""

from collections.abc import Callable
from math import factorial, pi, sqrt

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from numpy.polynomial import polynomial as poly

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.adaptive import Sums, line_average
from dimfree.gaussian.nodes import gauss_legendre
from dimfree.gaussian.resolution import resolution

_REACH = 9.0


def hermite_moments(sigma: Activation, q: Float[Array, "..."], count: int) -> Float[Array, "... count"]:
    """h_0 .. h_{count-1}; derivatives of kinked functions are meant in the sense of distributions."""
    match sigma:
        case Erf():
            return _erf(q, count)
        case Polynomial():
            return _polynomial(sigma, q, count)
        case PiecewiseLinear():
            return _piecewise_linear(sigma, q, count)
        case _:
            return _by_quadrature(sigma, q, count)


def hermite_polynomials(x: Array, count: int) -> list[Array]:
    """He_0(x) .. He_{count-1}(x) by their recursion."""
    values = [jnp.ones_like(x), x]
    for n in range(1, count - 1):
        values.append(x * values[n] - n * values[n - 1])
    return values[:count]


def _erf(q: Array, count: int) -> Array:
    moments, coefficient = [], sqrt(2 / pi)
    for j in range(count):
        if j % 2 == 0:
            moments.append(jnp.zeros_like(q))
        else:
            moments.append(coefficient * (1 + q) ** (-j / 2))
            coefficient *= -j  # h_{j+2} = 2 dh_j/dq
    return jnp.stack(moments, axis=-1)


def _polynomial(sigma: Polynomial, q: Array, count: int) -> Array:
    moments = []
    for j in range(count):
        coefficients = poly.polyder(sigma.coefficients, j) if j else np.asarray(sigma.coefficients)
        even = [(n, c) for n, c in enumerate(coefficients) if n % 2 == 0]
        terms = [c * factorial(n) / (2 ** (n // 2) * factorial(n // 2)) * q ** (n // 2) for n, c in even]
        moments.append(sum(terms, jnp.zeros_like(q)))
    return jnp.stack(moments, axis=-1)


def _piecewise_linear(sigma: PiecewiseLinear, q: Array, count: int) -> Array:
    scale = jnp.sqrt(q)
    moments = [jnp.full_like(q, sigma.constant), jnp.full_like(q, sigma.slope)]
    moments += [jnp.zeros_like(q) for _ in range(2, count)]
    for kink, bend in zip(sigma.kinks, sigma.bends, strict=True):
        b = kink / scale
        density = jnp.exp(-0.5 * b**2) / sqrt(2 * pi) / scale
        above = ndtr(-b)
        moments[0] += bend * (q * density - kink * above)
        moments[1] += bend * above
        for n, he in enumerate(hermite_polynomials(b, max(count - 2, 2))[: max(count - 2, 0)]):
            moments[n + 2] += bend * he * density * scale**-n
    return jnp.stack(moments[:count], axis=-1)


def _by_quadrature(sigma: Activation, q: Array, count: int) -> Array:
    """h_j = q^(-j/2) E[sigma(sqrt(q) x) He_j(x)]."""

    def terms(x: Array, w: Array, scale: Array) -> Sums:
        values = sigma(scale[..., None] * x) * w
        he = hermite_polynomials(x, max(count, 2))[:count]
        return (jnp.stack([jnp.sum(values * one, axis=-1) for one in he], axis=-1),)

    (moments,) = general_average(sigma, terms, q)
    return moments * jnp.sqrt(q)[..., None] ** -np.arange(count)


def general_average(sigma: Activation, terms: Callable[..., Sums], q: Float[Array, "..."]) -> Sums:
    """Averages of what sigma makes of sqrt(q) x: split at its kinks, or on nodes that follow the variance.

    `terms(x, w, sqrt(q))` are weighted sums over nodes, shared by all q or not, with the shape of q first.
    """
    scale = jnp.sqrt(q)
    if sigma.kinks:
        return terms(*split_rule(jnp.asarray(sigma.kinks) / scale[..., None], 80), scale)
    return line_average(terms, resolution(sigma, 2), scale)


def split_rule(breaks: Float[Array, "... b"], count: int) -> tuple[Float[Array, "... n"], Float[Array, "... n"]]:
    """Nodes and Gaussian weights on [-9, 9], split at zero and at the given points; `count` nodes a piece."""
    edge = jnp.full((*breaks.shape[:-1], 1), _REACH)
    inner = jnp.sort(jnp.concatenate([jnp.clip(breaks, -_REACH, _REACH), 0 * edge], axis=-1), axis=-1)
    edges = jnp.concatenate([-edge, inner, edge], axis=-1)
    t, w = gauss_legendre(count)
    widths = jnp.diff(edges, axis=-1)[..., None]
    x = edges[..., :-1, None] + widths * t
    weights = widths * w * jnp.exp(-0.5 * x**2) / sqrt(2 * pi)
    return x.reshape(*x.shape[:-2], -1), weights.reshape(*x.shape[:-2], -1)
