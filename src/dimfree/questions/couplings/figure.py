"""Figures of the coupled dynamics: risks and distances against time, and errors against width, step or dimension."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from dimfree.drawing import trained_layers
from dimfree.questions.couplings.answer import DYNAMICS, GAPS, QUANTITIES

if TYPE_CHECKING:
    from dimfree.questions.couplings.answer import Couplings
    from dimfree.questions.couplings.slopes import Slopes

_LINES = {"PDE": ("#1b9e77", "-"), "ND": ("#66a61e", "--"), "PD": ("#7570b3", "-."), "GD": ("#e7298a", ":")}
_COLOURS = dict(zip(GAPS, ("#66a61e", "#1b9e77", "#7570b3", "#d95f02"), strict=True))


def draw_couplings(found: "Couplings", figure: Figure) -> None:
    """Risks of all five on the left, distances between neighbours on the right; means over the starts."""
    figure.set_size_inches(9.6, 4.0)
    risks, distances = figure.subplots(1, 2)
    for name, values in zip(DYNAMICS, found.risks.mean(axis=1), strict=True):
        if name in _LINES:
            colour, line = _LINES[name]
            risks.plot(found.times, values, line, color=colour, lw=1.5, label=name)
        else:
            risks.plot(found.times, values, "o", color="black", mfc="white", ms=4.5, label=name)
    for gap, values in zip(GAPS[1:], found.distances.mean(axis=1), strict=True):
        distances.plot(found.times, values, "o-", color=_COLOURS[gap], ms=4, lw=1.2, label=gap)
    risks.set(xlabel="time $t$", ylabel="population risk")
    distances.set(xlabel="time $t$", ylabel="largest distance of a neuron", yscale="log")
    for axes in (risks, distances):
        axes.legend(frameon=False)
    p = found.problem
    figure.suptitle(
        f"width {p.network.width}, step {p.time_step:.3g}, batch {p.training.batch:,}, dimension {p.dimension}\n"
        f"{trained_layers(p.network.trained)}",
        fontsize=10,
    )


def draw_slopes(found: "Slopes", figure: Figure) -> None:
    """A panel per sweep: every error, and the power law fitted to it."""
    figure.set_size_inches(4.8 * len(found.sweeps), 4.2)
    for axes, sweep in zip(np.atleast_1d(figure.subplots(1, len(found.sweeps))), found.sweeps, strict=True):
        for name, errors in zip(QUANTITIES, sweep.errors.mean(axis=2), strict=True):
            what, gap = name.split()
            x, slope = np.log(sweep.values), sweep.fits[name].value
            fitted = np.exp(np.log(errors).mean() + slope * (x - x.mean()))
            marker, line = ("o", "-") if what == "distance" else ("s", ":")
            axes.plot(sweep.values, errors, marker, color=_COLOURS[gap], ms=4, mfc="white")
            axes.plot(sweep.values, fitted, line, color=_COLOURS[gap], lw=1.2, label=f"{name}: {slope:.2f}")
        axes.set(xscale="log", yscale="log", xlabel=sweep.axis, ylabel="error at the last time")
        axes.legend(frameon=False, fontsize=7)
