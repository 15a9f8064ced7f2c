"""Landmarks of curves: when they fall to a level, where they stand still, and when they leave that plateau.

Every curve of a result has its own landmarks: all dimensions but time (replicas, axes of a sweep, units) remain.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import xarray as xr

from dimfree.errors import ProblemError, suggest

CLOCKS = ("time", "step")
_FLAT = 1.25  # a plateau changes by less than this factor
_LEFT = 0.5  # a plateau has been left when this share of its height remains
_FIRST_SHARE = 1e-3  # share of the run; stretches within it are part of the start, not a plateau
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
_Found = TypeVar("_Found", xr.DataArray, xr.Dataset)


@runtime_checkable
class Accounts(Protocol):
    """Several results with their titles, such as a comparison."""

    @property
    def accounts(self) -> Mapping[str, xr.Dataset]:
        """Every result by its title."""


Curves = xr.DataArray | xr.Dataset | Accounts


def crossing_times(data: Curves, level: float, observable: str = "risk") -> xr.DataArray:
    """Find when every curve first falls to `level`, interpolating between saved times; NaN where it never does.

    Arguments:
        data: a result, a sweep, one observable of either, or a comparison, whose accounts then lie along the
            dimension `description`
        level: the level to fall to
        observable: the observable of the result to look at

        df.crossing_times(df.simulate(problem), 0.01).mean("replica")
    """
    return _of_all(data, observable, lambda curves: _crossing_times(curves, level))


def plateau(data: Curves, observable: str = "risk") -> xr.Dataset:
    """Find the longest stretch on which every curve stands still before it falls by half; NaN if there is no such stretch.

    `begin`, `end` and `length` of the stretch, its `height`, and `escape`, when half of the height is left; ends of the stretch
    that lie between saved times are interpolated. The fall must be shorter than the stretch: an exponential decay has no
    plateau.

    Arguments:
        data: a result, a sweep, one observable of either, or a comparison, whose accounts then lie along the dimension
            `description`; for the plateau of the mean take the mean over replicas first
        observable: the observable of the result to look at

        df.plateau(df.simulate(problem))["length"].mean("replica")
    """
    return _of_all(data, observable, _plateaus)


def clock(values: xr.DataArray) -> str | None:
    """The dimension of time (or steps) that an observable has; None if it has none."""
    return next((dim for dim in CLOCKS if dim in values.dims), None)


def _of_all(data: Curves, observable: str, find: Callable[[xr.DataArray], _Found]) -> _Found:
    """Apply `find` to one observable of a result, or of several results, which then lie side by side."""
    if isinstance(data, xr.DataArray):
        return find(data)
    if isinstance(data, xr.Dataset):
        return find(_chosen(data, observable))
    having = {title: one for title, one in data.accounts.items() if observable in one}
    if not having:
        known = dict.fromkeys(str(name) for one in data.accounts.values() for name in one.data_vars)
        raise ProblemError(f"no account has an observable {observable!r}; {suggest(observable, known)}")
    found = [_numbered(find(one[observable])) for one in having.values()]
    return xr.concat(found, xr.Variable("description", list(having)), join="outer")


def _numbered(found: _Found) -> _Found:
    """The same with numbers 0, 1, ... along every dimension, so that results of different sizes can lie side by side."""
    return found.drop_vars(found.coords).assign_coords({dim: np.arange(size) for dim, size in found.sizes.items()})


def _chosen(data: xr.Dataset, observable: str) -> xr.DataArray:
    if observable not in data:
        raise ProblemError(
            f"the result has no observable {observable!r}; {suggest(observable, map(str, data.data_vars))}"
        )
    return data[observable]


def _along(curves: xr.DataArray) -> str:
    found = clock(curves)
    if found is None:
        raise ProblemError(
            f"{curves.name or 'the observable'} has the dimensions {', '.join(map(str, curves.dims)) or 'of a single number'}; "
            "a curve needs a dimension 'time' or 'step': give the result of a run."
        )
    return found


def _crossing_times(curves: xr.DataArray, level: float) -> xr.DataArray:
    along = _along(curves)
    time = curves[along].values
    found: xr.DataArray = xr.apply_ufunc(
        lambda curve: _crossing(time, curve, level), curves, input_core_dims=[[along]], vectorize=True
    )
    attributes = {"long_name": f"{along} at which {curves.name or 'it'} falls to {level:g}"}
    return found.rename("crossing").assign_attrs(attributes | _units(curves[along]))


def _plateaus(curves: xr.DataArray) -> xr.Dataset:
    along = _along(curves)
    time = curves[along].values
    found = xr.apply_ufunc(
        lambda curve: tuple(_plateau(time, curve)),
        curves,
        input_core_dims=[[along]],
        output_core_dims=[[] for _ in _Plateau._fields],
        vectorize=True,
    )
    parts = dict(zip(_Plateau._fields, found, strict=True))
    parts["length"] = parts["end"] - parts["begin"]
    units = {name: _units(curves if name == "height" else curves[along]) for name in parts}
    return xr.Dataset({name: values.assign_attrs(units[name]) for name, values in parts.items()})


def _units(values: xr.DataArray) -> dict[str, str]:
    return {"units": values.attrs["units"]} if "units" in values.attrs else {}


class _Plateau(NamedTuple):
    """Where a curve stands still before it falls."""

    begin: float
    end: float
    height: float
    escape: float  # when half of the height is left


_NONE = _Plateau(*(float("nan"),) * 4)


class _Stretch(NamedTuple):
    """The saved times between which a curve stands still, and the exact times, which lie in the neighbouring intervals."""

    first: int
    last: int
    begin: float
    end: float


def _plateau(time: Vector, curve: Vector) -> _Plateau:
    """The plateau of one curve."""
    longest_first = sorted(_still(time, curve), key=lambda one: one.begin - one.end)
    for one in longest_first:
        length = one.end - one.begin
        if not length > _FIRST_SHARE * time[-1]:
            break
        height = float(np.mean(curve[one.first : one.last + 1]))
        escape = _crossing(time[one.first :], curve[one.first :], _LEFT * height)
        if escape - one.end < length:
            return _Plateau(one.begin, one.end, height, escape)
    return _NONE


def _still(time: Vector, curve: Vector) -> Iterable[_Stretch]:
    """The longest stretch that begins, and the longest that ends, at each of the saved times."""
    n = len(time) - 1
    backward = (
        _Stretch(n - one.last, n - one.first, -one.end, -one.begin) for one in _forward(-time[::-1], curve[::-1])
    )
    return chain(_forward(time, curve), backward)


def _forward(time: Vector, curve: Vector) -> Iterable[_Stretch]:
    """The stretch from every saved time on, until the curve leaves a range as wide as a plateau may be.

    A stretch that begins later ends later: `lows` and `highs` hold the places that can still become extremes, so that one
    pass is enough.
    """
    lows: deque[int] = deque()
    highs: deque[int] = deque()
    after, values = 0, curve.tolist()
    for first, value in enumerate(values):
        if not value > 0:
            continue
        if after <= first:
            lows, highs, after = deque([first]), deque([first]), first + 1
        while after < len(values) and _fits(values[after], values[lows[0]], values[highs[0]]):
            _push(lows, after, values, 1)
            _push(highs, after, values, -1)
            after += 1
        end = float(time[after - 1])
        if after < len(values) and np.isfinite(values[after]):
            border = values[highs[0]] / _FLAT if values[after] < values[after - 1] else values[lows[0]] * _FLAT
            end = _between(time[after - 1 : after + 1], curve[after - 1 : after + 1], border)
        yield _Stretch(first, after - 1, float(time[first]), end)
        for places in (lows, highs):
            if places[0] == first:
                places.popleft()


def _fits(value: float, low: float, high: float) -> bool:
    """Whether a range stays narrow enough with one more value; never with nan."""
    return max(value, high) <= _FLAT * min(value, low)


def _push(places: deque[int], place: int, values: list[float], sign: int) -> None:
    """Add a place to those that can still become the smallest (sign 1) or the largest (sign -1) of what follows."""
    while places and sign * values[places[-1]] >= sign * values[place]:
        places.pop()
    places.append(place)


def _crossing(time: Vector, curve: Vector, level: float) -> float:
    """When one curve first falls to a level; nan where it never does."""
    below = np.flatnonzero(curve <= level)
    if not below.size:
        return float("nan")
    at = int(below[0])
    return float(time[0]) if at == 0 else _between(time[at - 1 : at + 1], curve[at - 1 : at + 1], level)


def _between(time: Vector, curve: Vector, level: float) -> float:
    """When a curve passes a level between two saved times."""
    before, after = float(curve[0]), float(curve[1])
    if before > 0 and after > 0 and level > 0:  # risks fall exponentially rather than linearly
        before, after, level = np.log([before, after, level])
    return float(time[0] + (time[1] - time[0]) * (before - level) / (before - after))
