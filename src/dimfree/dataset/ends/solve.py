"""The end of training for any loss: closed form for the square loss, state evolution for the others (docs/theory/static.md)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.ends.ridge import ridge
from dimfree.dataset.ends.state_evolution import on_data, state_evolution
from dimfree.dataset.ends.task import Task
from dimfree.functions.loss import Square
from dimfree.gaussian.sign_channel import fields
from dimfree.programs.compiled import quick_program

SETTLED = 1e-9  # the largest violation of the equations that counts as solved


class End(NamedTuple):
    """Observables where training ends."""

    risk: Float[Array, ""]  # on fresh samples without label noise
    m: Float[Array, ""]
    q: Float[Array, ""]
    norm: Float[Array, ""]
    train_loss: Float[Array, ""]
    train_accuracy: Float[Array, ""]  # 1 for real labels, where it has no meaning
    left: Float[Array, ""]  # largest violation of the equations; 0 for a closed form


def end_of(task: Task) -> End:
    """The minimum; pure, so that it can be mapped and differentiated."""
    if not isinstance(task.loss, Square):
        found = state_evolution(task)
        return End(
            task.risk(found.m, found.q),
            found.m,
            found.q,
            found.norm,
            found.train_loss,
            found.train_accuracy,
            found.left,
        )
    closed = ridge(task)
    right = jnp.ones_like(closed.m)
    if task.labels == "sign":
        overlap = closed.m / jnp.sqrt(closed.q * task.label_variance)
        right = on_data(task, fields(task.loss, closed.V, closed.q, overlap))[1]
    risk = task.risk(closed.m, closed.q)
    return End(risk, closed.m, closed.q, closed.norm, closed.mse_train / 2, right, jnp.zeros_like(right))


solved = quick_program(end_of)


@quick_program
def curve(task: Task, alpha: Float[Array, " n"], lambda_: Float[Array, " n"]) -> End:
    """The ends at many numbers of samples and ridges, side by side: one call."""
    return jax.vmap(lambda a, ridge: end_of(task.at(a, ridge)))(alpha, lambda_)


@quick_program
def slopes(
    task: Task, alpha: Float[Array, " n"], log_ridge: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Risk and its derivative in log lambda, side by side."""

    def risk(log: Float[Array, ""], a: Float[Array, ""]) -> Float[Array, ""]:
        return end_of(task.at(a, jnp.exp(log))).risk

    return jax.vmap(jax.value_and_grad(risk))(log_ridge, alpha)
