"""The figure of a learning curve: error on fresh samples, and loss on the data set, against samples per dimension."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.dataset.real.fitted import FITTED_BY
from dimfree.functions.loss import loss
from dimfree.questions.curves.lines import TRAINING, Line

if TYPE_CHECKING:
    from dimfree.questions.curves.answer import Curve

_TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2, 5)
LOOKS: dict[str, dict[str, Any]] = {
    "ridge": {"color": "#d95f02", "lw": 1.8},
    "optimal-ridge": {
        "color": "#7570b3",
        "ls": "",
        "marker": "d",
        "ms": 6,
    },  # known only at the requested numbers of samples
    "max-margin": {"color": "#1b9e77", "ls": "-.", "lw": 1.3},
    "bayes": {"color": "#e7298a", "ls": (0, (9, 2)), "lw": 1.5},
    "rademacher-bound": {"color": "grey", "ls": "--", "lw": 1.2},
    "rademacher-asymptote": {"color": "grey", "ls": ":", "lw": 1.4},
}


def draw_curve(found: "Curve", figure: Figure) -> None:
    """Two panels; bars are two standard errors over the data sets."""
    figure.set_size_inches(9.6, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    p = found.problem
    draw_lines(left, found.lines)
    right.plot(found.lines[TRAINING].samples, found.lines[TRAINING].values, label="theory", **LOOKS["ridge"])
    for axes, name in ((left, "risk"), (right, "train_loss")):
        if found.measured:
            draw_fits(axes, found.samples, found.measured[name], FITTED_BY.get(p.training.loss, "scikit-learn"))
        axes.set_xlabel("samples per dimension")
        readable(axes, found.samples)
        axes.legend(frameon=False)
    quantity = "half the mean square error" if _real(found) else "error"
    left.set_ylabel(f"{quantity} {'on the whole table' if found.is_real else 'on fresh samples'}")
    readable_risk(left)
    right.set_ylabel("loss on the data set")
    noise = f", noise {getattr(p.data, 'noise', 0.0):g}" if not found.is_real else ""
    spoiled = getattr(p.data, "outliers", None)
    outliers = "" if spoiled is None else f", {100 * spoiled.fraction:g} % outliers"
    figure.suptitle(
        f"{p.data.kind}{noise}{outliers}, {p.training.loss} loss, weight decay {p.training.weight_decay:g}, "
        f"dimension {p.dimension}",
        fontsize=10,
    )


def draw_lines(axes: Axes, lines: Mapping[str, Line]) -> None:
    """Every theory of the risk."""
    for name, line in lines.items():
        if name != TRAINING:
            axes.plot(line.samples, line.values, label=line.label, **LOOKS[name])


def draw_fits(
    axes: Axes,
    x: Float[np.ndarray, " n"],
    values: Float[np.ndarray, "n seeds"],
    label: str = "scikit-learn",
    colour: str = "black",
    marker: str = "o",
) -> None:
    """Means over data sets with bars of two standard errors."""
    count = values.shape[1]
    error = 2 * values.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(values))
    label = f"{label}, {count} fits"
    axes.errorbar(
        x, values.mean(axis=1), error, fmt=marker, color=colour, mfc="white", ms=4.5, lw=1, label=label, zorder=5
    )


def readable(axes: Axes, x: Float[np.ndarray, " n"]) -> None:
    """Give a logarithmic axis plain numbers as ticks."""
    axes.set_xscale("log")
    ticks = [t for t in _TICKS if x.min() * 0.99 <= t <= x.max() * 1.01]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.xaxis.minorticks_off()


def readable_risk(axes: Axes) -> None:
    """Give an axis of errors plain numbers as ticks."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    ticks = [t for t in _RISKS if low <= t <= high]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.yaxis.minorticks_off()


def _real(found: "Curve") -> bool:
    """Whether the loss takes labels as real numbers, not as classes."""
    data = found.problem.data
    training = found.problem.training
    of_residual = loss(training.loss, training.width).of_residual
    return of_residual and (found.is_real or data.kind == "linear-teacher" or getattr(data, "labels", "") == "linear")
