"""The figure of estimators beside SGD: squared overlaps against samples per dimension."""

from math import inf
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from dimfree.questions.spectral.answer import Outcome, Spectral

_COLOURS = {"linear filter": "#1b9e77", "spectral": "#d95f02", "given": "#7570b3"}


def draw_overlaps(found: "Spectral", figure: Figure) -> None:
    """One panel; lines are the theory, markers experiments with two standard errors, dotted lines thresholds."""
    figure.set_size_inches(6.8, 4.6)
    axes = figure.subplots()
    for one in found.outcomes:
        draw_outcome(axes, found, one)
    if not isinstance(found.sgd, str) and found.sgd.samples < inf:
        label = f"SGD has lost half of the risk: {found.sgd.samples:.3g}"
        axes.axvline(found.sgd.samples, color="black", lw=1.2, ls="--", label=label)
    axes.set(xscale="log", ylim=(-0.03, 1.03), xlabel="samples per dimension $n/d$", ylabel="squared overlap")
    exponents = f"information exponent {found.information}, generative exponent {found.generative}"
    axes.set_title(f"{exponents}, $d$ = {found.problem.dimension}; lines: theory, markers: experiment (2 s.e.)")
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)


def draw_outcome(axes: Axes, found: "Spectral", one: "Outcome") -> None:
    """One estimator."""
    colour = _COLOURS[one.name]
    axes.plot(*one.curve, "-", color=colour, lw=1.5, label=one.name)
    if one.measured.shape[1]:
        mean, bars = one.measured.mean(axis=1), np.nan_to_num(2 * one.error)
        axes.errorbar(found.samples, mean, bars, fmt="o", color=colour, mfc="white", ms=4.5, capsize=2)
    if 0 < one.threshold < inf:
        axes.axvline(one.threshold, color=colour, lw=1, ls=":", label=f"threshold of {one.name}: {one.threshold:.3g}")
