"""Random inputs, drawn fast."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Key


def normals(key: Key[Array, ""], shape: tuple[int, ...]) -> Float32[Array, "..."]:
    """Standard normals in float32: the draw is what bounds SGD on vectors.

    The counter layout that cannot be split over devices makes two numbers per hash instead of one, and vectorises: it is
    about four times faster on a CPU. Every draw here is of one block on one device, so nothing is lost.
    """
    with jax.threefry_partitionable(False):
        return jax.random.normal(key, shape, jnp.float32)


def lower_bartlett(
    key: Key[Array, ""], size: int, replicas: int, freedom: Float[Array, ""]
) -> Float[Array, "size size r"]:
    """T with T Tᵀ ~ Wishart(freedom), one for each replica; freedom >= size (docs/theory/committee.md, section 1.2)."""
    below_key, diagonal_key = jax.random.split(key)
    below = normals(below_key, (size, size, replicas)).astype(float)
    degrees = (freedom - jnp.arange(1.0 * size))[:, None]
    chi = jnp.sqrt(jax.random.chisquare(diagonal_key, degrees, (size, replicas)))
    row, column = jnp.arange(size)[:, None], jnp.arange(size)
    lower = jnp.where((row > column)[..., None], below, 0.0)
    return lower + jnp.where((row == column)[..., None], chi[:, None, :], 0.0)
