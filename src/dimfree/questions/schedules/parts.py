"""The right-hand side of the overlap equations as a polynomial of the rate, and the rate that lowers the risk fastest now.

docs/theory/schedules.md, equations (0.1) and (1.1). States have a leading axis of starts; all of them share one rate.
"""

import sys
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.schedule import Held
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.limits.integration import Integration
from dimfree.onepass.limits.momentum import Moving
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.programs.compiled import brief_program
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps

State = Overlaps | Blocks | Moving  # of the equations: overlaps, those of every eigenvalue, or with velocities
Objective = Literal["mean-log", "mean", "worst"]
_SHARP = 8.0  # sharpness of the soft maximum over starts: a start that is worse by a factor e counts e^8 times as much


class Parts(NamedTuple):
    """dX/dt = F0 + r F1 + r² F2 at the factor r on the base rate."""

    F0: State
    F1: State
    F2: State


class Followed(eqx.Module):
    """The equations that follow a problem, and its model with a given rate in place of a schedule."""

    equations: Integration[Any, Any]
    model: TargetModel

    def risk(self, state: State) -> Float[Array, ""]:
        """The population risk."""
        return self.model.risk(self.equations.fields(self.model, state))


def steerable(model: TargetModel) -> Followed:
    """The model with a given rate, and the program of `ode` for it: one set of overlaps, or one for every eigenvalue."""
    held = eqx.tree_at(lambda m: m.schedule, model, Held(jax.device_put(1.0)), is_leaf=lambda x: x is model.schedule)
    equations, followed = HighDimensional().twin(held)
    assert isinstance(equations, Integration)
    assert isinstance(followed, TargetModel)
    return Followed(equations, followed)


@eqx.filter_jit
def velocity(model: Followed, factor: Float[Array, ""], states: State) -> State:
    """The right-hand side for all starts, traced once for all callers."""
    steered = eqx.tree_at(lambda m: m.schedule.factor, model.model, factor)
    found: State = jax.vmap(lambda x: model.equations.velocity(steered, jnp.zeros(()), x))(states)
    return found


def parts(model: Followed, states: State) -> Parts:
    """From three evaluations, at the factors 0, 1 and 2: no new formula is needed."""
    at = jax.vmap(lambda factor: velocity(model, factor, states))(jnp.arange(3.0))
    weights = jnp.asarray([[1.0, 0.0, 0.0], [-1.5, 2.0, -0.5], [0.5, -1.0, 0.5]])
    return Parts(*(jax.tree.map(lambda v: jnp.tensordot(row, v, 1), at) for row in weights))  # noqa: B023


def objective(model: Followed, states: State, kind: Objective) -> Float[Array, ""]:
    """What is minimised: the mean of final log-risks over starts, or the logarithm of their mean or of the worst risk."""
    return over_starts(jax.vmap(model.risk)(states), kind)


def over_starts(risks: Float[Array, " s"], kind: Objective) -> Float[Array, ""]:
    """The objective of final risks."""
    logs = jnp.log(jnp.maximum(risks, sys.float_info.min))
    match kind:
        case "mean-log":
            return jnp.mean(logs)
        case "mean":
            return jax.nn.logsumexp(logs) - jnp.log(logs.size)
        case "worst":
            return (jax.nn.logsumexp(_SHARP * logs) - jnp.log(logs.size)) / _SHARP


def greedy(model: Followed, states: State, bounds: Float[Array, "2"], kind: Objective) -> Float[Array, ""]:
    """The locally optimal factor A/(2B), equation (1.1), within bounds: the larger one where risk falls at any rate."""
    falls, grows = _slopes(model, states, kind)
    return jnp.where(grows > 0, jnp.clip(falls / (2 * jnp.where(grows > 0, grows, 1.0)), *bounds), bounds[1])


@brief_program
def critical(model: Followed, states: State, kind: Objective) -> Float[Array, ""]:
    """The factor A/B at which the risk stops falling now, equation (1.1); not positive, or not finite, if no factor does that."""
    falls, grows = _slopes(model, states, kind)
    return falls / grows


def _slopes(model: Followed, states: State, kind: Objective) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A and B of equation (1.1)."""
    uphill = jax.grad(lambda x: objective(model, x, kind))(states)
    split = parts(model, states)
    return -dot(uphill, split.F1), dot(uphill, split.F2)


def dot(one: State, other: State) -> Float[Array, ""]:
    """The scalar product of two directions, summed over starts."""
    return jnp.asarray(sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)))
