"""One observable of all accounts, whatever it is: what any results file can be drawn as."""

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import xarray as xr

from dimfree.drawing import draw_account, looks, told
from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_CURVES = 16  # of one account


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
    axes.set(xlabel=f"time $t$ = {first['time'].attrs['units']}", ylabel=first[name].attrs["long_name"])
    axes.legend(frameon=False)
