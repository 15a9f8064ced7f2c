"""Figures of sweeps: heat maps over two axes, families of curves against time, and power laws with error bars."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dimfree.drawing import drawing
from dimfree.errors import ProblemError, suggest
from dimfree.results.landmarks import clock
from dimfree.results.slopes import Fit, fit, slope
from dimfree.sweeps.measures import grid, mean_and_error, measured, observable, settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

Vector = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_WIDE = 10.0  # a range of more than this factor is drawn to a logarithmic scale
_FEW = 7  # curves that a legend can name
_MARKS = "os^Dv"


def plot_sweep(data: xr.Dataset, path: str | Path | None = None, **figure: Any) -> "Figure":
    """Draw a sweep as its file says, or as `figure` says instead.

    Arguments: `kind`, "map", "curves" or "slopes" (left out, curves of one axis and maps of several); `observable` (left out,
    the risk); `measure`, "end", "plateau", {"crossing": level} or {"distance": title}; `x` and `y`, axes.

        df.plot_sweep(df.open_sweep("sweep.zarr"), "sweep.png", kind="curves")
    """
    told = settings({**json.loads(data.attrs.get("figure", "{}")), **figure})
    axes = [name for name in grid(data) if name != "description"]
    kind = told["kind"] or ("curves" if len(axes) == 1 else "map")
    draw = {"map": _draw_maps, "curves": _draw_curves, "slopes": _draw_slopes}.get(kind)
    if draw is None:
        raise ProblemError(f"the kind {kind!r} of figure is not known; {suggest(kind, ('map', 'curves', 'slopes'))}")
    for name in (told["x"], told["y"]):
        if name is not None and name not in axes:
            raise ProblemError(f"the sweep has no axis {name!r}; {suggest(name, axes)}")
    x = told["x"] or next(name for name in axes if name != told["y"])
    y = told["y"] or next((name for name in axes if name != x), None)
    y = None if kind == "curves" else y
    fixed = {name: 0 for name in axes if name not in (x, y)}
    said = ", ".join(f"{_axis_name(data[name])} = {_text(data[name].values[0])}" for name in fixed)
    told["title"] = ". ".join(part for part in (told["title"], said) if part)
    return drawing(lambda figure: draw(figure, data.isel(fixed), told, x, y), path)


def _draw_maps(figure: "Figure", data: xr.Dataset, told: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account, all in the same colours; what has no numbers is hatched."""
    if y is None:
        raise ProblemError("a map needs two axes, and the sweep has one; draw curves or slopes.")
    values, what = measured(data, told["observable"], told["measure"])
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
        (across, logs_x), (up, logs_y) = _places(data[x]), _places(data[y])
        mesh = axes.pcolormesh(_edges(across, logs_x), _edges(up, logs_y), shown, norm=norm, cmap="viridis")
        _label_axis(axes.xaxis, data[x], across, logs_x)
        _label_axis(axes.yaxis, data[y], up, logs_y)
        axes.set_title(title)
        _draw_lines(axes, told["lines"])
    figure.colorbar(mesh, ax=list(panels), label=what, pad=0.02)
    for axes in panels[1:]:
        axes.set_ylabel("")
    _finish(figure, data, told, panels[0])


