"""The figure of a time to stop: risks with the best time, and the gap between risk and training loss."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from dimfree.questions.stopping.answer import Account, Curves, Stopping

_COLOUR = {"dmft": "#d95f02", "multi-pass": "black"}


def draw_stopping(found: "Stopping", figure: Figure) -> None:
    """Both panels, with the problem above them."""
    figure.set_size_inches(9.6, 4.0)
    risk, gap = figure.subplots(1, 2)
    time = found.problem.times
    for one in found.accounts:
        _draw(risk, time, one, one.risk)
        _draw(gap, time, one, one.gap)
    if found.fresh is not None:
        risk.plot(time, found.fresh, "--", color="#1b9e77", lw=1.4, label="fresh samples at every step")
    best = found.accounts[0]
    risk.plot(
        [found.best_time], [best.risk[best.best].mean()], "v", color=_COLOUR["dmft"], ms=8, label="best time to stop"
    )
    gap.axhline(0, color="0.6", lw=0.8)
    risk.set(xlabel="time $t$ = steps × learning rate", ylabel="risk on fresh samples (± 2 s.e.)", yscale="log")
    gap.set(xlabel="time $t$ = steps × learning rate", ylabel="risk minus loss on the data set (± 2 s.e.)")
    risk.legend(frameon=False)
    data, training, network = found.problem.data, found.problem.training, found.problem.network
    figure.suptitle(
        f"{network.width} {network.activation} units, {data.samples:g} samples per dimension, noise {data.noise:g}, rate "
        f"{training.learning_rate:g}, batch fraction {training.batch_fraction:g}",
        fontsize=10,
    )


def _draw(axes: Axes, time: "np.ndarray[tuple[int], np.dtype[np.float64]]", one: "Account", values: "Curves") -> None:
    """Simulations as markers, theory as a line; bars and bands are two standard errors."""
    mean, colour = values.mean(axis=1), _COLOUR.get(one.name, "#7570b3")
    error = 2 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else np.zeros(len(mean))
    if one.name == "multi-pass":
        shown = slice(None, None, max(1, len(time) // 20))
        axes.errorbar(
            time[shown], mean[shown], error[shown], fmt="o", color=colour, mfc="white", ms=4, lw=1, label=one.name
        )
        return
    axes.plot(time, mean, color=colour, lw=1.6, label=one.name)
    axes.fill_between(time, mean - error, mean + error, color=colour, alpha=0.2, lw=0)
