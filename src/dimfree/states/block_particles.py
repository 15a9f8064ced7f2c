"""Wide networks on structured inputs: one particle per unit and eigenvalue (docs/theory/structured.md, section 1.7).

The state holds N^b, the coordinates of a unit in the span of the teachers within block b, and the squared norm of the rest.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps

_LOST = 1e-12  # share of the largest length below which teachers have no part in a direction


class BlockParticles(eqx.Module):
    """For every eigenvalue the coordinates N^b in the span of the teachers, and the squared norms q^b of the rest."""

    N: Float[Array, "*batch b p k"]
    q: Float[Array, "*batch b p"]
    a: Float[Array, "*batch p"]
    s: Float[Array, "*batch b"]
    A: Float[Array, "*batch b k k"]  # teachers in these coordinates: P^b = A Aᵀ

    @property
    def M(self) -> Float[Array, "*batch b p k"]:
        """M^b, the plain overlaps with the teachers."""
        return self.N @ jnp.swapaxes(self.A, -1, -2)

    @property
    def norms(self) -> Float[Array, "*batch p"]:
        """Q_ii of preactivations, C_ii + sum_b s_b q^b_i."""
        return jnp.einsum("...b,...bp->...p", self.s, self.plain)

    @property
    def plain(self) -> Float[Array, "*batch b p"]:
        """Euclidean squared norms in every block."""
        return jnp.sum(self.N**2, axis=-1) + self.q

    def fields(self, self_term: bool) -> Overlaps:
        """C and M of preactivations; a unit has all of its norm in common with itself, or, without self term, only C_ii."""
        C = jnp.einsum("...b,...bik,...bjk->...ij", self.s, self.N, self.N)
        if self_term:
            C = jnp.where(jnp.eye(self.a.shape[-1], dtype=bool), self.norms[..., None, :], C)
        return Overlaps(C, jnp.einsum("...b,...bpk->...pk", self.s, self.M), self.a)


def block_particles(blocks: Blocks, units: int) -> BlockParticles:
    """The particles of measured overlaps; where a block has fewer directions than teachers, P^b has a pseudo-inverse."""
    p = blocks.width
    P, M = blocks.Omega[:, -units:, -units:], blocks.Omega[:, :p, -units:]
    values, vectors = jnp.linalg.eigh(P)
    there = values > _LOST * values[:, -1:]
    roots = jnp.sqrt(jnp.where(there, values, 1.0))
    N = jnp.where(there[:, None], M @ vectors / roots[:, None], 0.0)
    rest = jnp.diagonal(blocks.Omega, axis1=1, axis2=2)[:, :p] - jnp.sum(N**2, axis=-1)
    A = vectors * jnp.where(there, roots, 0.0)[:, None]
    return BlockParticles(N, jnp.maximum(rest, 0.0), blocks.a, blocks.s, A)  # rounding may leave q below zero
