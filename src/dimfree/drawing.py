"""How all figures look, and how an account is drawn: experiments as markers with a band, theories as lines.

The figures of settings use it; it knows no setting.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimfree.errors import OutputError, deprecated
from dimfree.files import replacing, together
from dimfree.pages import PAPER, Page, leave_alone
from dimfree.strokes import tell_apart

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_LINES = (("#d95f02", "-"), ("#7570b3", "--"), ("#1b9e77", "-."), ("#e7298a", ":"), ("#e6ab02", "--"), ("#66a61e", "-"))
_MARKS = (("black", "o"), ("#1f78b4", "s"), ("#33a02c", "^"), ("#6a3d9a", "D"))
_MARKERS = 16
_WIDE = 10.0  # values that span more than this factor get a logarithmic scale
_ROOM = 1.05  # the upper end of an axis that begins at zero, as a multiple of the largest value
_LINEAR, _LARGEST = 10.0, 300.0  # per cent: the largest deviation on a linear scale, and the largest that is drawn


class Look(NamedTuple):
    """How one account is drawn everywhere in a figure."""

    colour: str
    line: str  # of a theory
    marker: str  # of an experiment
    first: int  # the first marker's place, which differs between experiments, so that none hides another
    real: bool
    scatters: bool  # whether the band shows 80 % of the replicas; otherwise it shows the error of their mean


def looks(accounts: "Mapping[str, xr.Dataset]") -> dict[str, Look]:
    """A look for every account, by its place among experiments or theories."""
    found, counts = {}, {True: 0, False: 0}
    for title, data in accounts.items():
        real = bool(data.attrs["real"])
        number = counts[real]
        counts[real] += 1
        colour, style = (_MARKS if real else _LINES)[number % len(_MARKS if real else _LINES)]
        found[title] = Look(
            colour, "" if real else style, style if real else "", number, real, bool(data.attrs["scatters"])
        )
    return found


def band(values: Values, scatters: bool) -> tuple[Values, Values]:
    """The band around 80 % of the replicas (axis 1) if they scatter as runs of SGD do, else two standard errors of the mean."""
    if scatters:
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        return low, high
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    return mean - 2 * error, mean + 2 * error


def draw_account(axes: "Axes", look: Look, time: Values, values: Values, label: str, colour: str = "") -> None:
    """The mean over replicas (axis 1) against time, with a band of 80 % of them, or of two standard errors."""
    colour, mean = colour or look.colour, values.mean(axis=1)
    if values.shape[1] > 1:
        axes.fill_between(time, *band(values, look.scatters), color=colour, alpha=0.15, lw=0)
    if not look.real:
        axes.plot(time, mean, look.line, color=colour, lw=1.5, label=label, zorder=5)
        return
    every = max(1, len(time) // _MARKERS)
    shown = slice(look.first * every // 2 % max(every, 1), None, every)
    axes.plot(time[shown], mean[shown], look.marker, color=colour, ms=4.5, mfc="white", mew=1, label=label, zorder=4)


def draw_deviation(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    """Draw how far every account is from the first experiment, in per cent, with that experiment's error bar."""
    reference = next((title for title in accounts if shown[title].real), None)
    if reference is None:
        axes.set_visible(False)
        return
    risk = accounts[reference]["risk"].values
    time, mean = accounts[reference]["time"].values, risk.mean(axis=1)
    safe = np.where(mean > 0, mean, np.nan)
    if risk.shape[1] > 1:
        error = 200 * risk.std(axis=1, ddof=1) / np.sqrt(risk.shape[1]) / safe
        axes.fill_between(time, -error, error, color=shown[reference].colour, alpha=0.2, lw=0, label="2 s.e.")
    axes.axhline(0, color=shown[reference].colour, lw=0.8)
    largest = 0.0
    for title, data in accounts.items():
        if title != reference:
            off = 100 * (data["risk"].values.mean(axis=1) - mean) / safe
            axes.plot(data["time"].values, off, shown[title].line or ":", color=shown[title].colour, lw=1.2)
            largest = max(largest, float(np.nanmax(np.abs(off), initial=0.0)))
    axes.set_ylabel(f"% from {reference}")
    if largest <= _LINEAR:
        axes.set_ylim(-_LINEAR, _LINEAR)
        return
    axes.set_yscale("symlog", linthresh=_LINEAR, linscale=0.7)
    axes.set(ylim=(-_LARGEST, _LARGEST), yticks=[-100, -10, 0, 10, 100])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()


