"""The figure of a comparison of networks on a data set: error on fresh samples, loss on the data set, overlaps, second layer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.drawing import draw_account, draw_deviation, legend_label, looks, trained_layers

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dimfree.drawing import Look

_TIME = "time $t$ = steps × learning rate"
_MOST = 4  # curves in one panel


def draw(figure: "Figure", problem: NetworkProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Theory as a line, real runs as markers with a band of 80 % of the replicas."""
    figure.set_size_inches(10.5, 7.4)
    grid, shown = figure.add_gridspec(3, 2, height_ratios=(3, 1.2, 4)), looks(accounts)
    risk, loss, M, last = (figure.add_subplot(grid[place]) for place in ((0, 0), (slice(0, 2), 1), (2, 0), (2, 1)))
    draw_deviation(figure.add_subplot(grid[1, 0], sharex=risk), accounts, shown)
    trained = problem.network.second_layer == "trained"
    for title, data in accounts.items():
        label = legend_label(title, data)
        for axes, name in ((risk, "risk"), (loss, "train_loss")):
            draw_account(axes, shown[title], data["time"].values, data[name].values, label)
        _several(M, shown[title], data, "M", label)
        _several(last, shown[title], data, "a" if trained else "Q", label)
    signs = problem.data.labels != "value"
    risk.set(ylabel="mean loss on fresh samples" if signs else "risk on fresh samples")
    loss.set(ylabel="mean loss on the data set", xlabel=_TIME)
    M.set(ylabel="overlaps $M_{ir}$ with teachers", xlabel=_TIME)
    last.set(ylabel="second layer $a_i$" if trained else "squared norms $Q_{ii}$", xlabel=_TIME)
    if figure.axes[-1].get_visible():
        risk.tick_params(labelbottom=False)
        figure.axes[-1].set_xlabel(_TIME)
    else:
        risk.set_xlabel(_TIME)
    risk.legend(frameon=False)
    figure.suptitle(_title(problem), fontsize=10)


def _several(axes: "Axes", look: "Look", data: "xr.Dataset", name: str, label: str) -> None:
    """The first curves of a matrix or vector for every unit; of Q the diagonal."""
    values = data[name].values
    if name == "Q":
        values = np.einsum("trii->tri", values)
    flat = values.reshape(*values.shape[:2], -1)[..., :_MOST]
    for number in range(flat.shape[-1]):
        draw_account(axes, look, data["time"].values, flat[..., number], label if number == 0 else "")


def _title(problem: NetworkProblem) -> str:
    data, network, training = problem.data, problem.network, problem.training
    batch = (
        "full batch" if training.batch_fraction == 1 else f"{training.protocol} batches of {training.batch_fraction:g}"
    )
    momentum = f", momentum {training.momentum:g}" if training.momentum else ""
    return (
        f"{network.width} {network.activation} units, {data.in_words}, {data.samples:g} samples per "
        f"dimension, rate {training.learning_rate:g}, {batch}{momentum},\n{trained_layers(network.trained)}; simulation in "
        f"dimension {problem.dimension}"
    )
