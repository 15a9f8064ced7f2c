"""The high-dimensional limit on structured inputs: one Gaussian average, then linear equations for every eigenvalue.

docs/theory/structured.md, section 1.1. A block may be an eigenvalue or a node of a quadrature: the equations are the same.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.onepass.limits.integration import Integration
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel, node_observables
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps


def still(state: Blocks) -> tuple[Float[Array, " b"], Float[Array, " b"], Float[Array, ""]]:
    """What stays fixed: eigenvalues, their shares, and the error to which they are known."""
    return jnp.zeros_like(state.s), jnp.zeros_like(state.rho), jnp.zeros_like(state.error)


class BlockEquations(Integration[StructuredModel, Blocks]):
    """Equation (1.1); at learning rate 0 it is gradient flow."""

    def initial(self, model: StructuredModel, start: Start) -> Blocks:
        """The measured overlaps."""
        return start.blocks

    def fields(self, model: StructuredModel, state: Blocks) -> Overlaps:
        return state.fields(model.units)

    def size(self, state: Blocks) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.max(jnp.abs(state.Omega))

    def observe(self, model: StructuredModel, states: Blocks) -> Observed:
        return node_observables(model, states)

    def velocity(self, model: StructuredModel, t: Float[Array, ""], state: Blocks) -> Blocks:
        """The right-hand side of equation (1.1), for all vectors at once; teachers do not move."""
        p, k, rate = model.width, model.units, model.schedule(t)
        fields = state.fields(k)
        terms = model.terms(fields)
        weight = model.gamma / (p * model.batch)
        if terms.Var is not None:
            Psi = weight * terms.Var
        else:
            Psi = jax.lax.cond(weight > 0, lambda: weight * model.variance(fields), lambda: jnp.zeros_like(fields.Q))
        # half of everything, for the columns of the students: its transpose is the other half
        count, n, _ = state.Omega.shape
        pushed = state.Omega.reshape(count * n, n) @ (rate * terms.J).T  # for all blocks by one product
        half = state.s[:, None, None] * pushed.reshape(count, n, p)
        half = half.at[:, :p].add((0.5 * state.s * state.rho)[:, None, None] * (rate**2 * Psi))
        half = half - self.drag(model, state, half) * state.Omega[:, :, :p]
        columns = jnp.pad(half, ((0, 0), (0, 0), (0, k)))
        flow = columns + jnp.swapaxes(columns, 1, 2)
        da = rate * model.eta_a * terms.Psia - model.omega_a * state.a if model.train_a else jnp.zeros_like(state.a)
        return Blocks(flow, da, *still(state))

    def drag(self, model: StructuredModel, state: Blocks, half: Float[Array, "b n p"]) -> Float[Array, " p"]:
        """What shrinks every student: weight decay, or the projection that keeps Euclidean norms."""
        p = model.width
        if not model.spherical:
            return jnp.broadcast_to(model.omega, (p,))
        growth, norms = (jnp.diagonal(jnp.sum(x[:, :p, :p], axis=0)) for x in (half, state.Omega))
        return growth / norms
