"""The right-hand side of the overlap equations as a polynomial of the rate, and the rate that lowers the risk fastest now.

docs/theory/schedules.md, equations (0.1) and (1.1). States have a leading axis of starts; all of them share one rate.
"""

import sys
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.schedule import Held
from dimfree.gaussian.moments import risk
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.programs.compiled import brief_program
from dimfree.states.overlaps import Overlaps

Objective = Literal["mean-log", "mean", "worst"]
_SHARP = 8.0  # sharpness of the soft maximum over starts: a start that is worse by a factor e counts e^8 times as much


class Parts(NamedTuple):
    """dX/dt = F0 + r F1 + r² F2 at the factor r on the base rate."""

    F0: Overlaps
    F1: Overlaps
    F2: Overlaps


def steerable(model: TeacherModel) -> TeacherModel:
    """The model with a given rate in place of its own schedule."""
    return eqx.tree_at(lambda m: m.schedule, model, Held(jax.device_put(1.0)))


@eqx.filter_jit
def velocity(model: TeacherModel, factor: Float[Array, ""], states: Overlaps) -> Overlaps:
    """The right-hand side for all starts, traced once for all callers."""
    steered = eqx.tree_at(lambda m: m.schedule.factor, model, factor)
    found: Overlaps = jax.vmap(lambda x: HighDimensional().velocity(steered, jnp.zeros(()), x))(states)
    return found


def parts(model: TeacherModel, states: Overlaps) -> Parts:
    """From three evaluations, at the factors 0, 1 and 2: no new formula is needed."""
    at = jax.vmap(lambda factor: velocity(model, factor, states))(jnp.arange(3.0))
    weights = jnp.asarray([[1.0, 0.0, 0.0], [-1.5, 2.0, -0.5], [0.5, -1.0, 0.5]])
    return Parts(*(jax.tree.map(lambda v: jnp.tensordot(row, v, 1), at) for row in weights))  # noqa: B023


def objective(model: TeacherModel, states: Overlaps, kind: Objective) -> Float[Array, ""]:
    """What is minimised: the mean of final log-risks over starts, or the logarithm of their mean or of the worst risk."""
    return over_starts(jax.vmap(lambda x: risk(model, x))(states), kind)


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


def greedy(model: TeacherModel, states: Overlaps, bounds: Float[Array, "2"], kind: Objective) -> Float[Array, ""]:
    """The locally optimal factor A/(2B), equation (1.1), within bounds: the larger one where risk falls at any rate."""
    falls, grows = _slopes(model, states, kind)
    return jnp.where(grows > 0, jnp.clip(falls / (2 * jnp.where(grows > 0, grows, 1.0)), *bounds), bounds[1])


@brief_program
def critical(model: TeacherModel, states: Overlaps, kind: Objective) -> Float[Array, ""]:
    """The factor A/B at which the risk stops falling now, equation (1.1); not positive, or not finite, where there is none."""
    falls, grows = _slopes(model, states, kind)
    return falls / grows


def _slopes(model: TeacherModel, states: Overlaps, kind: Objective) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """A and B of equation (1.1)."""
    uphill = jax.grad(lambda x: objective(model, x, kind))(states)
    split = parts(model, states)
    return -dot(uphill, split.F1), dot(uphill, split.F2)


def dot(one: Overlaps, other: Overlaps) -> Float[Array, ""]:
    """The scalar product of two directions, summed over starts."""
    return jnp.asarray(sum(jnp.vdot(x, y) for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)))
