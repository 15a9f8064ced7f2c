"""Following replicas, each from its own start, until their risk has crossed: on the chain, and on any other description."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.description import Description
from dimfree.errors import RefusalError
from dimfree.onepass.model import Model, model
from dimfree.onepass.start import Start
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import load
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.passages import advance_passage, begin_passage, scattered, stride_for
from dimfree.onepass.real.walk import Walker

Times = np.ndarray[tuple[int], np.dtype[np.float64]]
Watcher = Callable[[str, float], None]

_PARTS = 24  # of the horizon: how often progress is told
_CHUNK = 16  # looks at a description in one call


def as_problem(problem: OnePassProblem | str | Path | None, seed: int | None) -> OnePassProblem:
    """The problem that was named, given or left out, with this seed."""
    base = OnePassProblem() if problem is None else load(problem) if isinstance(problem, str | Path) else problem
    if not isinstance(base, OnePassProblem):
        raise RefusalError(
            f"exit times are about training on fresh samples, and this problem is training on {base.family}."
        )
    return base if seed is None else base.replace(**{"run.seed": seed})


def chain_exits(
    problem: OnePassProblem,
    starts: Start,
    threshold: float,
    horizon: float,
    resolution: float,
    key: jax.Array,
    watch: Watcher,
    walker: Walker = OverlapChain(),  # noqa: B008
) -> Times:
    """The exit time of one replica of real SGD per start, infinite when it does not leave before the horizon."""
    m = model(problem)
    passage = begin_passage(walker, m, starts, threshold, key)
    stride = stride_for(walker, m, resolution)
    for end in np.linspace(0, horizon, _PARTS + 1)[1:]:
        passage = advance_passage(walker, m, passage, jnp.asarray(end), stride)
        watch(walker.name, float(end))
        if np.isfinite(passage.exits).all():
            break
    return np.asarray(passage.exits)


def description_exits(
    one: Description,
    problem: OnePassProblem,
    starts: Start,
    threshold: float,
    horizon: float,
    resolution: float,
    key: jax.Array,
    watch: Watcher,
) -> Times:
    """The same for any description with replicas, seen through its risk every `resolution`."""
    m = model(problem)
    state = scattered(one, m, starts, key)
    state, begun = _looks(one, m, state, jnp.zeros(_CHUNK))
    grid, seen = np.zeros(1), np.asarray(begun)[:1]
    level, exits = (1 - threshold) * seen[0], np.full(seen.shape[1], np.inf)
    while grid[-1] < horizon and not np.isfinite(exits).all():
        times = grid[-1] + resolution * np.arange(1, _CHUNK + 1)
        state, risks = _looks(one, m, state, jnp.asarray(times))
        grid, seen = np.append(grid[-1], times), np.concatenate([seen[-1:], np.asarray(risks)])
        exits = np.minimum(exits, crossing(grid, seen, level))
        watch(one.name, float(times[-1]))
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
def _looks(one: Description, m: Model, state: Any, times: jax.Array) -> tuple[Any, jax.Array]:
    state, overlaps = one.advance(m, state, times)
    return state, one.observe(m, overlaps)["risk"]
