"""Figures of sweeps: heat maps over two axes, families of curves against time, and power laws with error bars."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dimfree.drawing import drawing, is_log_grid, is_wide
from dimfree.errors import ProblemError, suggest
from dimfree.pages import PAPER, Page
from dimfree.readings.landmarks import clock
from dimfree.readings.power_laws import Fit, fit, slope
from dimfree.sweeps.figure_table import settings
from dimfree.sweeps.frontier_figure import draw_frontier
from dimfree.sweeps.measures import grid, mean_and_error, measured, observable
from dimfree.sweeps.scales import Vector, axis_name, edges, label_axis, places, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

Stroke = dict[str, Any]  # arguments of matplotlib's plot
_FEW = 7  # a legend names at most this many curves
_MARKS, _STYLES = "os^Dv", ("-", "--", "-.", ":")  # together they make twenty curves distinct without colours
_MARKERS = 8  # on a curve
_ALONG_ONE = ("curves", "frontier")  # kinds of figures of one axis


def plot_sweep(data: xr.Dataset, path: str | Path | None = None, page: Page = PAPER, **figure: Any) -> "Figure":
    """Draw a sweep as its file says, unless `figure` says otherwise.

    Arguments:
        data: a sweep, as `df.sweep` and `df.open_sweep` return it
        path: the file to write; without it, the figure is only returned
        page: size, style and background of the figure
        figure: options of the figure, namely
        kind: "map", "curves", "slopes" or "frontier"; without it, curves for one axis and maps for several
        observable: what to draw; without it, the risk
        measure: "end", "plateau", {"crossing": level} or {"distance": title}
        x, y: the axes of the sweep to draw along

        df.plot_sweep(df.open_sweep("sweep.zarr"), "sweep.png", kind="curves")
    """
    options = settings({**json.loads(data.attrs.get("figure", "{}")), **figure})
    axes = [name for name in grid(data) if name != "description"]
    kind = options["kind"] or ("curves" if len(axes) == 1 else "map")
    draw = _KINDS.get(kind)
    if draw is None:
        raise ProblemError(f"the kind {kind!r} of figure is not known; {suggest(kind, _KINDS)}")
    for name in (options["x"], options["y"]):
        if name is not None and name not in axes:
            raise ProblemError(f"the sweep has no axis {name!r}; {suggest(name, axes)}")
    x = options["x"] or next((name for name in axes if name != options["y"]), axes[0])
    if x == options["y"]:
        raise ProblemError(f"the figure has {x!r} for x and for y; give it another axis, or leave y out.")
    y = options["y"] or next((name for name in axes if name != x), None)
    y = None if kind in _ALONG_ONE else y
    data = data.sortby([name for name in (x, y) if name is not None and data[name].dtype.kind in "fi"])
    fixed = {name: 0 for name in axes if name not in (x, y)}
    said = ", ".join(f"{axis_name(data[name])} = {text(data[name].values[0])}" for name in fixed)
    options["title"] = ". ".join(part for part in (options["title"], said) if part)
    return drawing(lambda figure: draw(figure, data.isel(fixed), options, x, y), path, page)


def _draw_maps(figure: "Figure", data: xr.Dataset, options: Mapping[str, Any], x: str, y: str | None) -> None:
    """Draw a panel for every account, all in the same colours; points without numbers are hatched."""
    if y is None:
        raise ProblemError("a map needs two axes, and the sweep has one; draw curves or slopes.")
    values, what = measured(data, options["observable"], options["measure"])
    mean = mean_and_error(values)[0]
    titles = _with_numbers(data, mean, what)
    figure.set_size_inches(1.4 + 3.9 * len(titles), 4.4)
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    norm = _scaled(mean.values)
    for axes, title in zip(panels, titles, strict=True):
        shown = mean.sel(description=title).transpose(y, x).values
        axes.set_facecolor("#eeeeee")
        axes.patch.set(hatch="////", edgecolor="#bbbbbb")
        axes.grid(False)
        cells = edges(*places(data[x])), edges(*places(data[y]))
        mesh = axes.pcolormesh(*cells, shown, norm=norm, cmap="viridis")
        label_axis(axes.xaxis, data[x])
        label_axis(axes.yaxis, data[y])
        axes.set_title(title)
        _draw_lines(axes, options["lines"])
    figure.colorbar(mesh, ax=list(panels), label=what, pad=0.02)
    for axes in panels[1:]:
        axes.set_ylabel("")
    _finish(figure, data, options, panels[0])


def _draw_curves(figure: "Figure", data: xr.Dataset, options: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account: a curve for every value of the axis, with a band of two standard errors."""
    values = observable(data, options["observable"])
    along = clock(values)
    if along is None:
        raise ProblemError(f"{options['observable']!r} has no time to draw curves along; draw a map or slopes.")
    titles = _with_numbers(data, values, options["observable"])
    figure.set_size_inches(1.4 + 4.0 * len(titles), 4.0)
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    ticks, at, named = values[along].values, data[x].values, _is_named(data[x])
    strokes = _strokes(len(at)) if named else [{"color": colour} for colour in _shades(data[x]).to_rgba(at)]
    for axes, title in zip(panels, titles, strict=True):
        for place, stroke in enumerate(strokes):
            mean, error = mean_and_error(values.sel(description=title).isel({x: place}))
            every = max(1, len(ticks) // _MARKERS)
            shown = (place * every // len(at), every)  # markers of curves that agree lie side by side
            axes.plot(ticks, mean.values, lw=1.4, ms=4, markevery=shown, label=text(at[place]), **stroke)
            low, high = mean.values - 2 * error.values, mean.values + 2 * error.values
            axes.fill_between(ticks, low, high, color=stroke["color"], alpha=0.2, lw=0)
        axes.set(xlabel=f"{along} ({values[along].attrs['units']})", title=title)
        axes.set_xscale("log" if is_log_grid(ticks[1:]) else "linear")
        axes.set_yscale("log" if is_wide(values.values) else "linear")
    panels[0].set_ylabel(values.attrs.get("long_name", options["observable"]))
    if named:
        panels[-1].legend(frameon=False, title=axis_name(data[x]))
    else:
        bar = figure.colorbar(_shades(data[x]), ax=list(panels), label=axis_name(data[x]), pad=0.02)
        some = at[:: -(-len(at) // _FEW)].tolist()
        bar.set_ticks(some, labels=[text(value) for value in some], minor=False)
        bar.minorticks_off()
    _finish(figure, data, options, panels[0])


def _draw_slopes(figure: "Figure", data: xr.Dataset, options: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account: a number against one axis for every value of the other, and the power law fitted to it."""
    values, what = measured(data, options["observable"], options["measure"])
    titles = _with_numbers(data, values, what)
    figure.set_size_inches(1.0 + 4.6 * len(titles), 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    from matplotlib.ticker import LogLocator

    across = _positive(data[x])
    for axes, title in zip(panels, titles, strict=True):
        for place, stroke in enumerate(_strokes(1 if y is None else data.sizes[y])):
            one = values.sel(description=title) if y is None else values.sel(description=title).isel({y: place})
            name = "" if y is None else f"{y} = {text(data[y].values[place])}"
            _draw_power_law(axes, across, one.transpose(x, "replica").values, name, stroke)
        axes.set(xscale="log", yscale="log", xlabel=axis_name(data[x]), title=title)
        axes.set_xticks(across, labels=[text(value) for value in data[x].values])
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False)
    panels[0].set_ylabel(what)
    _finish(figure, data, options, panels[0])


def _draw_frontier(figure: "Figure", data: xr.Dataset, options: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account: the observable of every size against compute, and the lowest for every budget."""
    _positive(data[x])
    values = observable(data, options["observable"])
    draw_frontier(figure, data, values, _with_numbers(data, values, options["observable"]), x)
    _finish(figure, data, options, figure.axes[0])


def _with_numbers(data: xr.Dataset, values: xr.DataArray, what: str) -> list[str]:
    """The accounts that have a number at some point; an error without any."""
    found = [str(one) for one in values["description"].values if np.isfinite(values.sel(description=one)).any()]
    if found:
        return found
    if (data["failure"] != "").all():
        raise ProblemError("no point of the sweep has numbers yet; let it run on.")
    raise ProblemError(f"no point of the sweep has a number for {what!r}; run longer, or choose another measure.")


def _draw_power_law(axes: "Axes", x: Vector, values: Vector, name: str, stroke: Stroke) -> None:
    """Means with two standard errors, the fit, and its slope with a standard error, where there are two points at least."""
    here = np.isfinite(values).any(axis=1)
    runs = np.isfinite(values[here]).all(axis=0)
    x, values = x[here], values[here][:, runs]
    if not values.size:
        return
    mean, count = values.mean(axis=1), values.shape[1]
    error = 2 * values.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros_like(mean)
    error = np.minimum(error, 0.9 * mean)  # on a logarithmic scale a bar must not reach zero
    label = name
    if len(x) > 1 and (mean > 0).all():
        found = fit(x, values) if count > 1 else Fit(slope(x, values), 0.0)
        label += f"{': ' if name else ''}slope {found.value:.2f}" + (
            f" ± {found.standard_error:.2f}" if count > 1 else ""
        )
        fitted = np.exp(np.log(mean).mean() + found.value * (np.log(x) - np.log(x).mean()))
        axes.plot(x, fitted, color=stroke["color"], ls=stroke["ls"], lw=1.0)
    dots = {"color": stroke["color"], "ms": 4.5, "mfc": "white", "mew": 1, "lw": 1}
    axes.errorbar(x, mean, error, fmt=stroke["marker"], capsize=2, **dots)
    axes.plot([], [], label=label, ls=stroke["ls"], marker=stroke["marker"], **dots)  # for the legend


def _positive(coordinate: xr.DataArray) -> Vector:
    """The values of an axis along which a power law is fitted."""
    at = np.asarray(coordinate.values, dtype=float) if coordinate.dtype.kind in "fi" else np.zeros(1)
    if not (at > 0).all():
        raise ProblemError(
            f"power laws need an axis of positive numbers, and {coordinate.name!r} is not one; draw a map or curves."
        )
    return at


def _scaled(values: Vector) -> "Normalize":
    from matplotlib.colors import LogNorm, Normalize

    known = values[np.isfinite(values)]
    if not known.size:
        return Normalize(0, 1)
    return (LogNorm if is_wide(known) else Normalize)(float(known.min()), float(known.max()))


def _strokes(count: int) -> list[Stroke]:
    """How curves that a legend names are drawn: lighter and lighter, each with a dash and a marker of its own."""
    from matplotlib import colormaps

    colours = ["#d95f02"] if count == 1 else [colormaps["viridis"](share) for share in np.linspace(0.0, 0.9, count)]
    return [
        {"color": colour, "ls": _STYLES[number % len(_STYLES)], "marker": _MARKS[number % len(_MARKS)]}
        for number, colour in enumerate(colours)
    ]


def _shades(coordinate: xr.DataArray) -> "ScalarMappable":
    """How curves of many numbers are drawn: the larger the lighter, as a bar shows."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    at, logs = places(coordinate)
    visible = ListedColormap(colormaps["viridis"](np.linspace(0.0, 0.9, 256)))
    return ScalarMappable((LogNorm if logs else Normalize)(float(at.min()), float(at.max())), visible)


def _is_named(coordinate: xr.DataArray) -> bool:
    """Whether a legend names every value; a bar shows the shades of many numbers."""
    return len(coordinate) <= _FEW or coordinate.dtype.kind not in "fi"


def _draw_lines(axes: "Axes", lines: Sequence[Mapping[str, Any]]) -> None:
    """Draw the lines that the sweep's file gives, without changing the limits of the axes."""
    box = axes.get_xlim(), axes.get_ylim()
    for line, style in zip(lines, ("-", "--", ":", "-.") * len(lines), strict=False):
        axes.plot(line["x"], line["y"], style, color="white", lw=2.6, zorder=4)
        axes.plot(line["x"], line["y"], style, color="black", lw=1.2, label=line.get("label", ""), zorder=5)
    axes.set(xlim=box[0], ylim=box[1])
    if lines:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.33), frameon=False)


def _finish(figure: "Figure", data: xr.Dataset, options: Mapping[str, Any], first: "Axes") -> None:
    """Write what a reader needs: the title, and how many points have no numbers."""
    missing = int((data["failure"] != "").sum())
    said = f"{missing} of {data['failure'].size} points have no numbers" if missing else ""
    if text := ". ".join(part for part in (options["title"], said) if part):
        figure.suptitle(text, fontsize=9)


_KINDS = {"map": _draw_maps, "curves": _draw_curves, "slopes": _draw_slopes, "frontier": _draw_frontier}
