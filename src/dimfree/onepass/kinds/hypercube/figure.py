"""The figure of a comparison on the hypercube: the risk, the Fourier coefficients, and the mean weights of the neurons."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimfree.drawing import draw_account, draw_deviation, from_zero, legend_label, looks, trained_layers
from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.kinds.hypercube.staircases import plateau
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_COLOURS = ("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a", "#b15928")
_MOST = len(_COLOURS)  # at most this many curves of one kind are drawn, each in its own colour
_TIME = "time $t$ = steps × rate / (width × dimension)"


def draw_hypercube(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Real SGD as markers, theories as lines; colours are products of coordinates, or coordinates."""
    data = problem.data
    assert isinstance(data, Hypercube)
    figure.set_size_inches(14, 4.8)
    grid, shown = figure.add_gridspec(2, 3, height_ratios=(3, 1)), looks(accounts)
    risk, fourier, sizes = (
        figure.add_subplot(grid[0, 0]),
        figure.add_subplot(grid[:, 1]),
        figure.add_subplot(grid[:, 2]),
    )
    deviation = figure.add_subplot(grid[1, 0], sharex=risk)
    draw_deviation(deviation, accounts, shown)
    for title, seen in accounts.items():
        time = seen["time"].values
        draw_account(risk, shown[title], time, seen["risk"].values, legend_label(title, seen))
        for n in range(min(_MOST, seen.sizes["support"])):
            label = product(data.supports[n]) if title == next(iter(accounts)) else ""
            draw_account(fourier, shown[title], time, seen["fourier"].values[..., n], label, _COLOURS[n])
        for n in range(min(_MOST - 1, seen.sizes["coordinate"])):
            label = f"$|u_{{{data.coordinates[n]}}}|$" if title == next(iter(accounts)) else ""
            draw_account(sizes, shown[title], time, seen["u_mean"].values[..., n], label, _COLOURS[n])
        draw_account(
            sizes, shown[title], time, seen["s_mean"].values, "$s$" if title == next(iter(accounts)) else "", "grey"
        )
    if bound := plateau(data):
        risk.axhline(bound, color="grey", ls=":", label="plateau of the unreached")
    below = deviation if deviation.get_visible() else risk
    risk.tick_params(labelbottom=below is risk)
    risk.set_ylabel("population risk $E(h-f)^2/2$")
    from_zero(risk)
    fourier.set(ylabel=r"Fourier coefficient $\hat f(S)$")
    sizes.set(ylabel=r"mean over neurons, weights over $\sqrt{d}$")
    for axes in (below, fourier, sizes):
        axes.set_xlabel(_TIME)
    for axes in (risk, fourier, sizes):
        axes.legend(frameon=False)
    figure.suptitle(_title(problem), fontsize=10)


def product(support: tuple[int, ...]) -> str:
    """A product of coordinates in letters."""
    return "$" + "".join(f"z_{{{i}}}" for i in support) + "$" if support else "constant"


def _title(problem: OnePassProblem) -> str:
    training = problem.training
    return (
        f"hypercube of dimension {problem.dimension}, width {problem.network.width}, batch {training.batch}, "
        f"step {problem.time_step:.3g}, {trained_layers(problem.network.trained)}"
    )
