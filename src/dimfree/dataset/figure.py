"""The figure of a comparison on a data set: error on fresh samples, loss on the data set, overlaps, and where they end."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.onepass.figure import style
from dimfree.errors import DimfreeError
from dimfree.dataset.words import dataset_model
from dimfree.dataset.problem import DataSetProblem
from dimfree.results.store import save_figure
from dimfree.dataset.static import StaticLimit, static_limit

if TYPE_CHECKING:
    from dimfree.comparison.compare import Comparison

_MARKERS = 20
_PANELS = {
    "risk": "error on fresh samples",
    "train_loss": "loss on the data set",
    "m": "overlap $m = w\\cdot v/d$",
    "norm": "squared norm $C(t,t) = |w|^2/d$",
}
_ENDS = {"risk": "generalisation_error", "train_loss": "train_loss", "m": "m", "norm": "C"}


def draw(comparison: "Comparison", path: Path) -> Path:
    """One panel per observable; theory as a line, real runs as markers with a band of 80 % of the replicas."""
    problem = comparison.problem
    assert isinstance(problem, DataSetProblem)
    end = asymptote(problem)
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(10.5, 6.6), layout="constrained")
        for axes, (name, label) in zip(figure.subplots(2, 2).flat, _PANELS.items(), strict=True):
            for account in comparison.names:
                _draw_account(axes, comparison.tree[account].to_dataset(), account, name)
            if end is not None:
                value = float(getattr(end, _ENDS[name]))
                axes.axhline(value, color="0.4", ls="--", lw=1, label="end of full-batch training")
            axes.set(xlabel="time $t$ = steps × learning rate", ylabel=label)
        figure.axes[0].legend(frameon=False)
        figure.suptitle(_title(problem), fontsize=10)
        save_figure(lambda temporary: figure.savefig(temporary, dpi=160), path)
    return path


def asymptote(problem: DataSetProblem) -> StaticLimit | None:
    """The minimum of the cost, where training with the full batch ends (docs/theory/dmft.md, section 6); None if unknown."""
    if problem.training.batch_fraction < 1 or problem.training.temperature > 0:
        return None
    try:
        return static_limit(dataset_model(problem).letters)
    except DimfreeError:
        return None


def _draw_account(axes: Axes, data: xr.Dataset, account: str, name: str) -> None:
    values = _values(data, name)
    mean, time, several = values.mean(axis=1), data["time"].values, values.shape[1] > 1
    if account == "multi-pass":
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        axes.fill_between(time, low, high, color="black", alpha=0.12, lw=0)
        shown = slice(None, None, max(1, len(time) // _MARKERS))
        label = f"real SGD, mean of {values.shape[1]} (band: 80 %)"
        axes.plot(time[shown], mean[shown], "o", color="black", ms=4, mfc="white", mew=1, label=label, zorder=4)
        return
    if several:  # ensembles of paths: the error bar of the theory
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        axes.fill_between(time, mean - 2 * error, mean + 2 * error, color="#d95f02", alpha=0.25, lw=0)
    axes.plot(time, mean, color="#d95f02", lw=1.5, label=account + (" (band: 2 s.e.)" if several else ""), zorder=5)


def _values(data: xr.Dataset, name: str) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """(time, replica); the norm is the diagonal of C."""
    if name != "norm":
        return data[name].values
    return np.einsum("trt->tr", data["C"].values)


def _title(problem: DataSetProblem) -> str:
    training = problem.training
    batch = "full batch" if training.batch_fraction == 1 else f"batch fraction {training.batch_fraction:g}"
    lasting = f", persistence {training.persistence:g}" if training.persistence else ""
    return (
        f"{problem.data.kind}, {problem.data.samples:g} samples per dimension, {training.loss} loss, "
        f"rate {training.learning_rate:g}, {batch}{lasting}; simulation in dimension {problem.dimension}"
    )
