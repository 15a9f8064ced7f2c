"""Random numbers, drawn fast: the inputs of SGD, and random matrices that have the law of the inputs' overlaps."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Key


def normals(key: Key[Array, ""], count: int) -> Float32[Array, " count"]:
    """Standard normals in float32; drawing them is what limits the speed of SGD on vectors.

    The counter layout that cannot be split over devices makes two numbers per hash instead of one, and vectorises: it is
    about four times faster on a CPU. Every draw here is of one block on one device, so nothing is lost. Floats are made
    flat and in bulk, and given their shape inside a loop: fused into work on several axes they would cost five times more.
    """
    with jax.threefry_partitionable(False):
        return jax.random.normal(key, (count,), jnp.float32)


def signs(key: Key[Array, ""], count: int) -> Float32[Array, " count"]:
    """Numbers +1 and -1, equally likely; one hash gives thirty-two of them."""
    with jax.threefry_partitionable(False):
        words = jax.random.bits(key, (-(-count // 32),), jnp.uint32)
    bits = (words[:, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1
    return (1.0 - 2.0 * bits.astype(jnp.float32)).reshape(-1)[:count]


def uniforms(key: Key[Array, ""], count: int) -> Float32[Array, " count"]:
    """Numbers from [0, 1), in the counter layout of `normals`."""
    with jax.threefry_partitionable(False):
        return jax.random.uniform(key, (count,), jnp.float32)


def student(key: Key[Array, ""], degrees: Float[Array, ""], count: int) -> Float[Array, " count"]:
    """Student numbers by Bailey's polar rule, sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v), for any degrees of freedom nu > 0."""
    with jax.threefry_partitionable(False):
        u, v = jax.random.uniform(key, (2, count), jnp.float64, minval=1e-300)
    return jnp.sqrt(degrees * jnp.expm1(-2 / degrees * jnp.log(u))) * jnp.cos(2 * jnp.pi * v)


def chi_squares(key: Key[Array, ""], degrees: Float[Array, " count"]) -> Float[Array, " count"]:
    """Chi-squared numbers, each of at least one degree of freedom, by the rejection of Marsaglia and Tsang.

    All numbers are proposed together until each is accepted (one in fifty is not), so that proposals vectorise.
    """
    count = degrees.shape[0]
    single = degrees < 2  # one degree of freedom is the square of a normal
    offset = jnp.where(single, 1.0, degrees / 2 - 1 / 3)
    scale = 1 / jnp.sqrt(9 * offset)

    def propose(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, kept, done = carry
        key, normal_key, uniform_key = jax.random.split(key, 3)
        x = normals(normal_key, count).astype(float)
        with jax.threefry_partitionable(False):
            u = jax.random.uniform(uniform_key, (count,), jnp.float32, minval=1e-30)
        root = 1 + scale * x
        v = jnp.where(root > 0, root, 1.0) ** 3
        accepted = (root > 0) & (jnp.log(u) < 0.5 * x**2 + offset * (1 - v + jnp.log(v)))
        proposed = jnp.where(single, x**2, 2 * offset * v)
        return key, jnp.where(done, kept, proposed), done | accepted | single

    def waiting(carry: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        return ~jnp.all(carry[2])

    return jax.lax.while_loop(waiting, propose, (key, jnp.zeros(count), jnp.zeros(count, bool)))[1]


def lower_triangle(below: Float[Array, "m r"], diagonal: Float[Array, "b r"]) -> Float[Array, "b b r"]:
    """The triangular matrices with these entries below and on the diagonal, one for each replica."""
    b, replicas = diagonal.shape
    place = np.full((b, b), below.shape[0] + b)  # where each matrix entry is in the list, whose last entry is zero
    place[np.tril_indices(b, -1)] = np.arange(below.shape[0])
    place[np.diag_indices(b)] = below.shape[0] + np.arange(b)
    return jnp.concatenate([below, diagonal, jnp.zeros((1, replicas))])[place]


def wishart(key: Key[Array, ""], size: int, freedom: int) -> Float[Array, "size size"]:
    """A Wishart matrix: Z Zᵀ for `freedom` Gaussian columns, by Bartlett's factor when they are many."""
    if freedom < size:
        Z = jax.random.normal(key, (size, freedom))
        return Z @ Z.T
    below_key, diagonal_key = jax.random.split(key)
    chi = jnp.sqrt(jax.random.chisquare(diagonal_key, freedom - jnp.arange(1.0 * size)))
    T = jnp.tril(jax.random.normal(below_key, (size, size)), -1) + jnp.diag(chi)
    return T @ T.T
