"""Standard Gaussian averages along one coordinate, on panels that are cut where the integrand is not smooth.

Every point of a batch has cuts of its own. Their number is a shape, their places are numbers: a cut that is not there lies
at an end of the line, where its panel has no width.
"""

from collections.abc import Callable
from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dimfree.gaussian.nodes import gauss_legendre

REACH = 7.0
_GRID = np.linspace(-REACH, REACH, 66)[1:-1] + 1.234e-4  # off zero, where activations like to bend
_HALVINGS, _NEWTON = 8, 4


def panels(
    cuts: Float[Array, "b m"], count: int, reach: float = REACH
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """Nodes and Gaussian weights on [-reach, reach], `count` for each of m + 1 panels."""
    inner = jnp.sort(jnp.clip(jnp.nan_to_num(cuts, nan=reach), -reach, reach), axis=-1)
    edge = jnp.full((cuts.shape[0], 1), reach)
    edges = jnp.concatenate([-edge, inner, edge], axis=-1)
    t, w = gauss_legendre(count)
    widths = jnp.diff(edges, axis=-1)[..., None]
    x = edges[:, :-1, None] + widths * t
    weights = widths * w * jnp.exp(-0.5 * x**2) / sqrt(2 * pi)
    return x.reshape(x.shape[0], -1), weights.reshape(x.shape[0], -1)


def crossings(
    function: Callable[[Float[Array, "b g"]], Float[Array, "b g"]], batch: int, most: int
) -> Float[Array, "b most"]:
    """The first places of each point's line at which a function changes its sign; not a number where there are fewer.

    A grid finds cells in which it does, halving and Newton's rule the place in the cell.
    """
    grid = jnp.broadcast_to(jnp.asarray(_GRID), (batch, len(_GRID)))
    below = function(grid) < 0
    changes = below[:, 1:] != below[:, :-1]
    cells = jnp.arange(len(_GRID) - 1)
    first = jnp.sort(jnp.where(changes, cells, len(cells)), axis=-1)[:, :most]
    there = first < len(cells)
    cell = jnp.minimum(first, len(cells) - 1)
    left, right = jnp.asarray(_GRID)[cell], jnp.asarray(_GRID)[cell + 1]
    falls: Bool[Array, "b most"] = ~jnp.take_along_axis(below, cell, axis=1)
    return jnp.where(there, between(function, left, right, falls), jnp.nan)


def between(
    function: Callable[[Float[Array, "b m"]], Float[Array, "b m"]],
    left: Float[Array, "b m"],
    right: Float[Array, "b m"],
    falls: Bool[Array, "b m"] | bool = False,
) -> Float[Array, "b m"]:
    """Where a function that rises, or falls, is zero; an end where it is not: halving, then Newton's rule."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        on_left = (function(middle) < 0) != falls
        left, right = jnp.where(on_left, middle, left), jnp.where(on_left, right, middle)
    x = 0.5 * (left + right)
    for _ in range(_NEWTON):
        value, slope = jax.jvp(function, (x,), (jnp.ones_like(x),))
        x = jnp.clip(x - jnp.where(slope == 0, 0.0, value / jnp.where(slope == 0, 1.0, slope)), left, right)
    return x
