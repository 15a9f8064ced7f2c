"""The figure of exit times: real SGD as a histogram, every other account as a line with its error band."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from dimfree.onepass.limits.diffusion import Diffusion
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.real.chain import OverlapChain

if TYPE_CHECKING:
    from dimfree.questions.exit_times.answer import Exits

_LINES = {
    OverlapChain.name: ("black", "-"),
    HighDimensional.name: ("#d95f02", "-"),
    Diffusion.name: ("#1b9e77", "--"),
    "annealed": ("#7570b3", ":"),
    "quenched": ("#e7298a", "-."),
}


def draw_exits(exits: "Exits", figure: Figure) -> None:
    """Exits of SGD, and the mean of each account."""
    figure.set_size_inches(6.4, 4.0)
    figure.suptitle(_title(exits), fontsize=9)
    axes, real = figure.subplots(), exits.real
    left = real.times[np.isfinite(real.times)]
    bins, label = max(10, round(2 * len(left) ** 0.5)), f"{real.name}, {len(left)} starts"
    axes.hist(left, bins=bins, color="#1f78b4", alpha=0.35, label=label)
    for one in (one for one in exits.accounts if np.isfinite(one.mean)):
        colour, line = _LINES[one.name]
        error = f" ± {one.standard_error:.2g}" if one.standard_error else ""
        axes.axvline(one.mean, color=colour, ls=line, lw=1.6, label=f"mean of {one.name}: {one.mean:.3g}{error}")
        axes.axvspan(one.mean - one.standard_error, one.mean + one.standard_error, color=colour, alpha=0.15, lw=0)
    axes.set(
        xlabel="exit time $t$ = steps × rate / (width × dimension)",
        ylabel="number of starts",
        title=f"time to lose {100 * exits.threshold:g} % of the risk",
        xlim=(0, None),
    )
    axes.legend(frameon=False)


def _title(exits: "Exits") -> str:
    problem = exits.problem
    return (
        f"width {problem.network.width}, dimension {problem.dimension:,}, "
        f"learning rate {problem.training.learning_rate:g}, batch {problem.training.batch:,}, noise {problem.data.noise:g}"
    )
