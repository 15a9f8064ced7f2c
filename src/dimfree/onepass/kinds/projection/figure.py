"""The figure of a comparison behind a random projection: the risk against steps, and how far theories are from SGD."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimfree.drawing import draw_account, draw_deviation, legend_label, looks
from dimfree.onepass.figure import TIME
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


def draw_projected(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Real SGD as markers, theories as lines."""
    data = problem.data
    assert isinstance(data, ProjectedData)
    law = f", α = {data.alpha:g}, β = {data.beta:g}" if isinstance(data, PowerLaw) else ""
    figure.set_size_inches(7.5, 5.5)
    grid, shown = figure.add_gridspec(2, 1, height_ratios=(3, 1)), looks(accounts)
    risk = figure.add_subplot(grid[0])
    deviation = figure.add_subplot(grid[1], sharex=risk)
    draw_deviation(deviation, accounts, shown)
    for title, seen in accounts.items():
        time = seen["time"].values[1:]
        draw_account(risk, shown[title], time, seen["risk"].values[1:], legend_label(title, seen))
    below = deviation if deviation.get_visible() else risk
    risk.tick_params(labelbottom=below is risk)
    risk.set(xscale="log", yscale="log", ylabel="population risk")
    below.set_xlabel(TIME)
    risk.legend(frameon=False)
    figure.suptitle(
        f"{problem.dimension} features of {data.inputs_of(problem.dimension):,} inputs{law}, "
        f"learning rate {problem.training.learning_rate:g}, batch {problem.training.batch:,}",
        fontsize=10,
    )
