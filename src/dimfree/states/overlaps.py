"""The overlaps (Q, M, a): the state of the high-dimensional limit, and the covariance of the preactivations."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Overlaps(eqx.Module):
    """Q = W Wᵀ/d, M = W W*ᵀ/d and the second layer a (docs/theory/committee.md, section 0), a row for each of several outputs."""

    Q: Float[Array, "*batch p p"]
    M: Float[Array, "*batch p k"]
    a: Float[Array, "*layer p"]

    def covariance(self, P: Float[Array, "k k"]) -> Float[Array, "*batch n n"]:
        """Omega, students first."""
        P = jnp.broadcast_to(P, (*self.Q.shape[:-2], *P.shape))
        top = jnp.concatenate([self.Q, self.M], axis=-1)
        bottom = jnp.concatenate([jnp.swapaxes(self.M, -1, -2), P], axis=-1)
        return jnp.concatenate([top, bottom], axis=-2)

    @property
    def symmetric(self) -> "Overlaps":
        """The same with Q = Qᵀ to the last bit: a difference by rounding could grow without bound."""
        return Overlaps((self.Q + jnp.swapaxes(self.Q, -1, -2)) / 2, self.M, self.a)


def eigenpairs(Omega: Float[Array, "*batch n n"]) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n n"]]:
    """Ascending eigenvalues, and eigenvectors, computed one matrix after the other.

    For many matrices at once jax starts tasks on its own threads and waits for them. Groups of replicas that run at the same
    time would then wait for each other for ever.
    """
    values, vectors = jax.lax.map(jnp.linalg.eigh, Omega.reshape(-1, *Omega.shape[-2:]))
    return values.reshape(Omega.shape[:-1]), vectors.reshape(Omega.shape)


def factor(Omega: Float[Array, "*batch n n"], rank: int) -> Float[Array, "*batch n rank"]:
    """A with A Aᵀ = Omega and `rank` columns, for any positive semi-definite Omega of at most that rank (section 1.2).

    With rank = n it is a Cholesky factor; a row that earlier columns explain completely has zeros from there on, so that
    identical neurons stay identical to the last bit. With rank < n (more neurons than dimensions) the leading eigenpairs are
    taken.
    """
    n = Omega.shape[-1]
    if rank < n:
        values, vectors = eigenpairs(Omega)
        return vectors[..., -rank:] * jnp.sqrt(jnp.maximum(values[..., -rank:], 0.0))[..., None, :]
    variances = jnp.diagonal(Omega, axis1=-2, axis2=-1)

    def column(j: Array, A: Array) -> Array:
        rest = jnp.take(Omega, j, axis=-1) - jnp.sum(A * jnp.take(A, j, axis=-2)[..., None, :], axis=-1)
        free = (
            variances - jnp.sum(A**2, axis=-1) > 1e-13 * variances
        )  # rows that earlier columns do not explain completely
        positive, pivot = jnp.take(free, j, axis=-1), jnp.take(rest, j, axis=-1)
        scale = jnp.where(positive, jax.lax.rsqrt(jnp.where(positive, pivot, 1.0)), 0.0)
        below = free & (jnp.arange(n) >= j)
        return A.at[..., j].set(jnp.where(below, rest * scale[..., None], 0.0))

    return jax.lax.fori_loop(0, n, column, jnp.zeros_like(Omega))
