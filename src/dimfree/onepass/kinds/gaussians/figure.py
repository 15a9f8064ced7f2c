"""The figure of a comparison on two Gaussians: the law of the neurons at four times, the risk, and the mean parameters."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dimfree.drawing import Look, draw_account, draw_deviation, from_zero, legend_label, looks, trained_layers
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SNAPSHOTS = 4
_TIME = "time $t$ = steps × rate / (width × dimension)"
_LETTERS = {"r1": ("#1f78b4", "$r_1$"), "r2": ("#33a02c", "$r_2$"), "a": ("#d95f02", "$a$"), "bias": ("#6a3d9a", "$b$")}


def draw_laws(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Histograms of the norms above; below, time: real SGD as markers, theory as lines."""
    figure.set_size_inches(11, 7.4)
    grid, shown = figure.add_gridspec(3, _SNAPSHOTS, height_ratios=(4, 3, 1.2)), looks(accounts)
    _draw_histograms([figure.add_subplot(grid[0, n]) for n in range(_SNAPSHOTS)], accounts, shown)
    risk, means = figure.add_subplot(grid[1, :2]), figure.add_subplot(grid[1:, 2:])
    deviation = figure.add_subplot(grid[2, :2], sharex=risk)
    draw_deviation(deviation, accounts, shown)
    for title, data in accounts.items():
        draw_account(risk, shown[title], data["time"].values, data["risk"].values, legend_label(title, data))
    below = deviation if deviation.get_visible() else risk
    below.set_xlabel(_TIME)
    risk.tick_params(labelbottom=below is risk)
    risk.set_ylabel("population risk $E(y-f)^2/2$")
    from_zero(risk)
    risk.legend(frameon=False)
    _draw_means(means, accounts, shown)
    figure.suptitle(_title(problem), fontsize=10)


def _draw_histograms(panels: "list[Axes]", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    """Filled bars are real SGD, all replicas together; lines are the particles of the theory."""
    first = next(iter(accounts.values()))
    letters = [letter for letter in ("r1", "r2") if first[letter].values.any()]
    reach = {letter: _bins([data[letter].values.ravel() for data in accounts.values()]) for letter in letters}
    low, high = min(bins[0] for bins in reach.values()), max(bins[-1] for bins in reach.values())
    for axes, at in zip(panels, np.linspace(0, first.sizes["time"] - 1, len(panels)).round().astype(int), strict=True):
        for letter in letters:
            laws = {name: data[letter].values[at].ravel() for name, data in accounts.items()}
            bins, (colour, symbol) = _bins(list(laws.values())), _LETTERS[letter]
            for name, law in laws.items():
                density, _ = np.histogram(law, bins, density=True)
                real, label = shown[name].real, f"{symbol}: {name}"
                axes.stairs(density, bins, color=colour, label=label, fill=real, alpha=0.35 if real else 1.0, lw=1.4)
        norms = " and ".join(_LETTERS[letter][1] for letter in letters)
        axes.set(
            title=f"$t$ = {first['time'].values[at]:.3g}", xlabel=f"{norms} of a neuron", yticks=[], xlim=(low, high)
        )
    panels[0].set_ylabel("density")
    panels[0].legend(frameon=False, fontsize=7, loc="upper right")
    panels[0].margins(y=0.35)


def _draw_means(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    """Means over neurons of all parameters that move."""
    for title, data in accounts.items():
        for letter, (colour, symbol) in _LETTERS.items():
            mean = data[letter].mean("unit").values
            if np.ptp(mean) > 0:
                draw_account(axes, shown[title], data["time"].values, mean, f"{symbol}: {title}", colour)
    axes.set(xlabel=_TIME, ylabel="mean over neurons")
    axes.legend(frameon=False, ncols=len(accounts))


def _bins(laws: list[np.ndarray]) -> np.ndarray:
    """The same cells for all accounts, as many as the smaller law fills; a law in one point still has a width."""
    low, high = min(law.min() for law in laws), max(law.max() for law in laws)
    room = max(0.02 * (high - low), 1e-3)
    return np.linspace(low - room, high + room, int(np.clip(min(law.size for law in laws) ** 0.5, 8, 40)) + 1)


def _title(problem: OnePassProblem) -> str:
    training, data = problem.training, problem.data
    assert isinstance(data, TwoGaussians)
    signal = data.telling(problem.dimension)
    subspace = f", signal in {signal}" if signal < problem.dimension else ""
    noise = f", inverse temperature {training.inverse_temperature:g}" if training.inverse_temperature else ""
    return (
        f"two Gaussians, contrast {data.contrast:g}, dimension {problem.dimension}{subspace}, "
        f"width {problem.network.width}, rate {training.learning_rate:g}, batch {training.batch:,}{noise}\n"
        f"{trained_layers(problem.network.trained)}"
    )
