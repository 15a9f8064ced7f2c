"""Two-point expectations of a Gaussian pair (u, w): kappa = E[sigma(u) g(w)], A = E[sigma'' g], B = E[sigma' g'].

The ladder: closed forms, then series that end because one function is a polynomial, then quadrature. By Price's theorem
B = d kappa/dc and A = 2 d kappa/dq_u (docs/theory/committee.md, section 3.1), so derivatives of kinked functions are
meant in the sense of distributions.
"""

from math import factorial, pi
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.arcsine import arcsine
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.linear import hinges, piecewise_linear
from dimfree.gaussian.two_point.quadrature import smooth, split

_FINER = 4 / 3  # how much finer the rule is by which another one is judged


class TwoPoint(NamedTuple):
    """kappa, A and B on the shape of the arguments."""

    kappa: Float[Array, "..."]
    A: Float[Array, "..."]
    B: Float[Array, "..."]


def two_point(
    sigma: Activation, g: Activation, q_u: Float[Array, "..."], c: Float[Array, "..."], q_w: Float[Array, "..."]
) -> TwoPoint:
    """The three expectations for variances q_u, q_w and covariance c, broadcast against each other."""
    q_u, c, q_w = jnp.broadcast_arrays(q_u, c, q_w)
    match sigma, g:
        case Erf(), Erf():
            return _erf(q_u, c, q_w)
        case (Polynomial(), _) | (_, Polynomial()):
            return _series(sigma, g, q_u, c, q_w)
        case PiecewiseLinear(), PiecewiseLinear():
            return TwoPoint(*piecewise_linear(hinges(sigma), hinges(g), q_u, c, q_w))
        case _ if sigma.kinks or g.kinks:
            return TwoPoint(*split(sigma, g, q_u, c, q_w))
        case _:
            return TwoPoint(*smooth(sigma, g, q_u, c, q_w))


def two_point_error(
    sigma: Activation, g: Activation, q_u: Float[Array, "..."], c: Float[Array, "..."], q_w: Float[Array, "..."]
) -> Float[Array, ""]:
    """The largest error of kernels of smooth functions on nodes, relative to the largest kernel of its kind.

    Errors fall exponentially with the step, so a rule with a finer one is as good as exact.
    """
    q_u, c, q_w = jnp.broadcast_arrays(q_u, c, q_w)
    rule, better = (jnp.stack(smooth(sigma, g, q_u, c, q_w, finer)) for finer in (1.0, _FINER))
    axes = tuple(range(1, rule.ndim))
    return jnp.max(jnp.max(jnp.abs(rule - better), axis=axes) / jnp.max(jnp.abs(better), axis=axes))


def _erf(q_u: Array, c: Array, q_w: Array) -> TwoPoint:
    norm = (1 + q_u) * (1 + q_w)
    B = 2 / pi / jnp.sqrt(norm - c**2)
    return TwoPoint(2 / pi * arcsine(c / jnp.sqrt(norm)), -c / (1 + q_u) * B, B)


def _series(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array) -> TwoPoint:
    """kappa = sum_j h_j(q_u) h_j(q_w) c^j / j!, finite because one function is a polynomial."""
    degree = min(f.degree for f in (sigma, g) if isinstance(f, Polynomial))
    h_sigma = hermite_moments(sigma, q_u, degree + 3)
    h_g = hermite_moments(g, q_w, degree + 2)

    def total(shift_sigma: int, shift_g: int) -> Array:
        terms = [h_sigma[..., j + shift_sigma] * h_g[..., j + shift_g] * c**j / factorial(j) for j in range(degree + 1)]
        return sum(terms, jnp.zeros_like(c))

    return TwoPoint(total(0, 0), total(2, 0), total(1, 1))


def two_point_seconds(sigma: Activation) -> float:
    """Roughly what one pair costs, for predictions of cost."""
    match sigma:
        case Erf() | Polynomial():
            return 5e-8
        case PiecewiseLinear():
            return 1e-6 * len(sigma.kinks) ** 2
        case _:
            return 1e-4
