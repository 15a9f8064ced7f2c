"""The loop that runs any description: progress, interruption and divergence are handled here and nowhere else."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain

import jax
import numpy as np
import xarray as xr

from dimfree.description import AnyDescription, Ask, Cost, Model, Piece, Stationary, Times, Values
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.machine import BASELINE, SHARE, duration, machine_memory
from dimfree.problem import Problem
from dimfree.programs.compiled import counted
from dimfree.progress import ShareWatcher, unseen
from dimfree.registry import setting_of
from dimfree.results.checkpoint import Checkpoint, Checkpoints
from dimfree.results.dataset import dataset, warnings_of
from dimfree.setting import model_of, speaking, why_not

_AXES = {"time": 0, "replica": 1}


@counted()
def record(
    problem: Problem,
    one: AnyDescription,
    start: object,
    key: jax.Array,
    watch: ShareWatcher = unseen,
    replicas: int | None = None,
    checkpoint: Checkpoint | None = None,
) -> xr.Dataset:
    """Run one description over the times of the problem and label what it observed; `replicas` replaces the problem's."""
    refuse(problem, one)
    wall, cpu = time.perf_counter(), time.process_time()
    asked = Ask(problem.times, replicas or problem.run.replicas, key)
    earlier = checkpoint.earlier() if checkpoint else None
    if earlier and earlier.reached:
        asked = asked._replace(reached=earlier.reached)
    pieces = chain([earlier] if earlier else [], speaking(one).account(model_of(problem), start, asked))
    joined = join(problem, one, pieces, watch, checkpoint)
    warnings = speaking(one).warns(problem, model_of(problem), joined)
    details = speaking(one).details(problem, model_of(problem), joined)
    spent = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return dataset(problem, one, asked.times, joined, spent, warnings).assign_attrs(details)


def refuse(problem: Problem, one: AnyDescription) -> None:
    """Raise an error if a description refuses a problem, or if the run does not fit into memory."""
    refusal = why_not(one, problem)
    if refusal:
        raise RefusalError(f"{one.title} refuses: {refusal}")
    price_of(one, problem)


def join(
    problem: Problem,
    one: AnyDescription,
    given: Iterable[Piece],
    watch: ShareWatcher = unseen,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Values]:
    """Join the pieces of an account; each is checked, and progress is reported, as it comes."""
    pieces = list[Piece]()
    for piece in checked(problem, one, given):
        pieces.append(piece._replace(reached=None))  # only the last state is needed
        if checkpoint:
            checkpoint.keep(partial(joined, pieces), piece)
        watch(piece.done)
    return joined(pieces)


def checked(problem: Problem, one: AnyDescription, given: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces of an account, each checked as it comes: an error with a time where numbers are not finite."""
    done = 0  # times of earlier pieces
    for piece in given:
        times = problem.times if piece.along == "replica" else problem.times[done : done + _length(piece)]
        _check(problem, one, times, piece)
        done += _length(piece)
        yield piece


def joined(pieces: Sequence[Piece]) -> dict[str, Values]:
    """All observables of an account, with leading axes (time, replica)."""
    axis, names = _AXES[pieces[0].along], pieces[0].observables
    return {name: np.concatenate([piece.observables[name] for piece in pieces], axis=axis) for name in names}


@counted()
def record_end(problem: Problem, one: Stationary[Model, object]) -> xr.Dataset:
    """Solve a stationary description and label what it gives, without times."""
    refuse(problem, one)
    wall, cpu = time.perf_counter(), time.process_time()
    found = {name: np.asarray(values) for name, values in one.solve(model_of(problem)).items()}
    warnings = one.warns(problem, model_of(problem), found)
    spent = {"wall_seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return dataset(problem, one, None, found, spent, warnings)


def record_starts(
    problem: Problem,
    one: AnyDescription,
    starts: Sequence[object],
    key: jax.Array,
    watch: ShareWatcher = unseen,
    checkpoints: Checkpoints | None = None,
) -> xr.Dataset:
    """Run one description from several starts, which share the replicas; a deterministic account has one replica per start."""
    if len(starts) == 1:
        kept = checkpoints.of(problem, one, 0) if checkpoints else None
        return record(problem, one, starts[0], key, watch, checkpoint=kept)
    parts = []
    for number, start in enumerate(starts):
        report = lambda done, before=number: watch((before + done) / len(starts))  # noqa: E731
        kept = checkpoints.of(problem, one, number) if checkpoints else None
        share = problem.run.replicas // len(starts)
        part = record(problem, one, start, jax.random.fold_in(key, number), report, share, kept)
        parts.append(part.assign_coords(start=("replica", np.full(part.sizes["replica"], number))))
    joined = xr.concat(parts, "replica", data_vars="all", coords="minimal", combine_attrs="override")
    spent = {name: sum(part.attrs[name] for part in parts) for name in ("wall_seconds", "cpu_seconds")}
    said = dict.fromkeys(line for part in parts for line in warnings_of(part))
    return joined.assign_attrs(spent | {"warnings": "\n".join(said)})


def cost_of(one: AnyDescription, problem: Problem) -> Cost:
    """The cost of a description that does not refuse, over all starts."""
    model, run = model_of(problem), problem.run
    cost = speaking(one).cost(problem, model)
    share, whole = (speaking(one).replicas(model, asked) for asked in (run.replicas // run.starts, run.replicas))
    times = 1 if share < whole else run.starts  # either starts share the replicas, or each start has all of them
    return cost._replace(seconds=times * cost.seconds, memory=times * cost.memory + BASELINE)


def beyond_memory(cost: Cost) -> str | None:
    """Why a run does not fit into the machine's memory, in one sentence; None when it does."""
    available = machine_memory()
    if cost.memory <= SHARE * available:
        return None
    return (
        f"it needs {cost.steps:.3g} steps, about {duration(cost.seconds)}, and {cost.memory / 1e9:.3g} GB of memory "
        f"where the machine has {available / 1e9:.3g}; lower the dimension or run.replicas."
    )


def price_of(one: AnyDescription, problem: Problem) -> Cost:
    """The cost of a description that will be run: what does not fit into memory is refused before it takes any."""
    cost = cost_of(one, problem)
    if excess := beyond_memory(cost):
        raise RefusalError(f"{one.title} is not started: {excess}")
    return cost


def shared_start(problem: Problem, chosen: tuple[AnyDescription, ...], key: jax.Array) -> object:
    """One start that has what all chosen descriptions need."""
    needs = frozenset[str]().union(*(one.needs for one in chosen))
    return setting_of(problem).start_of(problem, key, needs)


def _length(piece: Piece) -> int:
    return len(next(iter(piece.observables.values())))


def _check(problem: Problem, one: AnyDescription, times: Times, piece: Piece) -> None:
    """Raise an error with a time and a suggestion where numbers are not finite, instead of returning a curve of nan."""
    unknown = piece.observables.keys() - setting_of(problem).variables.keys() - one.variables.keys()
    if unknown:
        raise ProblemError(
            f"{one.title} observes {sorted(unknown)[0]!r}, which is not declared; add it to the description's variables."
        )
    finite = [np.isfinite(values).reshape(len(times), -1).all(axis=1) for values in piece.observables.values()]
    lost = ~np.stack(finite).all(axis=0)
    if lost.any() and times[np.argmax(lost)] == 0:
        raise DivergenceError(
            f"{one.title} is not finite even at the start; weights, labels or their noise are too large for floating point."
        )
    if lost.any():
        raise DivergenceError(f"{one.title} diverges before t = {times[np.argmax(lost)]:.3g}; {problem.remedy}.")