def is_wide(values: Values) -> bool:
    """Whether measured values are positive and spread over more than a factor of ten."""
    known = values[np.isfinite(values)]
    return bool(known.size and known.min() > 0 and known.max() > _WIDE * known.min())


def is_log_grid(values: Values) -> bool:
    """Whether chosen values are positive and nearer to equal ratios than to equal differences; two values: if far apart."""
    known = np.unique(values[np.isfinite(values)])
    if known.size < 3 or known[0] <= 0:
        return is_wide(known)
    unevenness = [steps.std() / steps.mean() for steps in (np.diff(np.log(known)), np.diff(known))]
    return bool(unevenness[0] < unevenness[1])


def from_zero(axes: "Axes") -> None:
    """Begin the axis at zero, with room above the largest value, so that a nearly constant curve does not lie on the frame."""
    axes.set_ylim(0, _ROOM * axes.dataLim.y1 if axes.dataLim.y1 > 0 else None)


def trained_layers(parts: Sequence[str]) -> str:
    """Which parts of a network learn, for a title."""
    *others, last = (part.replace("-", " ") for part in parts)
    return f"{', '.join(others)} and {last} trained" if others else f"{last} trained"


def legend_label(title: str, data: "xr.Dataset") -> str:
    """The label of an account in a legend, which says how many runs an experiment is the mean of."""
    replicas = data.sizes["replica"]
    band = "" if replicas == 1 else " (band: 80 %)" if data.attrs["scatters"] else " (band: 2 s.e.)"
    return title + (f", mean of {replicas}" if data.attrs["real"] else "") + band


def drawing(draw: "Callable[[Figure], None]", path: "str | Path | None" = None, page: Page = PAPER) -> "Figure":
    """A figure with constrained layout that `draw` fills; if a file is named, it is written completely or not at all."""
    import matplotlib

    with matplotlib.rc_context(page.checked().look()):
        figure = _shown_inline()(layout="constrained")
        if path is not None:
            _check_format(Path(path), figure.canvas.get_supported_filetypes())
        draw(figure)
        tell_apart(figure)
        files = page.files(Path(path), figure) if path is not None else []
        with together() if page.panels else nullcontext():
            for number, file in enumerate(files):
                shown = figure
                if page.panels:
                    shown = _shown_inline()(layout="constrained")
                    draw(shown)
                    tell_apart(shown)
                    leave_alone(shown, number)
                page.lay_out(shown)
                with replacing(file) as temporary:
                    shown.savefig(temporary, dpi=page.dpi)
        if not files:
            page.lay_out(figure)
    return figure


def _check_format(path: Path, known: Mapping[str, str]) -> None:
    if path.suffix[1:].lower() not in known:
        raise OutputError(
            f"a figure cannot be written to {str(path)!r}; let the name end in one of: {', '.join(sorted(known))}."
        )


@lru_cache(maxsize=1)
def _shown_inline() -> "type[Figure]":
    """Figures that a notebook shows, whichever matplotlib backend it uses."""
    from matplotlib.figure import Figure

    class Shown(Figure):
        def _repr_png_(self) -> bytes:
            drawn = BytesIO()
            self.savefig(drawn, format="png", dpi=110)
            return drawn.getvalue()

    return Shown


def style() -> Any:  # matplotlib types the keys as a union of hundreds of literals
    """Matplotlib's settings for figures that are not drawn for a talk."""
    return PAPER.look()


def __getattr__(name: str) -> Any:
    if name != "told":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    deprecated(f"{__name__}.told", f"{__name__}.legend_label")
    return legend_label