def _draw_curves(figure: "Figure", data: xr.Dataset, told: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account: a curve for every value of the axis, with a band of two standard errors."""
    values = observable(data, told["observable"])
    along = clock(values)
    if along is None:
        raise ProblemError(f"{told['observable']!r} has no time to draw curves along; draw a map or slopes.")
    titles = [str(title) for title in values["description"].values]
    figure.set_size_inches(1.4 + 4.0 * len(titles), 4.0)
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    ticks, places = values[along].values, data[x].values
    for axes, title in zip(panels, titles, strict=True):
        for place, colour in zip(range(len(places)), _colours(len(places)), strict=True):
            mean, error = mean_and_error(values.sel(description=title).isel({x: place}))
            axes.plot(ticks, mean.values, color=colour, lw=1.4, label=_text(places[place]))
            low, high = mean.values - 2 * error.values, mean.values + 2 * error.values
            axes.fill_between(ticks, low, high, color=colour, alpha=0.2, lw=0)
        axes.set(xlabel=f"{along} ({values[along].attrs['units']})", title=title)
        _log_if_wide(axes, ticks[1:], values.values)
    panels[0].set_ylabel(values.attrs.get("long_name", told["observable"]))
    _explain_colours(figure, list(panels), data[x])
    _finish(figure, data, told, panels[0])


def _draw_slopes(figure: "Figure", data: xr.Dataset, told: Mapping[str, Any], x: str, y: str | None) -> None:
    """A panel for every account: a number against one axis for every value of the other, and the power law fitted to it."""
    values, what = measured(data, told["observable"], told["measure"])
    titles = _with_numbers(data, values, what)
    figure.set_size_inches(1.0 + 4.6 * len(titles), 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    from matplotlib.ticker import LogLocator

    across = np.asarray(data[x].values, dtype=float)
    families = [None] if y is None else list(range(data.sizes[y]))
    colours = ["#d95f02"] if y is None else _colours(data.sizes[y])
    for axes, title in zip(panels, titles, strict=True):
        for number, (place, colour) in enumerate(zip(families, colours, strict=True)):
            one = values.sel(description=title) if place is None else values.sel(description=title).isel({y: place})
            name = "" if y is None or place is None else f"{y} = {_text(data[y].values[place])}"
            _draw_power_law(
                axes, across, one.transpose(x, "replica").values, name, colour, _MARKS[number % len(_MARKS)]
            )
        axes.set(xscale="log", yscale="log", xlabel=_axis_name(data[x]), title=title)
        axes.set_xticks(across, labels=[_text(value) for value in data[x].values])
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.legend(frameon=False)
    panels[0].set_ylabel(what)
    _finish(figure, data, told, panels[0])


def _with_numbers(data: xr.Dataset, values: xr.DataArray, what: str) -> list[str]:
    """The accounts that have a number at some point; an error without any."""
    found = [str(one) for one in values["description"].values if np.isfinite(values.sel(description=one)).any()]
    if found:
        return found
    if (data["failure"] != "").all():
        raise ProblemError("no point of the sweep has numbers yet; let it run on.")
    raise ProblemError(f"no point of the sweep has a number for {what!r}; run longer, or choose another measure.")


def _draw_power_law(axes: "Axes", x: Vector, values: Vector, name: str, colour: Any, marker: str) -> None:
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
        axes.plot(x, fitted, color=colour, lw=1.0)
    axes.errorbar(x, mean, error, fmt=marker, color=colour, ms=4.5, mfc="white", mew=1, capsize=2, lw=1, label=label)


def _places(coordinate: xr.DataArray) -> tuple[Vector, bool]:
    """Where the values of an axis are drawn, and whether on a logarithmic scale; words stand side by side."""
    if coordinate.dtype.kind not in "fi":
        return np.arange(len(coordinate), dtype=float), False
    found = np.asarray(coordinate.values, dtype=float)
    return found, _is_wide(found)


def _is_wide(values: Vector) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size and known.min() > 0 and known.max() > _WIDE * known.min())


def _edges(places: Vector, logs: bool) -> Vector:
    """Borders of cells half way between their middles."""
    middles = np.log(places) if logs else places
    if len(middles) == 1:
        edges = np.array([middles[0] - 0.5, middles[0] + 0.5])
    else:
        inner = (middles[1:] + middles[:-1]) / 2
        edges = np.array([2 * middles[0] - inner[0], *inner, 2 * middles[-1] - inner[-1]])
    return np.exp(edges) if logs else edges


def _label_axis(axis: Any, coordinate: xr.DataArray, places: Vector, logs: bool) -> None:
    axis.set_label_text(_axis_name(coordinate))
    if logs:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if coordinate.dtype.kind not in "fi":
        axis.set_ticks(places, labels=[str(value) for value in coordinate.values])


def _scaled(values: Vector) -> "Normalize":
    from matplotlib.colors import LogNorm, Normalize

    known = values[np.isfinite(values)]
    if not known.size:
        return Normalize(0, 1)
    return (LogNorm if _is_wide(known) else Normalize)(float(known.min()), float(known.max()))


def _colours(count: int) -> list[Any]:
    """Along a colour map."""
    from matplotlib import colormaps

    return [colormaps["viridis"](share) for share in np.linspace(0.0, 0.9, count)]


def _explain_colours(figure: "Figure", panels: Sequence["Axes"], coordinate: xr.DataArray) -> None:
    if len(coordinate) <= _FEW or coordinate.dtype.kind not in "fi":
        panels[-1].legend(frameon=False, title=_axis_name(coordinate))
        return
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap

    places, logs = _places(coordinate)
    shades = ScalarMappable(_scaled(places) if logs else None, ListedColormap(_colours(len(places))))
    shades.set_clim(float(places.min()), float(places.max()))
    figure.colorbar(shades, ax=list(panels), label=_axis_name(coordinate), pad=0.02)


def _log_if_wide(axes: "Axes", ticks: Vector, values: Vector) -> None:
    if _is_wide(ticks):
        axes.set_xscale("log")
    if _is_wide(values):
        axes.set_yscale("log")


def _draw_lines(axes: "Axes", lines: Sequence[Mapping[str, Any]]) -> None:
    """Lines of a theory, as the file gives them, inside what is there."""
    box = axes.get_xlim(), axes.get_ylim()
    for line, style in zip(lines, ("-", "--", ":", "-.") * len(lines), strict=False):
        axes.plot(line["x"], line["y"], style, color="white", lw=2.6, zorder=4)
        axes.plot(line["x"], line["y"], style, color="black", lw=1.2, label=line.get("label", ""), zorder=5)
    axes.set(xlim=box[0], ylim=box[1])
    if lines:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, -0.33), frameon=False)


def _finish(figure: "Figure", data: xr.Dataset, told: Mapping[str, Any], first: "Axes") -> None:
    """What one must know to read it: the title, and how many points have no numbers."""
    missing = int((data["failure"] != "").sum())
    said = f"{missing} of {data['failure'].size} points have no numbers" if missing else ""
    if text := ". ".join(part for part in (told["title"], said) if part):
        figure.suptitle(text, fontsize=9)


def _axis_name(coordinate: xr.DataArray) -> str:
    return str(coordinate.name).replace("_", " ")


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
