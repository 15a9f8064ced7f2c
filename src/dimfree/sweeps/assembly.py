"""From points to one dataset with the axes as dimensions; nan stands where a point has no value."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dimfree.sweeps.axes import Axis
from dimfree.sweeps.batches import Outcome
from dimfree.sweeps.points import Clock, Sweep
from dimfree.sweeps.room import refuse_large_dataset

UNDERWAY = "not computed yet"
Placed = dict[tuple[int, ...], xr.Dataset]


class Layout(NamedTuple):
    """Which point lies where in the grid: all that is needed to read results again, without computing anything."""

    axes: tuple[Axis, ...]
    titles: tuple[str, ...]
    keys: tuple[str, ...]  # the keys of all points, by title first, then along the axes in order
    clock: Clock

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the grid."""
        return ("description", *(axis.name for axis in self.axes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the grid."""
        return (len(self.titles), *(len(axis.values) for axis in self.axes))


def layout(sweep: Sweep) -> Layout:
    """Where the points of a sweep lie."""
    titles = tuple(one.title for one in sweep.descriptions)
    return Layout(sweep.axes, titles, tuple(point.key for point in sweep.points), sweep.clock)


def assemble(plan: Layout, outcomes: Mapping[str, Outcome], attrs: Mapping[str, Any]) -> xr.Dataset:
    """All outcomes as one dataset over (description, *axes, ...); `failure` says why a point has no numbers."""
    places = dict(zip(product(*map(range, plan.shape)), plan.keys, strict=True))
    there = {place: outcomes[key].data for place, key in places.items() if key in outcomes}
    data = {place: _on_clock(one, plan.clock.dim) for place, one in there.items() if one is not None}
    ticks = (plan.clock.dim, f"{plan.clock.dim}_")
    names = dict.fromkeys(str(name) for one in data.values() for name in one.variables if name not in ticks)
    sizes: dict[Hashable, int] = {}
    for one in data.values():
        sizes |= {dim: max(size, sizes.get(dim, 0)) for dim, size in one.sizes.items()}
    having = {name: {place: one for place, one in data.items() if name in one.variables} for name in names}
    refuse_large_dataset((*plan.shape, *_shape(sizes, some, name)) for name, some in having.items())
    stacked = {name: _stacked(plan, sizes, some, name) for name, some in having.items()}
    reasons = [outcomes[key].failure if key in outcomes else UNDERWAY for key in plan.keys]
    stacked["failure"] = xr.Variable(
        plan.dims, np.array(reasons, dtype=object).reshape(plan.shape), {"long_name": "why there are no numbers"}
    )
    coordinates: dict[str, Any] = {"description": list(plan.titles)}
    for axis in plan.axes:
        coordinates |= {name: (dim, _column(values)) for name, (dim, values) in axis.coordinates.items()}
    used = {dim for variable in stacked.values() for dim in variable.dims}
    attributes = {"units": plan.clock.units, "long_name": plan.clock.dim}
    coordinates |= {dim: (dim, np.array(plan.clock.values), attributes) for dim in ticks if dim in used}
    return xr.Dataset(stacked, coordinates, dict(attrs))


def _on_clock(data: xr.Dataset, dim: str) -> xr.Dataset:
    """The dataset over the clock that all points share: over numbers of steps, if times differ from point to point."""
    if dim == "time" or "time" not in data.dims:
        return data
    renamed = {name: f"{dim}_" if name.endswith("_") else dim for name in ("time", "time_") if name in data.dims}
    return data.drop_vars(renamed.keys()).rename(renamed).assign(time=(dim, data["time"].values, data["time"].attrs))


def _stacked(plan: Layout, sizes: Mapping[Hashable, int], data: Placed, name: str) -> xr.Variable:
    """One observable of all points that have it, in an array that holds the largest of them."""
    largest = _largest(data, name)
    whole = np.full((*plan.shape, *_shape(sizes, data, name)), np.nan)
    for place, one in data.items():
        whole[place + _corner(largest, one.variables[name])] = one.variables[name].values
    return xr.Variable((*plan.dims, *largest.dims), whole, largest.attrs)


def _largest(data: Placed, name: str) -> xr.Variable:
    return max((one.variables[name] for one in data.values()), key=lambda part: part.ndim)


def _shape(sizes: Mapping[Hashable, int], data: Placed, name: str) -> tuple[int, ...]:
    """The shape of an array that can hold the observable of any point."""
    return tuple(sizes[dim] for dim in _largest(data, name).dims)


def _corner(largest: xr.Variable, part: xr.Variable) -> tuple[slice, ...]:
    """Where a smaller array lies in the large one; an array without a dimension (time, replica) is repeated along it."""
    return tuple(slice(part.sizes.get(dim)) for dim in largest.dims)


def _column(values: Sequence[Any]) -> list[Any]:
    """The values of an axis as a column: numbers as numbers, all else as text."""
    plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    plain = plain and np.asarray(values).dtype.kind in "fi"  # numpy has no integers beyond 64 bits
    return [value if plain else str(value) for value in values]
