"""The figure of a comparison on two Gaussians: the law of the neurons at four times, the risk, and the mean parameters."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.onepass.figure import style
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.results.store import save_figure

if TYPE_CHECKING:
    from dimfree.comparison.compare import Comparison

_SNAPSHOTS, _MARKERS = 4, 20
_REAL = "neurons"
_TIME = "time $t$ = steps × rate / (width × dimension)"
_LETTERS = {"r1": ("#1f78b4", "$r_1$"), "r2": ("#33a02c", "$r_2$"), "a": ("#d95f02", "$a$"), "bias": ("#6a3d9a", "$b$")}


def draw(comparison: "Comparison", path: Path) -> Path:
    """Histograms of the norms above; below, time: real SGD as markers, theory as lines."""
    problem = comparison.problem
    assert isinstance(problem, TwoGaussiansProblem)
    accounts = {name: comparison.tree[name].to_dataset() for name in comparison.names}
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        grid = figure.add_gridspec(2, _SNAPSHOTS)
        _draw_laws([figure.add_subplot(grid[0, n]) for n in range(_SNAPSHOTS)], accounts)
        risk, means = figure.add_subplot(grid[1, :2]), figure.add_subplot(grid[1, 2:])
        for name, data in accounts.items():
            _draw_curve(risk, name, data["time"].values, data["risk"].values, "black", _label(name))
        risk.set(xlabel=_TIME, ylabel="population risk $E(y-f)^2/2$", ylim=(0, None))
        risk.legend(frameon=False)
        _draw_means(means, accounts)
        figure.suptitle(_title(problem), fontsize=10)
        save_figure(lambda temporary: figure.savefig(temporary, dpi=160), path)
    return path


def _draw_laws(panels: list[Axes], accounts: dict[str, xr.Dataset]) -> None:
    """Filled bars are real SGD, all replicas together; lines are the particles of the theory."""
    first = next(iter(accounts.values()))
    letters = [letter for letter in ("r1", "r2") if first[letter].values.any()]
    for axes, at in zip(panels, np.linspace(0, first.sizes["time"] - 1, len(panels)).round().astype(int), strict=True):
        for letter in letters:
            laws = {name: data[letter].values[at].ravel() for name, data in accounts.items()}
            bins, (colour, symbol) = _bins(list(laws.values())), _LETTERS[letter]
            for name, law in laws.items():
                density, _ = np.histogram(law, bins, density=True)
                real, label = name == _REAL, f"{symbol}: {_label(name)}"
                axes.stairs(density, bins, color=colour, label=label, fill=real, alpha=0.35 if real else 1.0, lw=1.4)
        norms = " and ".join(_LETTERS[letter][1] for letter in letters)
        axes.set(title=f"$t$ = {first['time'].values[at]:.3g}", xlabel=f"{norms} of a neuron", yticks=[])
    panels[0].set_ylabel("density")
    panels[0].legend(frameon=False, fontsize=7, loc="upper right")
    panels[0].margins(y=0.35)


def _draw_means(axes: Axes, accounts: dict[str, xr.Dataset]) -> None:
    """Means over neurons of all parameters that move."""
    for name, data in accounts.items():
        for letter, (colour, symbol) in _LETTERS.items():
            mean = data[letter].mean("unit").values
            if np.ptp(mean) > 0:
                _draw_curve(axes, name, data["time"].values, mean, colour, f"{symbol}: {_label(name)}")
    axes.set(xlabel=_TIME, ylabel="mean over neurons")
    axes.legend(frameon=False, ncols=len(accounts))


def _draw_curve(axes: Axes, name: str, time: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """Markers at the mean over replicas, with a band of all of them, or a line."""
    mean = values.mean(axis=1)
    if name != _REAL:
        axes.plot(time, mean, color=colour, lw=1.4, label=label, zorder=3)
        return
    shown = slice(None, None, max(1, len(time) // _MARKERS))
    axes.fill_between(time, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.15, lw=0)
    axes.plot(time[shown], mean[shown], "o", color=colour, ms=4, mfc="white", mew=1, label=label, zorder=4)


def _bins(laws: list[np.ndarray]) -> np.ndarray:
    """The same cells for all accounts, as many as the smaller law fills; a law in one point still has a width."""
    low, high = min(law.min() for law in laws), max(law.max() for law in laws)
    room = max(0.02 * (high - low), 1e-3)
    return np.linspace(low - room, high + room, int(np.clip(min(law.size for law in laws) ** 0.5, 8, 40)) + 1)


def _label(name: str) -> str:
    return "real SGD" if name == _REAL else name


def _title(problem: TwoGaussiansProblem) -> str:
    training, subspace = problem.training, f", signal in {problem.signal}" if problem.data.signal else ""
    noise = f", inverse temperature {training.inverse_temperature:g}" if training.inverse_temperature else ""
    return (
        f"two Gaussians, contrast {problem.data.contrast:g}, dimension {problem.dimension}{subspace}, "
        f"width {problem.network.width}, rate {training.learning_rate:g}{noise}"
    )
