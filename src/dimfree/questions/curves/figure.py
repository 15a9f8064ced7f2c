"""The figure of a learning curve: error on fresh samples, and loss on the data set, against samples per dimension."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.questions.curves.lines import TRAINING

if TYPE_CHECKING:
    from dimfree.questions.curves.answer import Curve

_TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_RISKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5)
LOOKS: dict[str, dict[str, Any]] = {
    "ridge": {"color": "#d95f02", "lw": 1.8},
    "optimal-ridge": {"color": "#7570b3", "ls": "", "marker": "d", "ms": 6},  # known at the asked samples alone
    "max-margin": {"color": "#1b9e77", "ls": "-.", "lw": 1.3},
    "bayes": {"color": "#e7298a", "lw": 1.3},
    "rademacher-bound": {"color": "grey", "ls": "--", "lw": 1.2},
    "rademacher-asymptote": {"color": "grey", "ls": ":", "lw": 1.4},
}


def draw_curve(found: "Curve", figure: Figure) -> None:
    """Two panels; bars are two standard errors over the data sets."""
    figure.set_size_inches(9.6, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    p = found.problem
    draw_risk(left, found)
    line = found.lines[TRAINING]
    right.plot(line.samples, line.values, label="theory", **LOOKS["ridge"])
    _markers(right, found, "train_loss")
    right.set(xlabel="samples per dimension", ylabel="loss on the data set")
    plain_axis(right, found.samples)
    right.legend(frameon=False)
    noise = f", noise {getattr(p.data, 'noise', 0.0):g}" if not found.is_real else ""
    figure.suptitle(
        f"{p.data.kind}{noise}, {p.training.loss} loss, weight decay {p.training.weight_decay:g}, dimension {p.dimension}",
        fontsize=10,
    )


def draw_risk(axes: Axes, found: "Curve") -> None:
    """Every line, and fits as markers."""
    for name, line in found.lines.items():
        if name != TRAINING:
            axes.plot(line.samples, line.values, label=line.label, **LOOKS[name])
    _markers(axes, found, "risk")
    quantity = "half the mean square error" if found.problem.training.loss == "square" and _real(found) else "error"
    where = "on the whole table" if found.is_real else "on fresh samples"
    axes.set(xlabel="samples per dimension", ylabel=f"{quantity} {where}", yscale="log")
    plain_axis(axes, found.samples)
    low, high = axes.get_ylim()
    ticks = [t for t in _RISKS if low <= t <= high]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.legend(frameon=False)


def plain_axis(axes: Axes, samples: Float[np.ndarray, " n"]) -> None:
    """Samples in logarithms, with numbers that one can read."""
    axes.set_xscale("log")
    ticks = [t for t in _TICKS if samples.min() * 0.99 <= t <= samples.max() * 1.01]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


def _real(found: "Curve") -> bool:
    """Whether labels are real numbers."""
    data = found.problem.data
    return found.is_real or data.kind == "linear-teacher" or getattr(data, "labels", "") == "linear"


def _markers(axes: Axes, found: "Curve", name: str) -> None:
    if not found.measured:
        return
    mean, error = found.error_bars(name)
    count = found.measured[name].shape[1]
    axes.errorbar(
        found.samples,
        mean,
        2 * error,
        fmt="o",
        color="black",
        mfc="white",
        ms=4.5,
        lw=1,
        label=f"scikit-learn, {count} fits",
    )
