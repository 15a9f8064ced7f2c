"""All accounts of one problem side by side: distances, verdict, table, figure, file."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr
from rich.console import Console
from rich.table import Table

from dimfree.comparison.budget import LeftOut
from dimfree.comparison.distance import Distance, distance
from dimfree.comparison.figure import draw_observable
from dimfree.drawing import save_drawing
from dimfree.errors import DimfreeError, OutputError
from dimfree.problem import Problem, loads
from dimfree.registry import setting_of
from dimfree.results.store import load, save


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
        return next((name for name in self.names if self.is_real(name)), None)

    def is_real(self, name: str) -> bool:
        """Whether an account is an experiment."""
        return bool(self.tree[name].attrs["real"])

    @property
    def accounts(self) -> dict[str, xr.Dataset]:
        """Every account by its title."""
        return {name: self.tree[name].to_dataset() for name in self.names}

    def distances(self) -> dict[str, Distance]:
        """Each account against real SGD, or against the first account when SGD did not run."""
        reference = self.tree[self.reference or self.names[0]].to_dataset()
        return {name: distance(self.tree[name].to_dataset(), reference) for name in self.names}

    def verdict(self) -> str:
        """Which description holds, in a sentence or two."""
        if self.reference is None:
            return "Real SGD was not run, so nothing here is checked against it."
        theories = {name: d for name, d in self.distances().items() if not self.is_real(name)}
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
        """Draw the figure of the problem's setting into a file."""
        save_drawing(lambda figure: setting_of(self.problem).draw(figure, self.problem, self.accounts), Path(path))
        return Path(path)

    def plot_observable(self, name: str, path: str | Path) -> Path:
        """Draw one observable of every account that has it into a file."""
        save_drawing(lambda figure: draw_observable(figure, self.accounts, name), Path(path))
        return Path(path)

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.tree, Path(path))
        return Path(path)


def alone(problem: Problem, data: xr.Dataset) -> Comparison:
    """One account by itself, with all that a comparison can do."""
    tree = xr.DataTree.from_dict({data.attrs["title"]: data})
    tree.attrs.update({key: data.attrs[key] for key in ("problem", "digest")})
    return Comparison(problem, tree, ())


def opened(path: str | Path) -> Comparison:
    """The comparison that was saved in a file, its problem included."""
    tree = load(path)
    if "problem" not in tree.attrs or not tree.children:
        raise OutputError(f"{str(path)!r} holds no comparison; give a file that `dimfree compare` wrote.")
    try:
        problem = loads(tree.attrs["problem"])
    except DimfreeError as failure:
        raise OutputError(f"the problem in {str(path)!r} cannot be read again: {failure}") from None
    return Comparison(problem, tree, ())


def _deviation(d: Distance) -> tuple[str, str, str]:
    return f"{d.final_sigmas:+.1f}", f"{d.final_percent:+.2g}", f"{d.mean_percent:.2g}"
