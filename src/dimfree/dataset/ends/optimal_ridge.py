"""The ridge of the smallest error: a grid in log lambda, then the root of the derivative (docs/theory/static.md, section a).

The hinge loss has plateaus, which is why a grid comes first. All numbers of samples go side by side through one program.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.optimize import elementwise

from dimfree.dataset.ends.solve import slopes
from dimfree.dataset.ends.task import Task

_POINTS = 17
SEARCHED = (1e-5, 1e2)

Numbers = Float[np.ndarray, " n"]


class Best(NamedTuple):
    """Ridges, their errors and, where it was searched for, thresholds of Huber's loss.

    At an end of the searched range the best lies at that end or beyond.
    """

    lambda_: Numbers
    risk: Numbers
    threshold: Numbers | None = None


def optimal_ridge(task: Task, samples: Numbers, search: tuple[float, float] = SEARCHED) -> Best:
    """The best ridge at every number of samples per dimension."""
    logs = np.linspace(np.log(search[0]), np.log(search[1]), _POINTS)
    count = len(samples)
    rows = [_slopes(task, samples, np.full(count, log), count) for log in logs]
    risks, falls = np.stack([risk for risk, _ in rows]), np.stack([slope for _, slope in rows])
    lowest = np.nanargmin(risks, axis=0)
    every = np.arange(len(samples))
    before, after = np.maximum(lowest - 1, 0), np.minimum(lowest + 1, _POINTS - 1)
    inside = (falls[before, every] < 0) & (falls[after, every] > 0)
    best = logs[lowest].copy()
    if inside.any():
        bracket = (logs[before[inside]], logs[after[inside]])
        found = elementwise.find_root(lambda log, a: _slopes(task, a, log, count)[1], bracket, args=(samples[inside],))
        best[inside] = found.x
    return Best(np.exp(best), _slopes(task, samples, best, count)[0])


def _slopes(task: Task, samples: Numbers, logs: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Risk and its derivative in log lambda; all calls are padded to one size, for which there is one program."""
    count = len(samples)
    a, log = (jnp.asarray(np.pad(x, (0, size - count), mode="edge"), dtype=float) for x in (samples, logs))
    risk, slope = slopes(task, a, log)
    return np.asarray(risk)[:count], np.asarray(slope)[:count]
