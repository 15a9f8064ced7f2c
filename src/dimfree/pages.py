"""How a figure is written: for a paper or a talk, on which background, how large and fine, in one file or one per panel."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dimfree.backgrounds import BACKGROUNDS, clear, dark_look, lighten
from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TYPE = {"paper": 9.0, "talk": 16.0}  # points
_ROOM = {"paper": 1.0, "talk": 1.5}  # factor by which a figure is enlarged to make room for larger type
_PANEL = (6.4, 4.4)  # width and height, in inches, of a panel in a file of its own
_LARGEST = 100.0  # inches


class Page(NamedTuple):
    """How a figure is written. Left out, the size is the one that the figure's own code chooses, larger in a talk."""

    style: str = "paper"
    size: tuple[float, float] | None = None  # inches
    dpi: int = 160
    panels: bool = False  # one file for every panel
    background: str = "white"

    def checked(self) -> "Page":
        """Return the page, or raise an error in one sentence if its values make no sense."""
        if self.style not in _TYPE:
            raise ProblemError(f"the style {self.style!r} is not known; {suggest(self.style, _TYPE)}")
        if self.background not in BACKGROUNDS:
            raise ProblemError(
                f"the background {self.background!r} is not known; {suggest(self.background, BACKGROUNDS)}"
            )
        if self.size is not None and not all(0.5 <= side <= _LARGEST for side in self.size):
            raise ProblemError(
                f"a figure of {self.size[0]:g} x {self.size[1]:g} inches cannot be drawn; give sides of 0.5 to 100 inches."
            )
        if not 20 <= self.dpi <= 2400:
            raise ProblemError(f"{self.dpi} dots per inch cannot be drawn; give 20 to 2400.")
        return self

    def look(self) -> Any:  # matplotlib types the keys as a union of hundreds of literals
        """Matplotlib's settings: those of all figures, with the type of the style."""
        size = _TYPE[self.style]
        return {
            "font.size": size,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.fontsize": size - 1,
            "axes.titlesize": size,
            **(dark_look() if self.background == "dark" else {}),
        }

    def lay_out(self, figure: "Figure") -> None:
        """Give a figure its size and background; in a talk no text is smaller than a legend's, and lines are thicker."""
        if self.background != "white":
            (lighten if self.background == "dark" else clear)(figure)
        grown = _ROOM[self.style]
        figure.set_size_inches(self.size or tuple(grown * side for side in figure.get_size_inches()))
        if grown == 1.0:
            return
        from matplotlib.lines import Line2D
        from matplotlib.text import Text

        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_fontsize(max(float(text.get_fontsize()), _TYPE[self.style] - 1))
        for line in figure.findobj(Line2D):
            if isinstance(line, Line2D):
                line.set(linewidth=grown * line.get_linewidth(), markersize=grown * line.get_markersize())

    def files(self, path: Path, figure: "Figure") -> list[Path]:
        """The files that are written: the path itself, or one numbered file for every panel."""
        if not self.panels:
            return [path]
        return [path.with_stem(f"{path.stem}-{number}") for number in range(1, len(panels(figure)) + 1)]


PAPER = Page()


def panels(figure: "Figure") -> "list[Axes]":
    """The axes that show something, without colour bars."""
    return [axes for axes in figure.axes if axes.get_visible() and not hasattr(axes, "_colorbar")]


def leave_alone(figure: "Figure", number: int) -> None:
    """Remove all panels but one, which keeps what it shared with the others: labels, ticks, legend and colour bar."""
    kept = panels(figure)[number]
    bars: list[Any] = [axes for axes in figure.axes if hasattr(axes, "_colorbar")]
    for direction in "xy":
        siblings = getattr(kept, f"get_shared_{direction}_axes")().get_siblings(kept)
        labels = [getattr(one, f"get_{direction}label")() for one in (kept, *siblings)]
        getattr(kept, f"set_{direction}label")(next(filter(None, labels), ""))
    kept.tick_params(labelleft=True, labelbottom=True)
    shared = [(bar._colorbar.mappable, bar.get_ylabel()) for bar in bars if kept in bar._colorbar_info["parents"]]
    for axes in figure.axes:
        if axes is not kept:
            figure.delaxes(axes)
    kept.set_subplotspec(figure.add_gridspec(1, 1)[0])
    for mappable, label in shared[:1]:
        figure.colorbar(mappable, ax=kept, label=label)
    if kept.get_legend() is None and not figure.legends and kept.get_legend_handles_labels()[1]:
        kept.legend(frameon=False)
    figure.set_size_inches(_PANEL)
