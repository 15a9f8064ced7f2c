"""Ridge and threshold of the smallest error of Huber's loss: a grid of both, then descent (docs/theory/static.md, section d).

With a high threshold it is the square loss; with a low one, and the ridge divided by it, the absolute loss. The search is over
ridge/threshold, which is what matters at either end.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from dimfree.dataset.ends.optimal_ridge import SEARCHED, Best, Numbers
from dimfree.dataset.ends.solve import end_of
from dimfree.dataset.ends.task import Task
from dimfree.functions.residual_loss import Huber
from dimfree.programs.compiled import quick_program

THRESHOLDS = (1e-2, 1e2)
_POINTS = 9  # points of the grid along each axis


def optimal_threshold(task: Task, samples: Numbers) -> Best:
    """The best ridge and threshold at every number of samples per dimension."""
    bounds, found = np.log([SEARCHED, THRESHOLDS]), []
    logs = np.stack(np.meshgrid(*(np.linspace(low, high, _POINTS) for low, high in bounds)), axis=-1)
    for alpha in samples:
        risks = np.concatenate([_slopes(task, jnp.asarray(alpha), jnp.asarray(row))[0] for row in logs])
        start = logs.reshape(-1, 2)[np.nanargmin(risks)]
        end = minimize(
            _at_one, start, args=(task, alpha), jac=True, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}
        )
        found.append((np.exp(end.x.sum()), float(end.fun), np.exp(end.x[1])))
    return Best(*(np.array(one) for one in zip(*found, strict=True)))


def _at_one(x: Float[np.ndarray, " 2"], task: Task, alpha: float) -> tuple[float, Float[np.ndarray, " 2"]]:
    risk, slope = _slopes(task, jnp.asarray(alpha), jnp.tile(x, (_POINTS, 1)))  # one size, one program
    return float(risk[0]), np.asarray(slope[0])


@quick_program
def _slopes(
    task: Task, alpha: Float[Array, ""], logs: Float[Array, "n 2"]
) -> tuple[Float[Array, " n"], Float[Array, "n 2"]]:
    """Risk and its derivatives in the logarithms of ridge/threshold and of the threshold, side by side."""

    def risk(x: Float[Array, " 2"]) -> Float[Array, ""]:
        asked = task.at(alpha, jnp.exp(x[0] + x[1]))
        return end_of(asked.losing(Huber(jnp.exp(x[1])))).risk

    return jax.vmap(jax.value_and_grad(risk))(logs)
