"""All accounts of one problem side by side: distances, verdict, table, figure, file."""

from collections.abc import Iterable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr
from rich.table import Table

from dimfree.animation import FILM, FRAMES, Scene, animate
from dimfree.comparison.budget import LeftOut
from dimfree.comparison.figure import draw_observable, observable_figure, observable_scene
from dimfree.comparison.judgement import Judgement, judge
from dimfree.comparison.notebook import frame, page
from dimfree.comparison.phrases import BEST_FIRST, OPEN, say
from dimfree.comparison.shares import shares_at_the_end
from dimfree.comparison.text import plain_text, slim, wrapped
from dimfree.comparison.words import grade, sentence
from dimfree.drawing import drawing
from dimfree.errors import DimfreeError, OutputError
from dimfree.pages import PAPER, Page
from dimfree.plain_data import plain
from dimfree.problem import Problem
from dimfree.problem.toml import read
from dimfree.progress import ShareWatcher, unseen
from dimfree.registry import setting_of
from dimfree.results.dataset import misfit, warnings_of
from dimfree.results.former import completed
from dimfree.results.store import load, save

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADINGS = ("description", "final risk", "σ off", "% off", "worst % at t", "verdict")
_REFERENCE = "the reference"


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

    def judgements(self) -> dict[str, Judgement]:
        """Each account against real SGD, or against the first account when SGD did not run."""
        reference = self.tree[self.reference or self.names[0]].to_dataset()
        return {name: judge(self.tree[name].to_dataset(), reference) for name in self.names}

    def verdicts(self) -> dict[str, str]:
        """One sentence for every account but the reference: whether it holds, until when, and by how much it fails."""
        if self.reference is None:
            return dict.fromkeys(self.names, "not checked")
        return {
            name: sentence(found, self._until) for name, found in self.judgements().items() if name != self.reference
        }

    def verdict(self) -> str:
        """Which description holds, in a sentence or two."""
        if self.reference is None:
            return "Real SGD was not run, so nothing here is checked against it."
        theories = {name: d for name, d in self.judgements().items() if not self.is_real(name)}
        if not theories:
            return say("alone")
        parts = [f"{name} {sentence(d, self._until)}" for name, d in theories.items()]
        return f"{'. '.join(parts)}. {self._closest(theories)}"

    def _closest(self, theories: dict[str, Judgement]) -> str:
        best = min(theories, key=lambda name: self._order(theories[name]))
        if grade(theories[best], self._until) == OPEN:
            return say("none closest", best=best)
        return say("closest", reference=str(self.reference), best=best)

    def _order(self, found: Judgement) -> tuple[int, float]:
        return BEST_FIRST.index(grade(found, self._until)), abs(found.worst_percent)

    @property
    def _until(self) -> float:
        return float(next(iter(self.accounts.values()))["time"].values[-1])

    def __repr__(self) -> str:
        """The comparison in one line."""
        return (
            f"<Comparison of {', '.join(self.names)} until t = {self._until:.3g}; print(_.summary()) for the verdict>"
        )

    def _repr_html_(self) -> str:
        return page(_HEADINGS, self._rows(), [*self.remarks(), self.verdict()], self.plot())

    def __rich__(self) -> Table:
        """The summary table."""
        table = Table(title="What SGD does, and what its limits say")
        for heading in _HEADINGS:
            table.add_column(heading, justify="left" if heading in ("description", "verdict") else "right")
        for row in self._rows():
            table.add_row(*row)
        return slim(table)

    def _rows(self) -> list[tuple[str, ...]]:
        rows, words = list[tuple[str, ...]](), self.grades()
        for name, d in self.judgements().items():
            error = f" ± {d.final_error:.1g}" if d.final_error else ""
            off = ("", "", "") if name == self.reference or not self.reference else _deviation(d)
            rows.append((name, f"{d.final_risk:.4g}{error}", *off, words.get(name, _REFERENCE)))
        return rows

    def grades(self) -> dict[str, str]:
        """The verdicts in a word or two, for every account but the reference."""
        if self.reference is None:
            return dict.fromkeys(self.names, "not checked")
        return {name: grade(found, self._until) for name, found in self.judgements().items() if name != self.reference}

    def remarks(self) -> list[str]:
        """What a reader of the table must know: what was left out, what to distrust, what the error bars mean."""
        lines = [f"left out: {left.name}: {left.reason}" for left in self.left_out]
        for name, data in self.accounts.items():
            lines += [f"warning: {name}: {line}" for line in warnings_of(data)]
        spent = ", ".join(f"{name} {data.attrs['cpu_seconds']:.1f}" for name, data in self.accounts.items())
        shares = shares_at_the_end(self.problem, self.accounts)
        return [*lines, *shares, *self._about_starts(), f"CPU seconds: {spent}."]

    def _about_starts(self) -> list[str]:
        run, scattering = self.problem.run, [data for data in self.accounts.values() if data.attrs["scatters"]]
        if not self.problem.shares_start or not any(data.sizes["replica"] > 1 for data in scattering):
            return []
        if run.starts > 1:
            return [f"error bars: over {run.starts} starts, which all accounts share."]
        return [
            "error bars: over replicas of one start; set run.starts to average over several, whose plateaus differ."
        ]

    def summary(self) -> str:
        """The table, the verdicts, what was left out and what to distrust, as text of at most 80 columns."""
        said = self.verdicts() if self.reference else {}
        width = max((len(name) for name in said), default=0) + 2
        verdicts = [wrapped(f"{name:<{width}}{words}", hanging=width) for name, words in said.items()]
        theories = {name: d for name, d in self.judgements().items() if not self.is_real(name)}
        end = self._closest(theories) if self.reference and theories else self.verdict()
        table = plain_text([self.__rich__()])
        return "\n".join([table, *([""] if verdicts else []), *verdicts, "", *map(wrapped, self.remarks()), end]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data; numbers that are not finite are None."""
        said, grades = self.verdicts(), self.grades() if self.reference else {}
        return {
            "problem": self.problem.model_dump(mode="json"),
            "reference": self.reference,
            "descriptions": {
                name: plain(d)
                | {
                    "verdict": said.get(name, _REFERENCE),
                    "grade": grades.get(name),
                    "warnings": list(warnings_of(self.accounts[name])),
                    "cpu_seconds": self.tree[name].attrs["cpu_seconds"],
                }
                for name, d in self.judgements().items()
            },
            "left_out": {left.name: left.reason for left in self.left_out},
            "verdict": self.verdict(),
        }

    def plot(
        self,
        path: str | Path | None = None,
        *,
        observable: str | None = None,
        axes: "Axes | None" = None,
        page: Page = PAPER,
    ) -> "Figure":
        """The figure of the problem's setting, or one observable of every account that has it.

        If `path` is given, the figure is written to that file in the style of `page`. If `axes` are given, the
        observable (by default the risk) is drawn into them.
        """
        self._refuse_without_time()
        if axes is not None:
            draw_observable(axes, self.accounts, observable or "risk")
            figure: Figure = axes.get_figure(root=True)  # type: ignore[assignment]
            return figure
        if observable is not None:
            return drawing(lambda figure: observable_figure(figure, self.accounts, observable), path, page)
        return drawing(lambda figure: setting_of(self.problem).draw(figure, self.problem, self.accounts), path, page)

    def _refuse_without_time(self) -> None:
        if not all("time" in data.dims for data in self.accounts.values()):
            raise OutputError("a theory of the end of training has no times, so there is no figure to draw.")

    def animate(
        self,
        path: str | Path,
        *,
        observable: str | None = None,
        frames: int = FRAMES,
        page: Page = FILM,
        watch: ShareWatcher = unseen,
    ) -> Path:
        """Write an animation (.gif, .webp, or .mp4 where ffmpeg is installed) of the problem's setting, or of one observable.

        Every frame shows a saved time. There are at most `frames` of them, from the first event of the run to its end.

            comparison.animate("learning.gif")
        """
        self._refuse_without_time()

        def draw(figure: "Figure") -> Scene:
            own = setting_of(self.problem).scene_of(figure, self.problem, self.accounts) if observable is None else None
            return own or observable_scene(figure, self.accounts, observable or "risk")

        times = next(iter(self.accounts.values()))["time"].values
        return animate(draw, times, path, frames=frames, page=page, watch=watch)

    def to_dataframe(self, observables: Iterable[str] | None = None) -> "pd.DataFrame":
        """Every number in a row of its own, with description, time, replica, observable and entry beside it.

        Without `observables`, all of them except those that depend on two times.
        """
        return frame(self.accounts, observables)

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.tree, Path(path))
        return Path(path)


def alone(problem: Problem, data: xr.Dataset) -> Comparison:
    """One account as a comparison of its own, with the same methods."""
    tree = xr.DataTree.from_dict({data.attrs["title"]: data})
    tree.attrs.update({key: data.attrs[key] for key in ("problem", "digest")})
    return Comparison(problem, tree, ())


def opened(path: str | Path, problem: Problem | None = None) -> Comparison:
    """Open a saved comparison, its problem included.

    Arguments:
        path: the file that was written by `dimfree compare` or by `save`
        problem: the problem again, if it has a lambda, which cannot be found by its name

        df.open("comparison.nc").plot()
    """
    tree = load(path)
    if "problem" not in tree.attrs or not tree.children:
        raise OutputError(f"{str(path)!r} holds no comparison; give a file that `dimfree compare` wrote.")
    try:
        # functions that the problem names are only imported when it is run
        known = problem or read(str(tree.attrs["problem"]), str(path))
    except DimfreeError as failure:
        raise OutputError(
            f"the problem in {str(path)!r} cannot be read again: {failure} Give it again: df.open(path, problem=problem)."
        ) from None
    for title, node in tree.children.items():
        node.attrs = completed(known, node.attrs)
        if wrong := misfit(known, node.to_dataset()):
            raise OutputError(f"{str(path)!r} is damaged or was written by another program: {title} {wrong}.")
    return Comparison(known, tree, ())


def _deviation(d: Judgement) -> tuple[str, str, str]:
    worst = f"{_signed(d.worst_percent)} at {d.worst_time:.3g}" if d.worst_percent else "0"
    return "" if isnan(d.final_sigmas) else f"{d.final_sigmas:+.1f}", _signed(d.final_percent), worst


def _signed(percent: float) -> str:
    return f"{percent:+.0f}" if 10 <= abs(percent) < 1e4 else f"{percent:+.2g}"
