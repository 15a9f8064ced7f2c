"""Outputs of a network at which the error of a sample jumps or bends, given its label (docs/theory/losses.md, section 2)."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.label_law import Classes
from dimfree.gaussian.any_loss.task import Task

ROUNDED = 5.0  # scales of the noise up to which a jump is rounded off


def shifts(task: Task, test: bool) -> list[Float[Array, ""]]:
    """Outputs at which the error jumps or bends; relative to f* for labels that are values, whose noise rounds jumps off."""
    places = list(task.loss.jumps)
    if isinstance(task.labels, Classes):
        if task.loss.along == "margin":
            found = [jnp.asarray(sign * place) for place in places for sign in (1.0, -1.0)]
        else:
            found = [y - place for place in places for y in (1.0, -1.0)]
        return found + ([jnp.zeros(())] if test else [])
    if task.loss.along == "margin":
        return []
    width = ROUNDED * jnp.sqrt(task.Delta)
    return [shift - place for place in places for shift in (-width, 0 * width, width)]
