"""The numbers that figures of sweeps show: one for every point and replica."""

from typing import Any

import numpy as np
import xarray as xr

from dimfree.errors import ProblemError, suggest
from dimfree.readings.landmarks import CLOCKS, clock, crossing_times, plateau


def observable(data: xr.Dataset, name: str) -> xr.DataArray:
    """An observable over (description, *axes, clock, replica); replicas are one where accounts have none."""
    if name not in data.data_vars:
        known = [str(one) for one in data.data_vars if one != "failure"]
        raise ProblemError(f"the sweep has no observable {name!r}; {suggest(name, known)}")
    found = data[name]
    others = [dim for dim in found.dims if dim not in (*grid(data), *CLOCKS, "replica")]
    if others or found.dtype.kind not in "fi":
        whole = [str(one) for one in data.data_vars if not {*data[one].dims} - {*grid(data), *CLOCKS, "replica"}]
        raise ProblemError(
            f"{name!r} is not one number a point but has {', '.join(map(str, others)) or 'words'}; "
            f"choose from: {', '.join(one for one in whole if one != 'failure')}."
        )
    return found if "replica" in found.dims else found.expand_dims(replica=1, axis=-1)


def grid(data: xr.Dataset) -> tuple[str, ...]:
    """The dimensions of the grid: the accounts and the axes."""
    return tuple(str(dim) for dim in data["failure"].dims)


def measured(data: xr.Dataset, name: str, measure: Any) -> tuple[xr.DataArray, str]:
    """One number for every point and replica, and its name.

    At the end of the run unless `measure` says {"crossing": level}, when it first falls to a level, "plateau", how long it stands
    still before it falls, or {"distance": title}, how far it is from the mean of another account, at worst over the run.
    """
    values = observable(data, name)
    along = clock(values)
    match measure:
        case None | "end":
            return (values.isel({along: -1}), f"{name} at the end") if along else (values, name)
        case {"crossing": int() | float() as level} if along:
            return crossing_times(values, level), f"{along} at which {name} falls to {level:g}"
        case "plateau" if along:
            return plateau(values)["length"], f"how long {name} stays on its plateau"
        case {"distance": str(title)}:
            apart = abs(values - _account(values, title).mean("replica"))
            others = apart.sel(description=[one for one in values["description"].values if one != title])
            return others.max(along) if along else others, f"largest distance of {name} from {title}"
        case _:
            raise ProblemError(
                f"the measure {measure!r} is not known; give 'end', 'plateau', {{crossing = level}} or {{distance = title}}."
            )


def mean_and_error(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """The mean over replicas and its standard error, which is nan for a single one."""
    return values.mean("replica"), values.std("replica", ddof=1) / np.sqrt(values.count("replica"))


def _account(values: xr.DataArray, title: str) -> xr.DataArray:
    titles = [str(one) for one in values["description"].values]
    if title not in titles:
        raise ProblemError(f"the sweep has no account {title!r}; {suggest(title, titles)}")
    return values.sel(description=title)
