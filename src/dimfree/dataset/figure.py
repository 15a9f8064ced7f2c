"""The figure of a comparison on a data set: error on fresh samples, loss on the data set, overlaps, and where they end."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dimfree.dataset.problem import DataSetProblem
from dimfree.drawing import draw_account, draw_deviation, legend_label, looks

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_TIME = "time $t$ = steps × learning rate"
_PANELS = {
    "risk": "error on fresh samples",
    "train_loss": "loss on the data set",
    "m": "overlap $m = w\\cdot v/d$",
    "norm": "squared norm $C(t,t) = |w|^2/d$",
}


def draw(figure: "Figure", problem: DataSetProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """One panel per observable; theory as a line, real runs as markers with a band of 80 % of the replicas."""
    figure.set_size_inches(10.5, 7.4)
    grid, shown = figure.add_gridspec(3, 2, height_ratios=(3, 1.2, 4)), looks(accounts)
    panels = [figure.add_subplot(grid[place]) for place in ((0, 0), (slice(0, 2), 1), (2, 0), (2, 1))]
    draw_deviation(figure.add_subplot(grid[1, 0], sharex=panels[0]), accounts, shown)
    panels[0].tick_params(labelbottom=not figure.axes[-1].get_visible())
    for axes, (name, label) in zip(panels, _PANELS.items(), strict=True):
        for title, data in accounts.items():
            if name in data or (name == "norm" and "C" in data):  # some accounts do not see the data set
                draw_account(axes, shown[title], data["time"].values, _values(data, name), legend_label(title, data))
        axes.set(xlabel=_TIME, ylabel=label)
    if figure.axes[-1].get_visible():
        panels[0].set_xlabel("")
        figure.axes[-1].set_xlabel(_TIME)
    panels[0].legend(frameon=False)
    figure.suptitle(_title(problem), fontsize=10)


def _values(data: "xr.Dataset", name: str) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """(time, replica); the norm is the diagonal of C where that is known."""
    if name in data:
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
