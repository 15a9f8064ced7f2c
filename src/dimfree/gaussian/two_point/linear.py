"""Closed two-point expectations of piecewise-linear functions (docs/theory/committee.md, section 3.2, ReLU row and beyond).

For hinges (u-a)_+ and (w-b)_+ only B = P(u > a, w > b) is not elementary; A and kappa follow from it by Stein's lemma.
"""

from math import pi, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dimfree.functions.activation import PiecewiseLinear
from dimfree.gaussian.arcsine import arcsine
from dimfree.gaussian.nodes import gauss_legendre

_NOTHING = 4e-15  # a smaller share of a variance is rounding
Number = float | Float[Array, "..."]


class Hinges(NamedTuple):
    """constant + slope x + sum_j bends[j] (x - kinks[j])_+, with numbers of any shape that fits the arguments."""

    constant: Number
    slope: float
    kinks: tuple[Number, ...]
    bends: tuple[float, ...]


def hinges(sigma: PiecewiseLinear, shift: Float[Array, "..."] | None = None) -> Hinges:
    """sigma(x), or sigma(x + shift)."""
    if shift is None:
        return Hinges(sigma.constant, sigma.slope, sigma.kinks, sigma.bends)
    return Hinges(
        sigma.constant + sigma.slope * shift, sigma.slope, tuple(kink - shift for kink in sigma.kinks), sigma.bends
    )


def piecewise_linear(
    sigma: Hinges,
    g: Hinges,
    q_u: Float[Array, "..."],
    c: Float[Array, "..."],
    q_w: Float[Array, "..."],
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """kappa, A, B. Straight parts that are zero are left out, because that halves the program of a ReLU."""
    kappa = sigma.constant * g.constant + sigma.slope * g.slope * c
    A, B = jnp.zeros_like(c), jnp.full_like(c, sigma.slope * g.slope)
    for a, s in () if _is_bent_only(g) else zip(sigma.kinks, sigma.bends, strict=True):
        mean, above, density = _hinge(a, q_u)
        # the hinge against the straight line constant + slope w
        kappa += s * (g.constant * mean + g.slope * c * above)
        A += s * density * (g.constant + g.slope * c / q_u * a)
        B += s * g.slope * above
    for b, s in () if _is_bent_only(sigma) else zip(g.kinks, g.bends, strict=True):
        mean, above, _ = _hinge(b, q_w)
        kappa += s * (sigma.constant * mean + sigma.slope * c * above)
        B += s * sigma.slope * above
    for a, s in zip(sigma.kinks, sigma.bends, strict=True):
        for b, r in zip(g.kinks, g.bends, strict=True):
            pair = _two_hinges(a, b, q_u, c, q_w)
            kappa, A, B = kappa + s * r * pair[0], A + s * r * pair[1], B + s * r * pair[2]
    return kappa, A, B


def _is_bent_only(f: Hinges) -> bool:
    return _is_zero(f.constant) and f.slope == 0.0


def _is_zero(x: Number) -> bool:
    """Whether a number is known to be zero before anything is compiled."""
    return isinstance(x, float) and x == 0.0


def _hinge(a: Number, q: Array) -> tuple[Array, Array, Array]:
    """E[(u-a)_+], P(u > a) and the density of u at a."""
    scale = jnp.sqrt(q)
    above = ndtr(-a / scale)
    density = jnp.exp(-0.5 * a**2 / q) / (sqrt(2 * pi) * scale)
    return q * density - a * above, above, density


def _two_hinges(a: Number, b: Number, q_u: Array, c: Array, q_w: Array) -> tuple[Array, Array, Array]:
    both = both_above(a, b, q_u, c, q_w)
    if _is_zero(a) and _is_zero(b):
        A = _root(q_w - c**2 / q_u, q_w) / (2 * pi * jnp.sqrt(q_u))
        return q_u * A + c * both, A, both
    density_a, density_b = _hinge(a, q_u)[2], _hinge(b, q_w)[2]
    hinge_given_a, w_above_given_a = _conditional_hinge(b, c / q_u * a, q_w - c**2 / q_u, q_w)
    _, u_above_given_b = _conditional_hinge(a, c / q_w * b, q_u - c**2 / q_w, q_u)
    A = density_a * hinge_given_a
    w_on_both = c * density_a * w_above_given_a + q_w * density_b * u_above_given_b
    kappa = q_u * A + c * both - a * (w_on_both - b * both)
    return kappa, A, both


def _conditional_hinge(b: Number, mean: Array, variance: Array, whole: Array) -> tuple[Array, Array]:
    """E[(w-b)_+] and P(w > b) for w ~ N(mean, variance), what is left of a `whole` variance after conditioning.

    Nothing left but rounding counts as zero, with half the mass above an equal mean.
    """
    positive = variance > _NOTHING * whole
    scale = jnp.sqrt(jnp.where(positive, variance, 1.0))
    z = (mean - b) / scale
    spread = scale * jnp.exp(-0.5 * z**2) / sqrt(2 * pi) + (mean - b) * ndtr(z)
    step = jnp.heaviside(mean - b, 0.5)
    return jnp.where(positive, spread, jnp.maximum(mean - b, 0.0)), jnp.where(positive, ndtr(z), step)


def _root(variance: Array, whole: Array) -> Array:
    """sqrt(variance), and zero if only rounding is left of `whole`."""
    positive = variance > _NOTHING * whole
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, variance, 1.0)), 0.0)


def both_above(a: Number, b: Number, q_u: Array, c: Array, q_w: Array) -> Array:
    """P(u > a, w > b), by integrating over the correlation angle.

    With phi the angle that is missing to a full correlation, levels that differ by x make a layer of width x at phi = 0: nodes
    are equidistant enough in v of phi = x sinh v to see it, however nearly u and w are the same (1e-12).
    """
    rho = c / jnp.sqrt(q_u * q_w)
    aligned = 1 - jnp.abs(rho) < 1e-15  # u and w are the same: the angle is fixed, and so its gradient vanishes
    angle = jnp.where(aligned, jnp.copysign(pi / 2, rho), arcsine(jnp.where(aligned, 0.0, rho)))
    if _is_zero(a) and _is_zero(b):
        return 0.25 + angle / (2 * pi)
    sign = jnp.where(rho < 0, -1.0, 1.0)
    h, k = a / jnp.sqrt(q_u), sign * b / jnp.sqrt(q_w)
    layer = jax.lax.stop_gradient(jnp.maximum(jnp.abs(h - k), 1e-12))
    first, last = _arcsinh((pi / 2 - jnp.abs(angle)) / layer), _arcsinh(pi / 2 / layer)
    t, weights = gauss_legendre(64)
    grown = jnp.exp(first[..., None] + (last - first)[..., None] * t)  # e^v
    sinh, cosh = (grown - 1 / grown) / 2, (grown + 1 / grown) / 2
    half = jnp.sin(layer[..., None] * sinh / 2) ** 2  # sin²(phi/2): all else follows from it
    exponent = ((h - k)[..., None] ** 2 / (4 * half) + (h * k)[..., None]) / (1 - half)
    integral = sign * layer * (last - first) * jnp.sum(weights * cosh * jnp.exp(-0.5 * exponent), axis=-1) / (2 * pi)
    return ndtr(-h) * ndtr(-sign * k) + integral


def _arcsinh(x: Array) -> Array:
    """arcsinh of x >= 0, exact to rounding; the function of jax compiles slowly."""
    return jnp.log1p(x + x**2 / (1 + jnp.sqrt(1 + x**2)))
