"""The figure of exit times: real SGD as a histogram, every other account as a line with its error band."""

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.onepass.figure import style
from dimfree.results.store import save_figure

if TYPE_CHECKING:
    from dimfree.questions.exit_times.answer import Exits

_LINES = {
    "chain": ("black", "-"),
    "ode": ("#d95f02", "-"),
    "diffusion": ("#1b9e77", "--"),
    "annealed": ("#7570b3", ":"),
    "quenched": ("#e7298a", "-."),
}


def draw_exits(exits: "Exits", path: Path) -> Path:
    """Draw into a file, complete or not at all."""
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        draw_histogram(exits, figure.subplots())
        figure.suptitle(_title(exits), fontsize=9)
        save_figure(lambda temporary: figure.savefig(temporary, dpi=160), path)
    return path


def draw_histogram(exits: "Exits", axes: Axes) -> None:
    """Exits of SGD, and the mean of each account."""
    chain = exits.account("chain")
    left = chain.times[np.isfinite(chain.times)]
    axes.hist(
        left, bins=max(10, round(2 * len(left) ** 0.5)), color="#1f78b4", alpha=0.35, label=f"chain, {len(left)} starts"
    )
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
        f"learning rate {problem.training.learning_rate:g}, noise {problem.data.noise:g}"
    )
