"""Exit times of replicas, each from its own start, by the overlap chain or by any other description."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.description import Evolution
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.passages import advance_passage, begin_passage, scattered, stride_for
from dimfree.onepass.start import Start
from dimfree.progress import Watcher

Times = np.ndarray[tuple[int], np.dtype[np.float64]]
X = TypeVar("X")

_PARTS = 24  # parts of the horizon, after each of which progress is reported
_CHUNK = 16  # looks at the risk in one call of a description


def chain_exits(
    problem: OnePassProblem,
    starts: Start,
    threshold: float,
    horizon: float,
    resolution: float,
    key: jax.Array,
    watch: Watcher,
) -> Times:
    """The exit time of one replica of real SGD per start, infinite when it does not leave before the horizon."""
    chain, model = OverlapChain(), teacher_model(problem)
    passage = begin_passage(chain, model, starts, threshold, key)
    stride = stride_for(chain, model, resolution)
    for end in np.linspace(0, horizon, _PARTS + 1)[1:]:
        passage = advance_passage(chain, model, passage, jnp.asarray(end), stride)
        watch(chain.title, float(end) / horizon)
        if np.isfinite(passage.exits).all():
            break
    watch(chain.title, 1.0)
    return np.asarray(passage.exits)


def evolution_exits(
    one: Evolution[TeacherModel, Start, X],
    model: TeacherModel,
    starts: Start,
    threshold: float,
    horizon: float,
    resolution: float,
    key: jax.Array,
    watch: Watcher,
) -> Times:
    """The same for any evolution with replicas, whose risk is looked at every `resolution` units of time."""
    state = scattered(one, model, starts, key)
    state, begun = _looks(one, model, state, jnp.zeros(_CHUNK))
    grid, seen = np.zeros(1), np.asarray(begun)[:1]
    level, exits = (1 - threshold) * seen[0], np.full(seen.shape[1], np.inf)
    while grid[-1] < horizon and not np.isfinite(exits).all():
        times = grid[-1] + resolution * np.arange(1, _CHUNK + 1)
        state, risks = _looks(one, model, state, jnp.asarray(times))
        grid, seen = np.append(grid[-1], times), np.concatenate([seen[-1:], np.asarray(risks)])
        exits = np.minimum(exits, crossing(grid, seen, level))
        watch(one.title, min(1.0, float(times[-1]) / horizon))
    watch(one.title, 1.0)
    return np.where(exits <= horizon, exits, np.inf)


def crossing(grid: Times, risks: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", level: Times) -> Times:
    """The first time at which each column falls to its level, by linear interpolation; infinite when it does not."""
    below = risks <= level
    row, replica = np.argmax(below, axis=0), np.arange(risks.shape[1])
    before = np.maximum(row - 1, 0)
    drop = risks[before, replica] - risks[row, replica]
    part = (risks[before, replica] - level) / np.where(drop > 0, drop, 1.0)
    at = grid[before] + part * (grid[row] - grid[before])
    return np.where(below.any(axis=0), at, np.inf)


@eqx.filter_jit
def _looks(
    one: Evolution[TeacherModel, Start, X], model: TeacherModel, state: X, times: jax.Array
) -> tuple[X, jax.Array]:
    state, seen = one.advance(model, state, times)
    return state, seen["risk"]
