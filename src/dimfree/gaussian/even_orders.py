"""Hermite coefficients of neurons at even orders: h_n(tau, b) = E sigma(tau g + b) he_n(g) at n = 0, 2, .., with derivatives.

he_n is orthonormal. With d_m = E sigma'(tau g + b) he_m(g) it is h_n = tau d_{n-1}/sqrt(n), and all derivatives are made of the
same d_m (docs/theory/mean-field.md, equation (b.14)). Odd orders vanish in averages over random directions.
"""

from math import pi, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, General, PiecewiseLinear, Polynomial
from dimfree.gaussian.adaptive import Sums, line_average
from dimfree.gaussian.directions import mean
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.one_point import split_rule
from dimfree.gaussian.resolution import resolution
from dimfree.gaussian.series import normalised_hermite, powers

_NODES = 96  # nodes between two breaks
_FAR = 40.0  # where a Gaussian density is zero in floating point
_TINY = 1e-300


class EvenOrders(NamedTuple):
    """h_n and its derivatives, order first."""

    value: Float[Array, "m ..."]
    by_shift: Float[Array, "m ..."]
    by_scale: Float[Array, "m ..."]
    over_scale: Float[Array, "m ..."]  # h_n/tau; left at zero for n = 0, where nothing depends on the angle


def even_orders(sigma: Activation, tau: Float[Array, "..."], b: Float[Array, "..."], count: int) -> EvenOrders:
    """The first `count` even orders; for smooth functions without closed forms on one rule that all neurons share."""
    tau, b = jnp.broadcast_arrays(tau, b)
    smooth = isinstance(sigma, Polynomial) or (isinstance(sigma, General) and not sigma.kinks)
    if not smooth:
        return from_slopes(mean(sigma, tau, b).value, slopes(sigma, tau, b, 2 * count), tau)

    def terms(x: Array, w: Array, tau: Array, b: Array) -> Sums:
        at = tau[..., None] * x + b[..., None]
        return sigma(at) @ w, sigma.derivative(at) @ (w * normalised_hermite(x, 2 * count)).T

    if isinstance(sigma, Polynomial):
        points, weights = gauss_hermite((sigma.degree + 2 * count) // 2 + 1, 1)
        value, d = terms(jnp.asarray(points[:, 0]), jnp.asarray(weights), tau, b)
    else:
        value, d = line_average(terms, resolution(sigma, 2), tau, b)
    return from_slopes(value, jnp.moveaxis(d, -1, 0), tau)


def from_slopes(value: Float[Array, "..."], d: Float[Array, "count ..."], tau: Float[Array, "..."]) -> EvenOrders:
    """The coefficients of all orders, from h_0 and the d_m."""
    m = np.arange(len(d) // 2).reshape(-1, *[1] * tau.ndim)
    below = jnp.concatenate([jnp.zeros((1, *tau.shape)), d[1:-1:2]])
    over_scale = below / np.sqrt(np.maximum(2 * m, 1))
    by_scale = np.sqrt(2 * m + 1) * d[1::2] + np.sqrt(2 * m) * below
    return EvenOrders((tau * over_scale).at[0].set(value), d[::2], by_scale, over_scale)


def cosine_moments(size: Float[Array, ""], count: int) -> Float[Array, " count"]:
    """m_j = E alpha^2j = prod_{i<j} (2i + 1)/(D + 2i) of the cosine of a random angle in D dimensions, a traced number or inf.

    Two neurons whose directions are random in D dimensions have the kernel sum_m m_m h_2m h_2m'.
    """
    i = jnp.arange(count - 1.0)
    return jnp.concatenate([jnp.ones(1), jnp.cumprod((2 * i + 1) / (size + 2 * i))])


def slopes(
    sigma: Activation, tau: Float[Array, "..."], b: Float[Array, "..."], count: int
) -> Float[Array, "count ..."]:
    """d_0 .. d_{count-1}: closed for piecewise-linear functions and erf, else by quadrature split at the kinks."""
    match sigma:
        case PiecewiseLinear():
            return _piecewise_linear_slopes(sigma, tau, b, count)
        case Erf():
            # sigma' is twice a Gaussian density, and its average twice that of variance 1 + tau²
            scale = jnp.sqrt(1 + tau**2)
            x = b / scale
            density = sqrt(2 / pi) * jnp.exp(-0.5 * x**2) / scale
            return powers(-tau / scale, count - 1) * normalised_hermite(x, count) * density
        case _:
            return _slopes_by_quadrature(sigma, tau, b, count)


def _piecewise_linear_slopes(sigma: PiecewiseLinear, tau: Array, b: Array, count: int) -> Float[Array, "count ..."]:
    """From E[he_m(g); g > z] = he_{m-1}(z) phi(z)/sqrt(m)."""
    z = (jnp.asarray(sigma.kinks) - b[..., None]) / jnp.maximum(tau, _TINY)[..., None]
    z = jnp.clip(z, -_FAR, _FAR)
    density = jnp.asarray(sigma.bends) * jnp.exp(-0.5 * z**2) / sqrt(2 * pi)
    root = np.sqrt(np.arange(1.0, count)).reshape(-1, *[1] * tau.ndim)
    bent = jnp.sum(normalised_hermite(z, count - 1) * density, axis=-1) / root
    return jnp.concatenate([mean(sigma, tau, b).by_shift[None], bent])


def _slopes_by_quadrature(sigma: Activation, tau: Array, b: Array, count: int) -> Float[Array, "count ..."]:
    turns = jnp.asarray([0.0, *sigma.kinks])  # smooth activations turn where their argument is zero
    x, w = split_rule((turns - b[..., None]) / jnp.maximum(tau, _TINY)[..., None], _NODES)
    slope = w * sigma.derivative(tau[..., None] * x + b[..., None])

    def term(before: tuple[Array, Array], m: Array) -> tuple[tuple[Array, Array], Array]:
        older, he = before
        return (he, (x * he - jnp.sqrt(m) * older) / jnp.sqrt(m + 1)), jnp.sum(slope * he, axis=-1)

    return jax.lax.scan(term, (jnp.zeros_like(x), jnp.ones_like(x)), jnp.arange(1.0 * count))[1]
