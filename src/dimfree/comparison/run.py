"""The verbs for one account: solve a theory, simulate the real thing, and get a labelled dataset."""

from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import jax
import numpy as np
import xarray as xr

from dimfree.description import AnyDescription, Stationary
from dimfree.errors import ProblemError
from dimfree.problem import Problem, load
from dimfree.programs.compiled import brief_program
from dimfree.progress import Watcher, bars, nobody
from dimfree.registry import description, setting_of
from dimfree.results.checkpoint import Checkpoints, checkpoints_in
from dimfree.results.record import record_end, record_starts, refuse, shared_start


def settled(problem: Problem | str | Path | None, changes: dict[str, Any]) -> Problem:
    """The problem that was given as an object or a file, or the embedded one, with some keys changed."""
    if isinstance(problem, dict):
        raise ProblemError("the problem is a dict; write df.Problem(**values), or give the path of a TOML file.")
    if not isinstance(problem, Problem | str | Path | None):
        raise ProblemError(f"the problem is a {type(problem).__name__}; give a df.Problem, or the path of a TOML file.")
    base = Problem() if problem is None else problem if isinstance(problem, Problem) else load(problem)
    given = {key: value for key, value in changes.items() if value is not None}
    return base.replace(**given) if given else base


def starts_of(problem: Problem, chosen: tuple[AnyDescription, ...]) -> list[object]:
    """The starts that all accounts share, as many as the run asks for; the first is the same however many there are."""
    if not chosen:
        return []
    key = _key(problem.run.seed, 0)
    others = [jax.random.fold_in(key, number) for number in range(1, problem.run.starts)]
    return [shared_start(problem, chosen, one) for one in (key, *others)]


def own_key(problem: Problem, title: str) -> jax.Array:
    """The key of one account's random numbers."""
    return _key(problem.run.seed, crc32(title.encode()))


def _key(seed: int, number: int) -> jax.Array:
    return _folded(*jax.device_put((np.int64(seed), np.uint32(number))))


@brief_program
def _folded(seed: jax.Array, number: jax.Array) -> jax.Array:
    """The key for a seed and a number, in one compiled program; jax's own functions would compile four."""
    return jax.random.fold_in(jax.random.key(seed), number)


def solve(
    problem: Problem | str | Path | None = None,
    by: str | AnyDescription | None = None,
    *,
    until: float | None = None,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
    watch: Watcher = nobody,
) -> xr.Dataset:
    """Solve one limit theory; `simulate` runs an experiment instead, and `compare` does both side by side.

    A theory solves equations and runs no SGD. Some theories draw random numbers, for fluctuations or to estimate
    averages, and so have several replicas; `dimfree list` names all of them.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        by: the theory, as a name or an object; without it, the main theory of the problem's setting
        until, seed: instead of the problem's own
        checkpoint: a folder in which a long run keeps its state, so that it can continue after an interruption
        progress: whether to show the progress
        watch: called with the name of what runs and the share of its work that is done

    Returns the observables as an xarray.Dataset over (time, replica, ...), with provenance in its attrs. The result of
    a theory that only knows the end of training has no time.

        risk = df.solve(df.Problem(dimension=200), until=5.0)["risk"]
    """
    chosen = settled(problem, {"run.until": until, "run.seed": seed})
    with bars(progress) as shown, checkpoints_in(checkpoint) as kept:
        return run_one(chosen, by or setting_of(chosen).theory, shown if progress else watch, kept)


def simulate(
    problem: Problem | str | Path | None = None,
    by: str | AnyDescription | None = None,
    *,
    until: float | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = False,
    watch: Watcher = nobody,
) -> xr.Dataset:
    """Run real SGD, step by step; `solve` computes what a theory predicts, and `compare` does both side by side.

    The result has one curve for each of `replicas` independent runs. `dimfree list` names the experiments.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        by: the experiment, as a name or an object; without it, the main experiment of the problem's setting
        until, replicas, seed: instead of the problem's own
        checkpoint: a folder in which a long run keeps its state, so that it can continue after an interruption
        progress: whether to show the progress
        watch: called with the name of what runs and the share of its work that is done

        risk = df.simulate(df.Problem(dimension=200), until=5.0, replicas=4)["risk"].mean("replica")
    """
    chosen = settled(problem, {"run.until": until, "run.replicas": replicas, "run.seed": seed})
    with bars(progress) as shown, checkpoints_in(checkpoint) as kept:
        return run_one(chosen, by or setting_of(chosen).simulation, shown if progress else watch, kept)


def run_one(
    problem: Problem, by: str | AnyDescription, watch: Watcher, checkpoints: Checkpoints | None = None
) -> xr.Dataset:
    """One account, from the same start as in a comparison: the same seed gives the same numbers."""
    one = description(by) if isinstance(by, str) else by
    if isinstance(one, Stationary):
        return record_end(problem, one)
    refuse(problem, one)  # checked before a start is drawn
    key, report = own_key(problem, one.title), partial(watch, one.title)
    return record_starts(problem, one, starts_of(problem, (one,)), key, report, checkpoints)
