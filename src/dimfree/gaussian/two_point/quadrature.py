"""Two-point expectations by quadrature: a product rule for smooth pairs, pieces between the kinks otherwise."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, General
from dimfree.gaussian.adaptive import MOST, Numbers, Sums, along_each, block_nodes, blocks_for, total
from dimfree.gaussian.one_point import split_rule
from dimfree.gaussian.resolution import resolution

_Triple = tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]
_TURNED = 4.0  # beyond this argument a function such as tanh is straight to within a thousandth
NODES = 48  # Gauss-Legendre nodes between two kinks
BATCH = 16  # pairs that are evaluated together, which bounds the memory at any width


def smooth(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array, finer: float = 1.0) -> _Triple:
    """kappa, A, B of two smooth functions by the product trapezoidal rule (docs/theory/committee.md, section 3.2)."""

    def terms(u: Array, weight_u: Array, w: Array, weight_w: Array) -> Sums:
        g_w, slope_g = g(w) @ weight_w, g.derivative(w) @ weight_w
        return (
            (sigma(u) * g_w) @ weight_u,
            (sigma.second_derivative(u) * g_w) @ weight_u,
            (sigma.derivative(u) * slope_g) @ weight_u,
        )

    fineness = finer * resolution(sigma, 2), finer * resolution(g, 2)
    kappa, A, B = over_plane(terms, fineness, q_u, c, q_w, most=round(finer * MOST))
    return kappa, A, B


def over_plane(
    terms: Callable[..., Sums], fineness: tuple[float, float], *numbers: Float[Array, "..."], most: int = MOST
) -> Sums:
    """Averages over (u, w) of variances and covariance (q_u, c, q_w), the first three of the numbers, pair by pair.

    `terms(u, weight_u, w, weight_w, *rest)` are the weighted sums over one block of nodes, u[pair, x] and w[pair, x, y].
    """
    flat = tuple(jnp.ravel(x) for x in numbers)
    many = flat[0].shape[0]
    average = partial(_plane_average, terms, fineness, most)
    if many <= BATCH:
        sums = average(*flat)
    else:
        padded = tuple(jnp.pad(x, (0, -many % BATCH), mode="edge").reshape(-1, BATCH) for x in flat)
        sums = jax.lax.map(lambda pairs: average(*pairs), padded)
    return tuple(x.reshape(-1)[:many].reshape(numbers[0].shape) for x in sums)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _plane_average(
    terms: Callable[..., Sums], fineness: tuple[float, float], most: int, *numbers: Float[Array, " n"]
) -> Sums:
    """The average over a batch of pairs, with steps fine enough for the largest variances among them."""
    scale, slope, rest = conditional(*numbers[:3])
    density = jnp.stack([jnp.maximum(fineness[0] * scale, fineness[1] * jnp.abs(slope)), fineness[1] * rest])
    blocks = blocks_for(density, most=most)

    def part(i: Array) -> Sums:
        number = jnp.stack([jax.lax.div(i, blocks[1]), jax.lax.rem(i, blocks[1])])
        (x, y), (weight_x, weight_y) = block_nodes(number, blocks)
        u, mean = scale[:, None] * x, slope[:, None] * x
        return terms(u, weight_x, mean[..., None] + rest[:, None, None] * y, weight_y, *numbers[3:])

    return total(blocks[0] * blocks[1], part)


@_plane_average.defjvp
def _plane_average_jvp(
    terms: Callable[..., Sums], fineness: tuple[float, float], most: int, primals: Numbers, tangents: Numbers
) -> tuple[Sums, Sums]:
    return along_each(partial(_plane_average.fun, terms, fineness, most), primals, tangents)


def split(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array) -> _Triple:
    """kappa, A, B when a function has kinks: pieces between the kinks of u, and between those of w given u.

    A comes from Stein's lemma, A = (E[u sigma'(u) g(w)] - c B)/q_u, which needs no second derivative at the kinks.
    """

    def pair(q_u: Array, c: Array, q_w: Array) -> _Triple:
        scale, slope, rest = conditional(q_u, c, q_w)
        safe_slope = jnp.where(jnp.abs(slope) > 1e-3, slope, 1e-3)
        layer = 8 * rest / safe_slope  # within this distance of a kink of g its average over y is not yet straight
        outer = [b / scale for b in (*near(sigma), *turns(sigma))]
        outer += [b / safe_slope + side * layer for b in near(g) for side in (-1, 0, 1)]
        outer += [b / safe_slope for b in turns(g)]
        x, weight_x = split_rule(jnp.stack(outer), NODES)
        safe_rest = jnp.where(rest > 1e-9, rest, 1.0)
        inner = [jnp.where(rest > 1e-9, (b - slope * x) / safe_rest, 0.0) for b in (*near(g), *turns(g))]
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


def turns(f: Activation) -> tuple[float, ...]:
    """Where a smooth function turns most: without cuts there, few nodes would lie there at large variances."""
    return (-_TURNED, 0.0, _TURNED) if isinstance(f, General | Erf) else ()


def near(f: Activation) -> tuple[float, ...]:
    """Kinks that carry weight; a function with many far kinks is not worth splitting there."""
    return tuple(sorted(sorted(f.kinks, key=abs)[:8]))
