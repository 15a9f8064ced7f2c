"""On which scale the values of an axis lie, where they are drawn and how they are written."""

from typing import Any

import numpy as np
import xarray as xr

from dimfree.drawing import is_log_grid

Vector = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_MOST_TICKS = 8  # up to this many values are all written at an axis


def places(coordinate: xr.DataArray) -> tuple[Vector, bool]:
    """Where the values of an axis are drawn, and whether on a logarithmic scale; words are drawn at equal distances."""
    if coordinate.dtype.kind not in "fi":
        return np.arange(len(coordinate), dtype=float), False
    found = np.asarray(coordinate.values, dtype=float)
    return found, is_log_grid(found)


def edges(middles: Vector, logs: bool) -> Vector:
    """Borders of cells half way between their middles."""
    middles = np.log(middles) if logs else middles
    if len(middles) == 1:
        found = np.array([middles[0] - 0.5, middles[0] + 0.5])
    else:
        inner = (middles[1:] + middles[:-1]) / 2
        found = np.array([2 * middles[0] - inner[0], *inner, 2 * middles[-1] - inner[-1]])
    return np.exp(found) if logs else found


def label_axis(axis: Any, coordinate: xr.DataArray) -> None:
    """Name an axis of a figure, set its scale, and write all its values if they are words or few numbers of a log grid."""
    at, logs = places(coordinate)
    axis.set_label_text(axis_name(coordinate))
    if logs:
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    if coordinate.dtype.kind not in "fi" or (logs and len(at) <= _MOST_TICKS):
        axis.set_ticks(at, labels=[text(value) for value in coordinate.values])
        axis.set_ticks([], minor=True)


def axis_name(coordinate: xr.DataArray) -> str:
    """An axis of a sweep in words."""
    return str(coordinate.name).replace("_", " ")


def text(value: Any) -> str:
    """A value of an axis as short text."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
