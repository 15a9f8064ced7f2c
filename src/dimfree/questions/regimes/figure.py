"""The phase diagram of SGD with a problem as a point in it (docs/theory/committee.md, section 4)."""

from math import log
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.onepass.problem import OnePassProblem
from dimfree.questions.regimes.formulas import ORDER_ONE, Regime, edge, exponents
from dimfree.questions.regimes.plane import REGIONS, TITLE

if TYPE_CHECKING:
    from dimfree.questions.regimes.answer import NearLimit


def draw_regimes(found: "NearLimit", figure: Figure) -> None:
    """The four regions in the plane of the exponents, and where the problem lies."""
    problem = found.problem
    training = problem.training
    kappa, delta = exponents(problem.dimension, problem.network.width, training.learning_rate, training.batch)
    figure.set_size_inches(6.4, 5.6)
    axes = figure.subplots()
    axes.grid(False)
    right, low, high = max(1.0, kappa + 0.2), min(-1.2, delta - 0.2), max(1.0, delta + 0.2)
    axes.set(xlim=(0, right), ylim=(low, high))
    batch = training.batch
    _draw_regions(axes, log(ORDER_ONE) / log(problem.dimension), edge(problem.dimension, batch))
    _draw_point(axes, problem, found.regime, kappa, delta)
    rate = "learning rate / batch" if batch > 1 else "learning rate"
    axes.set(xlabel="x, where width = dimension$^x$", ylabel=f"y, where {rate} = dimension$^{{-y}}$")
    axes.set_title(TITLE)


def _draw_regions(axes: Axes, band: float, lowest: float) -> None:
    """Strips along s = x + y: s = 0 is as wide as its name is meant at this dimension; below `lowest` there is no limit."""
    ends, (low, high) = np.array(axes.get_xlim()), axes.get_ylim()
    borders = {
        "gradient_flow": (0 * ends + high, band - ends),
        "saad_solla": (band - ends, -band - ends),
        "noise_dominated": (-band - ends, lowest - ends),
        "no_ode": (lowest - ends, 0 * ends + low - ends[1]),
    }
    least = "-1/2" if lowest == -0.5 else f"{lowest:.2g}"
    names = {
        "gradient_flow": f"s > {max(lowest, 0):.2g}",
        "saad_solla": "s = 0 (band: within a factor 2)",
        "noise_dominated": f"{least} < s < 0",
        "no_ode": f"s ≤ {least}",
    }
    handles = []
    for label, (top, bottom) in borders.items():
        if label != "no_ode" and np.all(top <= lowest - ends):
            continue  # this region is hidden where steps are too large
        colour, name, meaning = REGIONS[label]
        text = f"{names[label].replace('-', '−')}  {name}\n{meaning}"
        handles.append(axes.fill_between(ends, bottom, np.maximum(top, bottom), color=colour, lw=0, label=text))
    if lowest < 0:
        axes.plot(ends, -ends, color="#08519c", lw=1)
    axes.plot(ends, lowest - ends, color="#636363", lw=1, ls="--")
    axes.figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, handleheight=1.6)


def _draw_point(axes: Axes, problem: OnePassProblem, regime: Regime, kappa: float, delta: float) -> None:
    axes.plot(kappa, delta, "*", color="black", ms=13, zorder=5, clip_on=False)
    text = (
        f"d = {problem.dimension:,}, width {problem.network.width:,}, rate {problem.training.learning_rate:g}"
        f"{f', batch {problem.training.batch:,}' if problem.training.batch > 1 else ''}\n"
        f"s = {round(regime.s_eff, 2) + 0.0:.2f}: {REGIONS[regime.label].name}"
    )
    left = kappa < 0.5 * axes.get_xlim()[1]
    axes.annotate(
        text,
        (kappa, delta),
        (10 if left else -10, 8),
        textcoords="offset points",
        ha="left" if left else "right",
        bbox={"boxstyle": "round", "fc": "white", "ec": "none", "alpha": 0.8},
        zorder=6,
    )
