"""The figure of a comparison on clusters: the test error beside the best one, the risk, and overlaps with the directions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimfree.drawing import draw_account, draw_deviation, from_zero, looks, trained_layers
from dimfree.onepass.figure import TIME, draw_test_error
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_COLOURS = ("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a", "#b15928")
_MOST = len(_COLOURS)  # at most this many directions are drawn, each in its own colour


def draw_clusters(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Real SGD as markers, theories as lines; in the last panel colours are directions of the means."""
    data = problem.data
    assert isinstance(data, Clusters)
    figure.set_size_inches(14, 4.8)
    grid, shown = figure.add_gridspec(2, 3, height_ratios=(3, 1)), looks(accounts)
    error, risk, overlap = (
        figure.add_subplot(grid[:, 0]),
        figure.add_subplot(grid[0, 1]),
        figure.add_subplot(grid[:, 2]),
    )
    deviation = figure.add_subplot(grid[1, 1], sharex=risk)
    draw_deviation(deviation, accounts, shown)
    first = next(iter(accounts))
    for title, seen in accounts.items():
        time = seen["time"].values
        draw_account(risk, shown[title], time, seen["risk"].values, "")
        for r in range(min(_MOST, seen.sizes["teacher"])):
            size = (seen["M"].values[..., r] ** 2).mean(axis=-1) ** 0.5
            label = f"direction {r + 1}" if title == first else ""
            draw_account(overlap, shown[title], time, size, label, _COLOURS[r])
    draw_test_error(error, accounts, shown)
    below = deviation if deviation.get_visible() else risk
    risk.tick_params(labelbottom=below is risk)
    risk.set_ylabel("population risk")
    overlap.set_ylabel("overlap with a direction, root mean square over units")
    for axes in (error, risk, overlap):
        from_zero(axes)
    for axes in (error, below, overlap):
        axes.set_xlabel(TIME)
    overlap.legend(frameon=False)
    figure.suptitle(_title(problem, data), fontsize=10)


def _title(problem: OnePassProblem, data: Clusters) -> str:
    training = problem.training
    shape = "four clusters of XOR" if data.shape == "xor" else f"{len(data.labels)} clusters"
    return (
        f"{shape}, dimension {problem.dimension:,}, width {problem.network.width}, learning rate {training.learning_rate:g}, "
        f"batch {training.batch:,}\n{trained_layers(problem.network.trained)}"
    )
