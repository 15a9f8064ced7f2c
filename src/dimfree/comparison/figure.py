"""The figure of one observable of all accounts, which any results file can be drawn as."""

from collections.abc import Mapping
from itertools import product
from textwrap import fill
from typing import TYPE_CHECKING

import xarray as xr

from dimfree.drawing import draw_account, is_log_grid, looks, told
from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_CURVES = 16  # of one account
_LONGEST_LINE = 44  # characters of a name beside the axis: longer ones would leave the figure


def observable_figure(figure: "Figure", accounts: Mapping[str, xr.Dataset], name: str) -> None:
    """One observable alone."""
    figure.set_size_inches(6.4, 4.3)
    draw_observable(figure.subplots(), accounts, name)


def draw_observable(axes: "Axes", accounts: Mapping[str, xr.Dataset], name: str) -> None:
    """Every entry of an observable against time, one colour per account."""
    having = {title: data for title, data in accounts.items() if name in data}
    if not having:
        known = dict.fromkeys(str(one) for data in accounts.values() for one in data.data_vars)
        raise ProblemError(f"no account has an observable {name!r}; {suggest(name, known)}")
    shown = looks(accounts)
    for title, data in having.items():
        variable = data[name]
        others = [range(variable.sizes[dim]) for dim in variable.dims[2:]]
        for number, entry in enumerate(list(product(*others))[:_MOST_CURVES]):
            values = variable.isel(dict(zip(variable.dims[2:], entry, strict=True))).values
            draw_account(axes, shown[title], data["time"].values, values, told(title, data) if number == 0 else "")
    first = next(iter(having.values()))
    axes.set_xscale("log" if is_log_grid(first["time"].values[1:]) else "linear")  # which does not show time 0
    axes.set(
        xlabel=f"time $t$ = {first['time'].attrs['units']}", ylabel=fill(first[name].attrs["long_name"], _LONGEST_LINE)
    )
    axes.legend(frameon=False)
