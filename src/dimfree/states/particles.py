"""One particle per unit: the state of wide networks, whose pairs are too many or do not matter."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from dimfree.states.overlaps import Overlaps, factor

MOST_PAIRS = 3000  # the widest network for which overlaps between all pairs of units are computed


class Particles(eqx.Module):
    """M, the squared norms q_i of the parts orthogonal to the teacher, and the second layer: the state of p(k+2) numbers."""

    M: Float[Array, "*batch p k"]
    q: Float[Array, "*batch p"]
    a: Float[Array, "*batch p"]

    def along(self, P: Float[Array, "k k"]) -> Float[Array, "*batch p k"]:
        """N with N Nᵀ = C = M P^-1 Mᵀ; directions in which a singular P vanishes are left out."""
        A = factor(P, P.shape[0])
        present = jnp.diagonal(A) > 0
        safe = A + jnp.diag(jnp.where(present, 0.0, 1.0))
        return jnp.where(present, self.M @ solve_triangular(safe, jnp.eye(P.shape[0]), lower=True).T, 0.0)

    def norms(self, P: Float[Array, "k k"]) -> Float[Array, "*batch p"]:
        """Q_ii = C_ii + q_i."""
        return jnp.sum(self.along(P) ** 2, axis=-1) + self.q


def particles(overlaps: Overlaps, P: Float[Array, "k k"]) -> Particles:
    """M, and the diagonal of Q - M P^-1 Mᵀ (docs/theory/committee.md, section 5)."""
    bare = Particles(overlaps.M, jnp.zeros_like(overlaps.a), overlaps.a)
    rest = jnp.diagonal(overlaps.Q, axis1=-2, axis2=-1) - bare.norms(P)
    return Particles(overlaps.M, jnp.maximum(rest, 0.0), overlaps.a)  # rounding may leave it below zero
