"""The dimensionless limit on structured inputs: particles that carry overlaps and norms for every eigenvalue.

docs/theory/structured.md, section 1.7, equation (1.7), with the decays and schedule of (1.1).
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.gaussian.block_closure import block_closure
from dimfree.gaussian.components import has_components, overlap_components
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.limits.integration import Integration
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import MOST_BLOCKS, StructuredModel
from dimfree.problem import Problem
from dimfree.states.block_particles import BlockParticles, block_particles
from dimfree.states.particles import MOST_PAIRS


class WideBlocks(Integration[StructuredModel, BlockParticles]):
    """Equation (1.7)."""

    self_term: bool = eqx.field(default=True, static=True)

    def initial(self, model: StructuredModel, start: Start) -> BlockParticles:
        """The measured particles."""
        return block_particles(start.blocks, model.units)

    def size(self, state: BlockParticles) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.maximum(jnp.max(jnp.abs(state.N)), jnp.max(jnp.abs(state.q)))

    def velocity(self, model: StructuredModel, t: Float[Array, ""], state: BlockParticles) -> BlockParticles:
        """Equation (1.7); a projection to the sphere keeps Euclidean norms and undoes decay (section 1.1)."""
        rate, terms = model.schedule(t), block_closure(model, state, self.self_term)
        da = rate * model.eta_a * terms.Psia - model.omega_a * state.a if model.train_a else jnp.zeros_like(state.a)
        dN, dq, drag = rate * terms.PsiN, rate * terms.Psiq, model.omega
        if model.spherical:
            growth = jnp.sum(2 * jnp.sum(state.N * dN, axis=-1) + dq, axis=0)
            drag = growth / (2 * jnp.sum(state.plain, axis=0))
        dN, dq = dN - (drag * jnp.ones_like(state.a))[:, None] * state.N, dq - 2 * drag * state.q
        return BlockParticles(dN, dq, da, jnp.zeros_like(state.s), jnp.zeros_like(state.A))

    def observe(self, model: StructuredModel, states: BlockParticles) -> Observed:
        """Overlaps as preactivations see them, and those with the teachers for every eigenvalue while these are few."""
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), states)
        shape = states.a.shape[:2]
        risks = jax.lax.map(lambda state: block_closure(model, state, self.self_term).risk, flat).reshape(shape)
        seen = {"risk": risks, "M": states.fields(self.self_term).M, "Q_diagonal": states.norms, "a": states.a}
        if model.s.size <= MOST_BLOCKS:
            seen |= {"M_block": states.M}
        if not has_components(model.target):
            return seen
        one: Callable[[BlockParticles], Array] = lambda now: overlap_components(  # noqa: E731
            model, now.fields(self.self_term), now.norms
        )
        return seen | {"components": jax.lax.map(one, flat).reshape(*shape, -1)}


def without_blocks(problem: Problem, model: StructuredModel) -> str | None:
    """Why there are no particles for every eigenvalue: not derived, too large for memory, or the same as gradient flow."""
    if model.hidden_labels:
        return model.hidden_labels
    if model.momentum:
        return "it is not derived for momentum; set training.momentum = 0, or use ode, chain or sgd."
    if model.width > MOST_PAIRS:
        return (
            f"with a covariance all pairs of {model.width} units are used, which do not fit into memory; lower network.width to "
            f"{MOST_PAIRS}."
        )
    if model.s.size > MOST_LEVELS or np.sum(np.minimum(model.units, model.multiplicities)) >= problem.dimension / 2:
        return (
            f"{model.s.size} distinct eigenvalues in {problem.dimension} dimensions leave each of them no directions beside the "
            "teacher, and without any this is gradient flow itself; use gradient-flow, or a covariance of a few levels."
        )
    return None
