"""Training on data sets beside its theory: by how many standard errors they differ, and how both are drawn."""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float64
from matplotlib.axes import Axes

OBSERVABLES = {
    "risk": "error on fresh samples",
    "train_loss": "loss on the data set",
    "m": "overlap $m$",
    "norm": "squared norm $C(t,t)$",
}
COLOURS = ("#d95f02", "#1b9e77", "#7570b3", "#e7298a")
LINES, MARKS = ("-", "--", "-.", ":"), ("o", "s", "^", "D")  # what tells cases apart where colours look alike
_MARKERS = 16


def observed(run: xr.Dataset, name: str) -> Float64[np.ndarray, "time replica"]:
    """One observable along all replicas; the norm is the diagonal of C."""
    if name == "norm":
        return np.einsum("trt->tr", run["C"].values)
    return run[name].values


def values_of(tree: xr.DataTree, path: str, name: str) -> Float64[np.ndarray, "..."]:
    """The numbers of one observable of one account in a tree."""
    return tree[path].to_dataset()[name].values


def mean_and_error(values: Float64[np.ndarray, "time replica"]) -> tuple[Any, Any]:
    """Mean over replicas and its standard error; an exact theory has one replica and no error."""
    replicas = values.shape[1]
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(replicas) if replicas > 1 else np.zeros(
        len(values)
    )


def sigmas(sgd: xr.Dataset, theory: xr.Dataset, name: str) -> float:
    """The largest difference after the start, in combined standard errors."""
    (mean, error), (expected, own) = (mean_and_error(observed(run, name)[1:]) for run in (sgd, theory))
    return float(np.max(np.abs(mean - expected) / np.hypot(error, own)))


def largest(tree: xr.DataTree, cases: tuple[str, ...], theory: str, names: tuple[str, ...]) -> float:
    """The largest of the `sigmas` of all pairs."""
    pairs = [(tree[f"{case}/multi-pass"].to_dataset(), tree[f"{case}/{theory}"].to_dataset()) for case in cases]
    return max(sigmas(sgd, limit, name) for sgd, limit in pairs for name in names)


def largest_z(fits: Float64[np.ndarray, "n seed"], theory: Float64[np.ndarray, " n"]) -> float:
    """The largest difference of means over data sets from an exact theory, in standard errors."""
    mean, error = mean_and_error(fits)
    return float(np.max(np.abs(mean - theory) / error))


def draw_pair(
    axes: Axes, sgd: xr.Dataset, theory: xr.Dataset, name: str, colour: str, label: str, number: int = 0
) -> None:
    """The theory as a line with a band of two standard errors, SGD as markers with bars of two standard errors.

    Case number 0, 1, 2, ... has a kind of line and of marker of its own, and a label has both.
    """
    time = theory["time"].values
    (mean, error), (expected, own) = (mean_and_error(observed(run, name)) for run in (sgd, theory))
    if own.any():
        axes.fill_between(time, expected - 2 * own, expected + 2 * own, color=colour, alpha=0.2, lw=0)
    line, marker = LINES[number % len(LINES)], MARKS[number % len(MARKS)]
    axes.plot(time, expected, line, color=colour, lw=1.4)
    every = max(1, len(time) // _MARKERS)
    shown = slice(number * every // len(MARKS), None, every)  # cases that agree do not hide each other
    axes.errorbar(time[shown], mean[shown], 2 * error[shown], fmt=marker, color=colour, mfc="white", ms=3.5, lw=1)
    axes.plot([], [], line, marker=marker, color=colour, mfc="white", ms=3.5, lw=1.4, label=label)
