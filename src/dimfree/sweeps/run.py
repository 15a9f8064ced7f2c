"""Run a sweep: compute every point that is missing, and return one dataset."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from dimfree.comparison.compare import named
from dimfree.comparison.run import settled
from dimfree.description import AnyDescription
from dimfree.errors import OutputError, ProblemError
from dimfree.problem import Problem
from dimfree.progress import Watcher, bars, nobody
from dimfree.registry import setting_of
from dimfree.results.dataset import origin
from dimfree.sweeps.assembly import assemble, layout
from dimfree.sweeps.axes import axes
from dimfree.sweeps.batches import Batch, Outcome, batches, without_problem
from dimfree.sweeps.engines import Engine, Here, Processes
from dimfree.sweeps.names import check_names
from dimfree.sweeps.points import Sweep
from dimfree.sweeps.room import refuse_large_grid, refuse_large_results
from dimfree.sweeps.store import Shelf, Store

_MOST_STEPS = 10**15  # whole numbers up to here are exact as floats


def sweep(
    problem: Problem | str | Path | None = None,
    over: Mapping[str, Any] | None = None,
    *,
    descriptions: Iterable[str | AnyDescription] | str | AnyDescription | None = None,
    steps: int | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    store: str | Path | None = None,
    processes: int | None = None,
    cluster: str | None = None,
    slurm: Mapping[str, Any] | None = None,
    retry: bool = False,
    progress: bool = False,
    watch: Watcher = nobody,
) -> xr.Dataset:
    """Vary keys of a problem and compute every point of the grid.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        over: the axes of the grid: a list of values for each key of the problem
        descriptions: names or objects; without them, the theory of the problem's setting
        steps: number of training steps of every point; without it, all points share the times of the run
        replicas, seed: instead of the problem's own
        store: a folder that keeps every finished point, so that the same sweep can continue after an
            interruption
        processes: number of processes on this machine; without it, this one alone
        cluster: "local", the address of a Dask scheduler, or "slurm"
        slurm: the options of a SLURM job: see docs/sweeps.md
        retry: whether to try failed points again
        progress: whether to show the progress
        watch: called with "sweep" and the share of points that are finished

    Returns the observables over (description, *axes, time, replica, ...); `failure` says why where there are none.

        risk = df.sweep(df.Problem(dimension=200), over={"training.learning_rate": [0.5, 1.0]}, store="rates.zarr")["risk"]
    """
    given = settled(problem, {"run.replicas": replicas, "run.seed": seed})
    wanted = [descriptions] if isinstance(descriptions, str) or not isinstance(descriptions, Iterable) else descriptions
    plan = define(given, over or {}, [one for one in wanted if one is not None], steps)
    kept = Store(Path(store)) if store is not None else Shelf()
    with bars(progress) as shown:
        return run(plan, kept, engine(processes, cluster, slurm), retry, shown if progress else watch)


def define(
    problem: Problem,
    over: Mapping[str, Any],
    descriptions: Iterable[str | AnyDescription],
    steps: object = None,
    figure: Mapping[str, Any] | None = None,
    admitted: Callable[[Problem], Problem] | None = None,
) -> Sweep:
    """Make a sweep and check it before any work is spent; `admitted` is applied to every one of its problems."""
    if steps is not None and (not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= _MOST_STEPS):
        raise ProblemError(
            f"steps = {steps!r} was given; give the number of steps of training, at least 1 and at most {_MOST_STEPS:.0e}."
        )
    asked = list(descriptions) or [setting_of(problem).theory]
    described = tuple(named(problem, asked, "descriptions"))
    refuse_large_grid(problem, over, described)
    found = axes(problem, over)
    check_names(problem, found, described)
    plan = Sweep(problem, found, described, steps, figure or {})
    return plan if admitted is None else replace(plan, admitted=admitted)


def engine(processes: int | None, cluster: str | None, slurm: Mapping[str, Any] | None = None) -> Engine:
    """The engine that was asked for."""
    if cluster is not None:
        from dimfree.sweeps.cluster import Cluster

        return Cluster(cluster, processes, slurm)
    return Here() if processes is None else Processes(processes)


def run(plan: Sweep, shelf: Shelf, by: Engine, retry: bool = False, watch: Watcher = nobody) -> xr.Dataset:
    """Compute all points that are missing, and read all; points that cannot be read are computed anew."""
    where, attrs = layout(plan), about(plan)
    shelf.prepare(where, attrs)
    if retry:
        for key in where.keys:
            if shelf.has(key) and shelf.failure(key):
                shelf.forget(key)
    work = batches(plan.points)
    _fill(plan, shelf, work, by, watch)
    found = _read(shelf, where.keys)
    if damaged := {*where.keys} - found.keys():
        for key in damaged:
            shelf.forget(key)
        _fill(plan, shelf, work, by, watch)
        found |= {key: shelf.get(key) for key in damaged}
    return assemble(where, found, attrs)


def _fill(plan: Sweep, shelf: Shelf, work: Iterable[Batch], by: Engine, watch: Watcher) -> None:
    """Compute every point that the store lacks; other processes may fill the same store."""
    for outcome in without_problem(plan.points):
        if not shelf.has(outcome.key):
            shelf.put(outcome)
    done, largest = sum(shelf.has(point.key) for point in plan.points), 0
    watch("sweep", done / plan.size)
    for outcomes in by.map(batch for batch in work if not all(map(shelf.has, batch.keys))):
        for outcome in outcomes:
            done += not shelf.has(outcome.key)
            shelf.put(outcome)
            watch("sweep", done / plan.size)
            if outcome.data is not None and outcome.data.nbytes > largest:
                largest = outcome.data.nbytes
                refuse_large_results(plan.size, largest)


def _read(shelf: Shelf, keys: Iterable[str]) -> dict[str, Outcome]:
    """All points that can be read."""
    found = {}
    for key in keys:
        with suppress(OutputError):
            found[key] = shelf.get(key)
    return found


def about(plan: Sweep) -> dict[str, Any]:
    """The provenance of a sweep's numbers, the same for every run of it."""
    attributes = {name: value for name, value in origin(plan.problem).items() if name != "created_at"}
    return attributes | {"figure": json.dumps(plan.figure)}
