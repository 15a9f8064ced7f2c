"""The figure of one observable of all accounts, which can be drawn from any results file."""

from collections.abc import Mapping
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING

import xarray as xr

from dimfree.animation import Curve, Scene, running_points
from dimfree.drawing import Values, draw_account, is_log_grid, legend_label, looks
from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_CURVES = 16  # curves of one account that are drawn
_LONGEST_LINE = 44  # characters of a name beside the axis; a longer name would not fit into the figure


def observable_figure(figure: "Figure", accounts: Mapping[str, xr.Dataset], name: str) -> None:
    """One observable alone."""
    figure.set_size_inches(6.4, 4.3)
    draw_observable(figure.subplots(), accounts, name)


def observable_scene(figure: "Figure", accounts: Mapping[str, xr.Dataset], name: str) -> Scene:
    """The same figure with points that run along the curves."""
    observable_figure(figure, accounts, name)
    shown = looks(accounts)
    curves = [
        Curve(shown[title].colour, data["time"].values, values.mean(axis=1))
        for title, data in accounts.items()
        for values in _entries(data, name)
    ]
    return Scene(running_points(figure.axes[0], curves), since=max(0.0, figure.axes[0].get_xlim()[0]))


def draw_observable(axes: "Axes", accounts: Mapping[str, xr.Dataset], name: str) -> None:
    """Every entry of an observable against time, one colour per account."""
    having = {title: data for title, data in accounts.items() if name in data}
    if not having:
        known = dict.fromkeys(str(one) for data in accounts.values() for one in data.data_vars)
        raise ProblemError(f"no account has an observable {name!r}; {suggest(name, known)}")
    shown = looks(accounts)
    for title, data in having.items():
        for number, values in enumerate(_entries(data, name)):
            draw_account(
                axes, shown[title], data["time"].values, values, legend_label(title, data) if number == 0 else ""
            )
    first = next(iter(having.values()))
    axes.set_xscale("log" if is_log_grid(first["time"].values[1:]) else "linear")  # a logarithmic axis hides time 0
    axes.set(
        xlabel=f"time $t$ = {first['time'].attrs['units']}", ylabel=fill(first[name].attrs["long_name"], _LONGEST_LINE)
    )
    axes.legend(frameon=False)


def _entries(data: xr.Dataset, name: str) -> list[Values]:
    """The first entries of an observable as arrays (time, replica); an empty list if the account does not have it."""
    if name not in data:
        return []
    variable = data[name]
    places = list(product(*(range(variable.sizes[dim]) for dim in variable.dims[2:])))[:_MOST_CURVES]
    return [variable.isel(dict(zip(variable.dims[2:], place, strict=True))).values for place in places]
