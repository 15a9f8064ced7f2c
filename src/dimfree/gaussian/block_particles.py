"""Wide networks on structured inputs: one particle per unit and eigenvalue, and its expectations.

docs/theory/structured.md, section 1.7. What two units have outside the teachers does not meet, eigenvalue by eigenvalue, so that
they covary as C = sum_b s_b N^b N^bᵀ, N^b their coordinates in the span of the teachers there. All pairs are used: preactivations
of blocks add up, and no few directions are left in which a series could be written.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.blocks import Blocks
from dimfree.gaussian.closure import cross_of_units
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import second_moment
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.two_point.ladder import two_point

_LOST = 1e-12  # of the largest: directions in which teachers are shorter are none


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
    """Those of measured overlaps; blocks of fewer directions than teachers have a pseudo-inverse of P^b."""
    p = blocks.width
    P, M = blocks.Omega[:, -units:, -units:], blocks.Omega[:, :p, -units:]
    values, vectors = jnp.linalg.eigh(P)
    there = values > _LOST * values[:, -1:]
    roots = jnp.sqrt(jnp.where(there, values, 1.0))
    N = jnp.where(there[:, None], M @ vectors / roots[:, None], 0.0)
    rest = jnp.diagonal(blocks.Omega, axis1=1, axis2=2)[:, :p] - jnp.sum(N**2, axis=-1)
    A = vectors * jnp.where(there, roots, 0.0)[:, None]
    return BlockParticles(N, jnp.maximum(rest, 0.0), blocks.a, blocks.s, A)  # rounding may leave q below zero


class BlockTerms(NamedTuple):
    """The right-hand sides of (1.7) for N^b, q^b and a, without decay, and the risk."""

    PsiN: Float[Array, "b p k"]
    Psiq: Float[Array, "b p"]
    Psia: Float[Array, " p"]
    risk: Float[Array, ""]


def block_closure(model: Learner, state: BlockParticles, self_term: bool) -> BlockTerms:
    """One Gaussian average over all pairs, then linear equations for every eigenvalue."""
    sigma, a, b, Q, fields = model.activation, state.a, state.a / model.width, state.norms, state.fields(self_term)
    pair = two_point(sigma, sigma, Q[:, None], fields.Q, Q[None, :])
    cross = cross_of_units(sigma, model.target, Q, fields.M)
    kappa, alpha = pair.kappa @ b, cross.curvature - pair.A @ b
    rate, B = state.s[:, None] * a, pair.B * b
    PsiN = rate[..., None] * (alpha[:, None] * state.N + cross.gradient @ state.A - B @ state.N)
    Psiq = 2 * rate * state.q * (alpha - (jnp.diagonal(B) if self_term else 0.0))
    twice_risk = second_moment(model.target) - jnp.mean(a * (2 * cross.value - kappa))
    return BlockTerms(PsiN, Psiq, cross.value - kappa, 0.5 * twice_risk)
