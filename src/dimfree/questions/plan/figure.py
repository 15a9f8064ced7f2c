"""The figure of a plan: held-out risk along the plan, predicted and measured, and at the end beside the baselines."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.questions.plan.trial import PLAN
from dimfree.questions.plan.verdict import mean_of

if TYPE_CHECKING:
    from dimfree.questions.plan.answer import Plan

_PLAN, _OTHERS = "#d95f02", "#7570b3"


def draw_plan(found: "Plan", figure: Figure) -> None:
    """Both panels; the band about the prediction is that of the label noise, which is taken to be in its middle."""
    figure.set_size_inches(9.6, 4.0)
    along, ends = figure.subplots(1, 2)
    _draw_along(found, along)
    _draw_ends(found, ends)
    figure.suptitle(f"{found.table.name}: {found.choice.said(found.problem.dimension)}", fontsize=9)


def _draw_along(found: "Plan", axes: Axes) -> None:
    epochs = found.trials[0].epochs
    predicted = np.mean([one.predicted[PLAN].mean(axis=1) for one in found.trials], axis=0)
    axes.plot(epochs, predicted, color=_PLAN, lw=1.6, label="ode, with label noise")
    measured = [mean_of([one.measured[PLAN][n] for one in found.trials]) for n in range(len(epochs))]
    bars = np.nan_to_num([one.error for one in measured])
    axes.errorbar(
        epochs, [one.value for one in measured], bars, fmt="o", color="k", ms=4, capsize=3, label="rows, held out"
    )
    if found.problem.training.beyond_square is None:
        lower, upper = (
            np.mean([getattr(one.fit, kind) / 2 for one in found.trials]) for kind in ("train", "validation")
        )
        axes.axhspan(lower, upper, color="0.85", lw=0, label="label noise, fitted")
        half = abs(upper - lower) / 2
        axes.fill_between(epochs, predicted - half, predicted + half, color=_PLAN, alpha=0.2, lw=0)
    axes.set(xscale="log", yscale="log", xlabel="epochs", ylabel="risk")
    axes.legend(frameon=False, fontsize=8)


def _draw_ends(found: "Plan", axes: Axes) -> None:
    names = list(found.trials[0].ends)
    means = [mean_of([one.ends[name] for one in found.trials]) for name in names]
    colours = [_PLAN if name == PLAN else _OTHERS for name in names]
    places = np.arange(len(names))
    axes.barh(places, [one.value for one in means], color=colours, alpha=0.8)
    axes.errorbar(
        [one.value for one in means],
        places,
        xerr=np.nan_to_num([one.error for one in means]),
        fmt="none",
        ecolor="k",
        capsize=3,
    )
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set(xlabel=f"held-out risk after {found.samples} samples")
