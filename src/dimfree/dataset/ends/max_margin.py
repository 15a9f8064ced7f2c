"""The largest margin: where the ridge of separable data goes to zero (docs/theory/static.md, section a).

The hard margin takes the place of every loss; its ridge only sets the scale of V. Damped iteration converges slowly here, but the
asymptotic formulas are near the solution, so that Newton's method starts from these.
"""

import equinox as eqx
import jax.numpy as jnp

from dimfree.dataset.ends.state_evolution import EndPoint, polished, separating
from dimfree.dataset.ends.task import Task
from dimfree.functions.loss import HardMargin
from dimfree.programs.compiled import quick_program


@quick_program
def max_margin(task: Task) -> EndPoint:
    """The shortest weights whose margins are all one, whatever loss and ridge the task has; 1/sqrt(norm) is the margin."""
    hard = eqx.tree_at(lambda one: one.loss, task.at(task.alpha, jnp.ones_like(task.alpha)), HardMargin())
    grown, cov = 1 + task.alpha**2, task.covariates
    return polished(hard, jnp.stack([jnp.log(cov.mean(cov.omega) / grown), jnp.log(grown), separating(task)]))
