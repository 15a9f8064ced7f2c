"""Putting accounts side by side: one shared start, every description that holds and fits, one verdict."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import jax
import xarray as xr
from rich.console import Console
from rich.table import Table

from dimfree.comparison.budget import LeftOut, plan
from dimfree.comparison.distance import Distance, distance
from dimfree.description import Description
from dimfree.errors import DivergenceError, ProblemError, RefusalError
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import load
from dimfree.dataset.problem import DataSetProblem
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.problem.problem import Problem
from dimfree.registry import description as named
from dimfree.registry import descriptions
from dimfree.results.record import record
from dimfree.results.store import save

REFERENCES = ("sgd", "chain", "multi-pass", "neurons")  # real SGD, in the order of preference

Watcher = Callable[[str, float], None]  # is told which description reached which time


class Comparison(NamedTuple):
    """All accounts of one problem, as a tree with one dataset per description."""

    problem: Problem
    tree: xr.DataTree
    left_out: tuple[LeftOut, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The descriptions that ran."""
        return tuple(self.tree.children)

    @property
    def reference(self) -> str | None:
        """The account that the others are measured against: real SGD, when it ran."""
        return next((name for name in REFERENCES if name in self.names), None)

    def distances(self) -> dict[str, Distance]:
        """Each account against real SGD, or against the first account when SGD did not run."""
        reference = self.tree[self.reference or self.names[0]].to_dataset()
        return {name: distance(self.tree[name].to_dataset(), reference) for name in self.names}

    def verdict(self) -> str:
        """Which description holds, in a sentence or two."""
        if self.reference is None:
            return "Real SGD was not run, so nothing here is checked against it."
        theories = {name: d for name, d in self.distances().items() if name not in REFERENCES}
        if not theories:
            return "Only real SGD was run."
        best = min(theories, key=lambda name: theories[name].mean_percent)
        parts = [
            f"{name} {d.verdict} ({d.mean_percent:.2g} % from {self.reference} on average)"
            for name, d in theories.items()
        ]
        return f"{'; '.join(parts)}. Closest: {best}."

    def __rich__(self) -> Table:
        """The summary table."""
        table = Table(title="What SGD does, and what its limits say", title_justify="left")
        for heading in ("description", "final risk", "σ from SGD", "% from SGD", "mean %", "CPU s", "verdict"):
            table.add_column(heading, justify="left" if heading in ("description", "verdict") else "right")
        for name, d in self.distances().items():
            is_reference = name == self.reference
            error = f" ± {d.final_error:.1g}" if d.final_error else ""
            off = ("", "", "") if is_reference or not self.reference else _deviation(d)
            verdict = "the reference" if is_reference else d.verdict if self.reference else "not checked"
            cpu = f"{self.tree[name].attrs['cpu_seconds']:.1f}"
            table.add_row(name, f"{d.final_risk:.4g}{error}", *off, cpu, verdict)
        return table

    def summary(self) -> str:
        """The table, what was left out, and the verdict, as text."""
        console = Console(file=io.StringIO(), width=110)
        console.print(self)
        for left in self.left_out:
            console.print(f"left out: {left.name}: {left.reason}", soft_wrap=True, highlight=False)
        console.print(self.verdict(), soft_wrap=True, highlight=False)
        text: str = console.file.getvalue()  # type: ignore[attr-defined]
        return text

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data, for --json."""
        return {
            "problem": self.problem.model_dump(mode="json"),
            "reference": self.reference,
            "descriptions": {
                name: d._asdict() | {"verdict": d.verdict, "cpu_seconds": self.tree[name].attrs["cpu_seconds"]}
                for name, d in self.distances().items()
            },
            "left_out": {left.name: left.reason for left in self.left_out},
            "verdict": self.verdict(),
        }

    def plot(self, path: str | Path) -> Path:
        """Draw the risk and the overlaps into a file."""
        from dimfree.comparison import dataset_figure, figure, neurons_figure

        drawings = {DataSetProblem.family: dataset_figure, TwoGaussiansProblem.family: neurons_figure}
        return drawings.get(self.problem.family, figure).draw(self, Path(path))

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.tree, Path(path))
        return Path(path)


def compare(
    problem: Problem | str | Path | None = None,
    *,
    until: float | None = None,
    replicas: int | None = None,
    seed: int | None = None,
    only: Iterable[str | Description] | None = None,
    budget: float = 120.0,
    fan: int | None = None,
    watch: Watcher = lambda name, reached: None,
) -> Comparison:
    """Run every description that does not refuse and fits into `budget` seconds, on one shared start.

    `fan` gives the overlap chain that many replicas, for the distribution of real SGD at the true dimension.
    """
    problem = _settled(problem, {"run.until": until, "run.replicas": replicas, "run.seed": seed})
    ours = [one for one in descriptions().values() if one.family == problem.family]
    candidates = [named(d) if isinstance(d, str) else d for d in only] if only else ours
    planned = plan(problem, candidates, budget)
    key = jax.random.key(problem.run.seed)
    start = planned.chosen[0].start(problem, jax.random.fold_in(key, 0)) if planned.chosen else None
    results, left_out = {}, list(planned.left_out)
    for chosen in planned.chosen:
        own = problem.replace(**{"run.replicas": fan}) if fan and chosen.name == "chain" else problem
        own_key = jax.random.fold_in(key, crc32(chosen.name.encode()))
        try:
            results[chosen.name] = record(own, chosen, start, own_key, lambda t, name=chosen.name: watch(name, t))  # type: ignore[misc]
        except DivergenceError as failure:
            left_out.append(LeftOut(chosen.name, str(failure)))
    if not results:
        raise _nothing_ran(left_out, planned.chosen)
    tree = xr.DataTree.from_dict(results)
    tree.attrs.update({"problem": next(iter(results.values())).attrs["problem"], "digest": problem.digest})
    return Comparison(problem, tree, tuple(left_out))


def _settled(problem: Problem | str | Path | None, changes: dict[str, Any]) -> Problem:
    base = OnePassProblem() if problem is None else problem if isinstance(problem, Problem) else load(problem)
    given = {key: value for key, value in changes.items() if value is not None}
    return base.replace(**given) if given else base


def _nothing_ran(left_out: list[LeftOut], tried: tuple[Description, ...]) -> Exception:
    reasons = " ".join(f"{left.name}: {left.reason}" for left in left_out)
    if tried:
        return DivergenceError(f"every description failed. {reasons}")
    return (
        RefusalError(f"no description can be run. {reasons}")
        if left_out
        else ProblemError("no description was asked for.")
    )


def _deviation(d: Distance) -> tuple[str, str, str]:
    return f"{d.final_sigmas:+.1f}", f"{d.final_percent:+.2g}", f"{d.mean_percent:.2g}"
