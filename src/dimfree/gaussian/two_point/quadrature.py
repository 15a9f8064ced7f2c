"""Two-point expectations by quadrature: a product rule for smooth pairs, pieces between the kinks otherwise."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, General
from dimfree.gaussian.nodes import trapezoid
from dimfree.gaussian.one_point import split_rule

_Triple = tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]
RADIUS = 8.6  # exp(-8.6²/2) is below the rounding error
_ERF_STEP = 1 / 3  # erf is entire: a coarse trapezoid is exact to rounding
NODES = 48  # Gauss-Legendre nodes between two kinks
BATCH = 64  # pairs evaluated together; bounds the memory at any width


def smooth(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array) -> _Triple:
    """kappa, A, B of two smooth functions by the product trapezoidal rule (docs/theory/committee.md, section 3.2)."""
    points, point_weights = trapezoid(min(quadrature_step(sigma), quadrature_step(g)), 2, RADIUS)
    x, y, weights = jnp.asarray(points[:, 0]), jnp.asarray(points[:, 1]), jnp.asarray(point_weights)

    def pair(q_u: Array, c: Array, q_w: Array) -> _Triple:
        scale, slope, rest = conditional(q_u, c, q_w)
        u, w = scale * x, slope * x + rest * y
        g_w = weights * g(w)
        return (
            jnp.vdot(g_w, sigma(u)),
            jnp.vdot(g_w, sigma.second_derivative(u)),
            jnp.vdot(weights * g.derivative(w), sigma.derivative(u)),
        )

    return _over_pairs(pair, q_u, c, q_w)


def split(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array) -> _Triple:
    """kappa, A, B when a function has kinks: pieces between the kinks of u, and between those of w given u.

    A comes from Stein's lemma, A = (E[u sigma'(u) g(w)] - c B)/q_u, which needs no second derivative at the kinks.
    """

    def pair(q_u: Array, c: Array, q_w: Array) -> _Triple:
        scale, slope, rest = conditional(q_u, c, q_w)
        safe_slope = jnp.where(jnp.abs(slope) > 1e-3, slope, 1e-3)
        layer = 8 * rest / safe_slope  # within this distance of a kink of g its average over y is not yet straight
        outer = [b / scale for b in near(sigma)]
        outer += [b / safe_slope + side * layer for b in near(g) for side in (-1, 0, 1)]
        x, weight_x = split_rule(jnp.stack(outer), NODES)
        safe_rest = jnp.where(rest > 1e-9, rest, 1.0)
        inner = [jnp.where(rest > 1e-9, (b - slope * x) / safe_rest, 0.0) for b in near(g)]
        y, weight_y = split_rule(jnp.stack(inner or [jnp.zeros_like(x)], axis=-1), NODES)
        u, w = scale * x, slope * x[:, None] + rest * y
        g_w = weight_x * jnp.sum(weight_y * g(w), axis=-1)
        slope_g = weight_x * jnp.sum(weight_y * g.derivative(w), axis=-1)
        s_u = sigma.derivative(u)
        B = jnp.vdot(slope_g, s_u)
        return jnp.vdot(g_w, sigma(u)), (jnp.vdot(g_w, u * s_u) - c * B) / q_u, B

    return _over_pairs(pair, q_u, c, q_w)


def _over_pairs(pair: Callable[[Array, Array, Array], _Triple], q_u: Array, c: Array, q_w: Array) -> _Triple:
    flat = tuple(jnp.ravel(x) for x in (q_u, c, q_w))
    results = jax.lax.map(lambda args: pair(*args), flat, batch_size=min(BATCH, flat[0].shape[0]))
    kappa, A, B = (jnp.reshape(result, jnp.shape(c)) for result in results)
    return kappa, A, B


def conditional(q_u: Array, c: Array, q_w: Array) -> _Triple:
    """u = scale x, w = slope x + rest y; the square root has gradient 0 where w is a function of u."""
    scale = jnp.sqrt(q_u)
    slope = c / scale
    variance = q_w - slope**2
    free = variance > 1e-14 * q_w
    return scale, slope, jnp.where(free, jnp.sqrt(jnp.where(free, variance, 1.0)), 0.0)


def near(f: Activation) -> tuple[float, ...]:
    """Kinks that carry weight; a function with many far kinks is not worth splitting there."""
    return tuple(sorted(sorted(f.kinks, key=abs)[:8]))


def quadrature_step(f: Activation) -> float:
    """The step of the trapezoidal rule that a smooth function needs."""
    return f.step if isinstance(f, General) else _ERF_STEP if isinstance(f, Erf) else 1 / 8
