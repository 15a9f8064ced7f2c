"""Overlaps eigenvalue by eigenvalue: the state of the limits of structured inputs (docs/theory/structured.md, section 0)."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.states.overlaps import Overlaps


class Blocks(eqx.Module):
    """Omega^b, the plain overlaps of all vectors (students first, teachers last) within the directions of one eigenvalue.

    A node of a quadrature is a block, too: its Omega decays, and steps add to it in proportion to rho.
    """

    Omega: Float[Array, "*batch b n n"]
    a: Float[Array, "*layer p"]
    s: Float[Array, "*batch b"]
    rho: Float[Array, "*batch b"]
    error: Float[Array, "*batch"]  # the estimated error that nodes of a quadrature make in the risk; 0 for eigenvalues

    @property
    def width(self) -> int:
        """p."""
        return self.a.shape[-1]

    def fields(self, units: int) -> Overlaps:
        """Overlaps as preactivations see them, equation (0.1): every block in proportion to its eigenvalue."""
        return self._students(jnp.einsum("...b,...bij->...ij", self.s, self.Omega), units)

    def plain(self, units: int) -> Overlaps:
        """Euclidean overlaps."""
        return self._students(jnp.sum(self.Omega, axis=-3), units)

    def _students(self, Omega: Float[Array, "*batch n n"], units: int) -> Overlaps:
        p, k = self.width, units
        return Overlaps(Omega[..., :p, :p], Omega[..., :p, -k:], self.a)


def with_velocities(Omega: Float[Array, "*batch n n"], p: int) -> Float[Array, "*batch N N"]:
    """Overlaps of students, velocities at rest, and teachers."""
    n = Omega.shape[-1] + p
    kept = jnp.array([*range(p), *range(2 * p, n)])
    return jnp.zeros((*Omega.shape[:-2], n, n)).at[..., kept[:, None], kept].set(Omega)
