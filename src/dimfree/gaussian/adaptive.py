"""Gaussian averages over nodes whose number follows the state: one compiled program for every scale.

The nodes are summed block by block, in loops whose number of turns is not known when they are compiled. Through such loops jax
can differentiate in forward mode only. `along_each` and `along_all` compute derivatives in forward mode and return them as a
product, through which reverse mode works as well.
"""

from collections.abc import Callable
from functools import partial
from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

RADIUS = 8.6  # exp(-8.6²/2) is below the rounding error
FAR = 10.0  # radius on a single axis, where Hermite polynomials of high order fall off only like exp(-x²/4)
BLOCK = 48  # nodes of one axis that are evaluated together; the coarsest rule has one such block
MOST = 16  # blocks of one axis: enough for tanh up to a variance of 150; what is missing beyond is estimated


def blocks_for(
    density: Float[Array, "*axes n"], radius: float = RADIUS, size: int = BLOCK, most: int = MOST
) -> Int[Array, "*axes"]:
    """How many blocks of nodes an axis gets, if the functions on it need these numbers of nodes per standard deviation."""
    wanted = jax.lax.stop_gradient(jnp.ceil(2 * radius / size * jnp.max(density, axis=-1)))
    least = -(-BLOCK // size)
    return jnp.where(wanted > least, jnp.minimum(wanted, most), least).astype(int)  # the smallest number, for nan


def block_nodes(
    number: Int[Array, "*axes"], blocks: Int[Array, "*axes"], radius: float = RADIUS, size: int = BLOCK
) -> tuple[Float[Array, "*axes b"], Float[Array, "*axes b"]]:
    """The nodes of block `number` of as many that fill [-radius, radius], and their Gaussian weights."""
    step = 2 * radius / size / blocks[..., None]
    x = step * (size * number[..., None] + np.arange(0.5, size)) - radius
    return x, step / sqrt(2 * pi) * jnp.exp(-0.5 * x**2)


Sums = tuple[Float[Array, "..."], ...]
Numbers = tuple[Float[Array, "..."], ...]


def total(turns: Int[Array, ""], part: Callable[[Int[Array, ""]], Sums]) -> Sums:
    """part(0) + part(1) + .. of as many parts as there are turns."""
    empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(part, jnp.zeros((), int)))
    sums: Sums = jax.lax.fori_loop(0, turns, lambda i, sums: jax.tree.map(jnp.add, sums, part(i)), empty)
    return sums


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def line_average(terms: Callable[..., Sums], fineness: float, *numbers: Float[Array, "..."]) -> Sums:
    """Sums over nodes x, for every entry of `numbers` by itself; the first of the numbers multiplies x.

    `terms(x, w, *numbers)` are the weighted sums over one block of nodes.
    """
    blocks = blocks_for(fineness * jnp.ravel(numbers[0]), FAR)
    return total(blocks, lambda i: terms(*block_nodes(i, blocks, FAR), *numbers))


@line_average.defjvp
def _line_average_jvp(
    terms: Callable[..., Sums], fineness: float, primals: Numbers, tangents: Numbers
) -> tuple[Sums, Sums]:
    return along_each(partial(line_average.fun, terms, fineness), primals, tangents)


def along_each(f: Callable[..., Sums], primals: Numbers, tangents: Numbers) -> tuple[Sums, Sums]:
    """Value and change of a function whose results depend on one entry of each argument: one derivative per argument suffices."""
    every = range(len(primals))
    directions = tuple(jnp.stack([jnp.full_like(x, float(i == j)) for j in every]) for i, x in enumerate(primals))
    values, slopes = jax.vmap(lambda *d: jax.jvp(f, primals, d), out_axes=(None, 0))(*directions)

    def change(slope: Float[Array, "n ..."]) -> Float[Array, "..."]:
        more = slope.ndim - 1 - tangents[0].ndim
        return sum(
            (slope[i] * tangents[i].reshape(tangents[i].shape + (1,) * more) for i in every), jnp.zeros(slope.shape[1:])
        )

    return values, jax.tree.map(change, slopes)


def along_all(f: Callable[..., Sums], primals: Numbers, tangents: Numbers) -> tuple[Sums, Sums]:
    """Value and change of a function of a few numbers, all of which matter to every result."""
    flat, back = ravel_pytree(primals)
    directions = jnp.eye(flat.size)
    values, slopes = jax.vmap(lambda d: jax.jvp(lambda x: f(*back(x)), (flat,), (d,)), out_axes=(None, 0))(directions)
    moved = ravel_pytree(tangents)[0]
    return values, jax.tree.map(lambda slope: jnp.tensordot(moved, slope, 1), slopes)
