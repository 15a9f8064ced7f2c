"""The high-dimensional limit of SGD with momentum: second order where 1 - beta is of the order 1/d, else a rate.

docs/theory/structured.md, section 4.1. Weights, their velocities per unit of time and teachers, (W, U, W*), have overlaps for
every eigenvalue: dOmega/dt = L Omega + Omega Lᵀ + s rho Gamma/(p batch) c Psi^Var cᵀ, c = (alpha, theta, 0). A fresh gradient
moves weights at once by a share alpha: none for a heavy ball, 1 - beta for Nesterov's rule.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.onepass.limits.blocks import still
from dimfree.onepass.limits.integration import Integration
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel, node_observables
from dimfree.states.blocks import Blocks, with_velocities
from dimfree.states.overlaps import Overlaps

A_RATE = 1000.0  # above this theta, momentum equals a rate to within half a per mille


class Moving(eqx.Module):
    """Overlaps of (W, U, W*) for every eigenvalue, and the velocity of the second layer."""

    blocks: Blocks
    a: Float[Array, "*batch p"]


class MomentumEquations(Integration[StructuredModel, Moving]):
    """Equation (4.1); without the variance of the steps it is a ball that rolls on the population risk."""

    variance_on: bool = eqx.field(default=True, static=True)

    def initial(self, model: StructuredModel, start: Start) -> Moving:
        blocks = start.blocks
        Omega = with_velocities(blocks.Omega, model.width)
        return Moving(Blocks(Omega, blocks.a, blocks.s, blocks.rho, blocks.error), jnp.zeros_like(blocks.a))

    def fields(self, model: StructuredModel, state: Moving) -> Overlaps:
        return state.blocks.fields(model.units)

    def size(self, state: Moving) -> Float[Array, ""]:
        """The largest overlap."""
        return jnp.max(jnp.abs(state.blocks.Omega))

    def observe(self, model: StructuredModel, states: Moving) -> Observed:
        return node_observables(model, states.blocks)

    def velocity(self, model: StructuredModel, t: Float[Array, ""], state: Moving) -> Moving:
        """The right-hand side of equation (4.1)."""
        alpha = 1 - model.beta if model.nesterov else jnp.zeros(())
        return moving_velocity(model, state, model.theta, alpha, self.variance_on, model.schedule(t))


def moving_velocity(
    model: StructuredModel,
    state: Moving,
    theta: Float[Array, ""],
    alpha: Float[Array, ""],
    variance_on: bool,
    rate: Float[Array, ""] | float = 1.0,
) -> Moving:
    """The right-hand side for any share alpha of a gradient that moves weights at once; `rate` multiplies fresh gradients."""
    p, k, blocks = model.width, model.units, state.blocks
    fields = blocks.fields(k)
    terms = model.terms(fields)
    one, none = jnp.eye(p), jnp.zeros((p, p))
    J = jnp.concatenate([terms.J[:, :p], none, terms.J[:, p:]], axis=1)
    push = rate * jnp.concatenate([alpha * J, theta * J, jnp.zeros((k, J.shape[1]))])
    rest = jnp.pad(jnp.block([[none, one], [-theta * model.omega * one, -theta * one]]), ((0, k), (0, k)))
    s = blocks.s[:, None, None]
    flow = (s * push + rest) @ blocks.Omega
    moved = flow + jnp.swapaxes(flow, 1, 2)
    if variance_on:
        c = jnp.concatenate([alpha * one, theta * one, jnp.zeros((k, p))])
        weight = rate**2 * model.effective_rate / (p * model.batch)
        Var = model.variance(fields) if terms.Var is None else terms.Var
        moved = moved + s * blocks.rho[:, None, None] * (c @ (weight * Var) @ c.T)
    if not model.train_a:
        return Moving(Blocks(moved, jnp.zeros_like(blocks.a), *still(blocks)), jnp.zeros_like(state.a))
    gradient = rate * model.eta_a * terms.Psia
    da = state.a + alpha * gradient
    return Moving(Blocks(moved, da, *still(blocks)), theta * (gradient - model.omega_a * blocks.a - state.a))
