"""The spectrum of the inputs beside what SGD makes of it: eigenvalues by rank, and the nodes that stand for them."""

from typing import TYPE_CHECKING

import numpy as np

from dimfree.errors import ProblemError
from dimfree.onepass.nodes import nodes_of
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 200  # at most this many ranks are drawn


def draws_spectrum(problem: OnePassProblem) -> bool:
    """Whether there is a spectrum to draw; its file may be gone when results are drawn again."""
    try:
        return problem.correlated and problem.spectrum.largest > 0
    except ProblemError:
        return False


def draw_spectrum(axes: "Axes", problem: OnePassProblem) -> None:
    """Eigenvalue against rank; nodes, where they stand for eigenvalues, as ticks on the right."""
    found = problem.spectrum
    d, falling = found.dimension, np.sort(found.coordinates)[::-1]
    ranks = np.unique(np.geomspace(1, d, _POINTS).astype(int))
    seen = falling[ranks - 1]
    live = seen > 1e-6 * found.largest
    few = len(found.values) <= _POINTS
    axes.plot(ranks[live], seen[live], "o-" if few else "-", color="black", ms=3, mfc="white", lw=1.2)
    if nodes := nodes_of(problem):
        values = np.asarray(nodes.s)
        inside = values[values >= seen[live].min()]
        axes.plot(
            np.full(len(inside), 1.0),
            inside,
            "_",
            color="#d95f02",
            ms=10,
            transform=axes.get_yaxis_transform(),
            clip_on=False,
        )
        axes.set_title(f"{len(values)} nodes (ticks) stand for {len(found.values)} eigenvalues", fontsize=10)
    else:
        axes.set_title(f"{len(found.values)} eigenvalues, effective rank {found.effective_rank:.3g}", fontsize=10)
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="eigenvalue of the inputs' covariance")
