"""Putting accounts side by side: one shared start, every description that holds and fits into the budget, one verdict."""

from collections.abc import Iterable, Mapping
from functools import partial
from math import inf
from pathlib import Path

import xarray as xr

from dimfree.comparison.budget import LeftOut, own_problem, plan
from dimfree.comparison.comparison import Comparison
from dimfree.comparison.run import own_key, settled, starts_of
from dimfree.description import AnyDescription, Description
from dimfree.errors import DivergenceError, ProblemError, RefusalError, suggest
from dimfree.problem import Problem
from dimfree.progress import Watcher, bars, nobody
from dimfree.registry import candidates, description
from dimfree.results.checkpoint import Checkpoints, checkpoints_in
from dimfree.results.record import record_starts


def compare(
    problem: Problem | str | Path | None = None,
    *,
    until: float | None = None,
    replicas: int | Mapping[str, int] | None = None,
    seed: int | None = None,
    only: Iterable[str | AnyDescription] | None = None,
    budget: float | None = 60.0,
    checkpoint: str | Path | None = None,
    progress: bool = False,
    watch: Watcher = nobody,
) -> Comparison:
    """Run every description that does not refuse and that fits into `budget` seconds, all from the same starts.

    Arguments:
        problem: a Problem, or the path of a TOML file; without it, the embedded problem
        until, seed: instead of the problem's own
        replicas: instead of the number in the problem; {"NAME": 400} for single descriptions
        only: the descriptions to run, as names or as objects; two of one kind need different labels
        budget: CPU seconds that all descriptions may take together; None for no limit
        checkpoint: a folder in which a long comparison keeps its state, so that it can continue after an
            interruption
        progress: whether to show the progress
        watch: called with the name of what runs and the share of its work that is done

        comparison = df.compare(df.Problem(dimension=200), until=5.0, replicas=4)
        print(comparison.summary())
    """
    everywhere = None if isinstance(replicas, Mapping) else replicas
    each = dict(replicas) if isinstance(replicas, Mapping) else {}
    asked = settled(problem, {"run.until": until, "run.replicas": everywhere, "run.seed": seed})
    with bars(progress) as shown, checkpoints_in(checkpoint) as kept:
        return compared(asked, each, only, budget, shown if progress else watch, kept)


def compared(
    problem: Problem,
    each: Mapping[str, int],
    only: Iterable[str | AnyDescription] | None,
    budget: float | None,
    watch: Watcher,
    kept: Checkpoints | None,
) -> Comparison:
    """What `compare` returns. Checkpoints stay: the caller removes them once the results are written."""
    wanted = named(problem, only, "only")
    for title in each:
        if title not in {one.title for one in wanted}:
            raise ProblemError(
                f"replicas got {title!r}, which does not run; {suggest(title, (one.title for one in wanted))}"
            )
    planned = plan(problem, wanted, _limit(budget), each)
    results, failed = _recorded(problem, planned.chosen, each, watch, kept)
    left_out = (*planned.left_out, *failed)
    if not results:
        raise _nothing_ran(left_out, planned.chosen)
    tree = xr.DataTree.from_dict(results)
    tree.attrs.update({"problem": next(iter(results.values())).attrs["problem"], "digest": problem.digest})
    return Comparison(problem, tree, left_out)


def _recorded(
    problem: Problem,
    chosen: tuple[AnyDescription, ...],
    each: Mapping[str, int],
    watch: Watcher,
    kept: Checkpoints | None,
) -> tuple[dict[str, xr.Dataset], list[LeftOut]]:
    """The accounts that ran to their end, and those that diverged."""
    results, failed, starts = dict[str, xr.Dataset](), list[LeftOut](), starts_of(problem, chosen)
    for one in chosen:
        own = own_problem(problem, one, each)
        report = partial(watch, one.title)
        try:
            results[one.title] = record_starts(own, one, starts, own_key(problem, one.title), report, kept)
        except DivergenceError as failure:
            failed.append(LeftOut(one.title, str(failure)))
    return results, failed


def _limit(budget: float | None) -> float:
    if budget is None:
        return inf
    if not isinstance(budget, int | float) or not budget > 0:
        raise ProblemError(
            f"budget = {budget!r} is not a number of seconds; give a positive one, or None for no limit."
        )
    return float(budget)


def named(problem: Problem, only: Iterable[str | AnyDescription] | None, argument: str) -> list[AnyDescription]:
    """The descriptions that were asked for, or all that apply to this kind of problem; their titles must differ."""
    if only is None:
        return candidates(problem)
    if isinstance(only, str):
        only = [only]
    wanted = [description(one) if isinstance(one, str) else _checked(one, argument) for one in only]
    titles = [one.title for one in wanted]
    for title in titles:
        if titles.count(title) > 1:
            name = next(type(one).__name__ for one in wanted if one.title == title)
            raise ProblemError(
                f"two descriptions are called {title!r}; give one of them a label, for example {name}(label='another')."
            )
    return wanted


def _checked(one: AnyDescription, argument: str) -> AnyDescription:
    if isinstance(one, Description):
        return one
    name = one.__name__ if isinstance(one, type) else repr(one)
    instead = f"the object {name}(...)" if isinstance(one, type) else "a name such as those of `dimfree list`"
    raise ProblemError(f"{argument} got {name}, which is not a description; give {instead}.")


def _nothing_ran(left_out: tuple[LeftOut, ...], tried: tuple[AnyDescription, ...]) -> Exception:
    reasons = " ".join(f"{left.name}: {left.reason}" for left in left_out)
    if tried:
        return DivergenceError(f"every description failed. {reasons}")
    return (
        RefusalError(f"no description can be run. {reasons}")
        if left_out
        else ProblemError("no description was asked for.")
    )
