"""The one loop that advances a description: progress, interruption and divergence are handled here and nowhere else."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from dimfree.description import Description
from dimfree.errors import DivergenceError, RefusalError
from dimfree.problem.problem import Problem
from dimfree.results.dataset import dataset

Watcher = Callable[[float], None]  # is told the time reached
_Observables = dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"]


class Chunk(NamedTuple):
    """Observables at the next few times."""

    times: "np.ndarray[tuple[int], np.dtype[np.float64]]"
    observables: _Observables


def record(
    problem: Problem, description: Description, start: Any, key: jax.Array, watch: Watcher = lambda reached: None
) -> xr.Dataset:
    """Run one description over the times of the problem and label what it observed."""
    refusal = description.refusal(problem)
    if refusal:
        raise RefusalError(f"{description.name} refuses: {refusal}")
    wall, cpu = time.perf_counter(), time.process_time()
    chunks = []
    for chunk in chunks_of(problem, description, start, key):
        chunks.append(chunk)
        watch(float(chunk.times[-1]))
    observables = {
        name: np.concatenate([chunk.observables[name] for chunk in chunks]) for name in chunks[0].observables
    }
    spent = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return dataset(problem, description, np.concatenate([chunk.times for chunk in chunks]), observables, spent)


def chunks_of(problem: Problem, description: Description, start: Any, key: jax.Array) -> Iterator[Chunk]:
    """Advance chunk by chunk; every chunk has the same shape, so there is one compilation."""
    m, times = description.model(problem), problem.times
    size = min(description.chunk, len(times))
    replicas = problem.run.replicas if description.stochastic else 1
    state = description.begin(m, start, replicas, key)
    for first in range(0, len(times), size):
        asked = times[first : first + size]
        padded = np.pad(asked, (0, size - len(asked)), mode="edge")
        advance = _compiled if description.compiled else _advance
        state, observed = advance(description, m, state, jnp.asarray(padded))
        observables = {name: np.asarray(values)[: len(asked)] for name, values in observed.items()}
        _check(description, m, state, asked, observables)
        yield Chunk(asked, observables)


def _advance(description: Description, m: Any, state: Any, times: jax.Array) -> tuple[Any, dict[str, jax.Array]]:
    state, overlaps = description.advance(m, state, times)
    observed: dict[str, jax.Array] = description.observe(m, overlaps)
    return state, observed


_compiled = eqx.filter_jit(_advance)


def _check(description: Description, m: Any, state: Any, times: Any, observables: _Observables) -> None:
    """Divergence is an answer, with a time and a suggestion, not a curve of NaN."""
    failure = description.failure(m, state)
    if failure:
        raise DivergenceError(failure)
    finite = np.stack([np.isfinite(values).reshape(len(times), -1).all(axis=1) for values in observables.values()])
    bad = ~finite.all(axis=0)
    if bad.any():
        raise DivergenceError(description.divergence(m, float(times[np.argmax(bad)])))
