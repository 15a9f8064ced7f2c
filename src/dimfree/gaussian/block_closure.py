"""The expectations of wide networks on structured inputs, one particle per unit and eigenvalue.

docs/theory/structured.md, section 1.7. The parts of two units outside the span of the teachers are orthogonal within every
eigenvalue, so that they covary as C = sum_b s_b N^b N^bᵀ, N^b their coordinates in the span of the teachers there. All pairs
are used: preactivations of blocks add up, so that no small number of directions is left for a series.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.closure import cross_of_units
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import second_moment
from dimfree.gaussian.two_point.ladder import two_point
from dimfree.states.block_particles import BlockParticles


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
