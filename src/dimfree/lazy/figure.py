"""The figure of a comparison on given points: errors, the loss on the points, and how far weights and kernel moved."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimfree.drawing import draw_account, legend_label, looks, trained_layers
from dimfree.lazy.problem import LazyProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_TIME = r"time $s=\gamma^2 N\,t$"
_PANELS = {
    "risk": "error on held-out points",
    "train_loss": r"loss on the points $|g-y|^2/2$",
    "relative_movement": r"movement $|\theta_t-\theta_0|/|\theta_0|$",
    "kernel_change": r"kernel change $|K_t-K_0|/|K_0|$",
}


def draw(figure: "Figure", problem: LazyProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """One panel per observable; theory as lines, the real flow as markers with a band of 80 % of the networks."""
    figure.set_size_inches(10, 6.6)
    shown = looks(accounts)
    for axes, (name, label) in zip(figure.subplots(2, 2).flat, _PANELS.items(), strict=True):
        for title, data in accounts.items():
            if name not in data:  # the kernel of a linearised network does not move
                continue
            draw_account(axes, shown[title], data["time"].values, data[name].values, legend_label(title, data))
        axes.set(xlabel=_TIME, ylabel=label)
        axes.set_xscale("symlog", linthresh=problem.run.until / 1000)
        if name == "train_loss":
            axes.set_yscale("log")
        axes.set_xlim(0, problem.run.until)
    figure.axes[0].legend(frameon=False)
    gamma, N = problem.network.gamma, problem.network.width
    points = problem.data.samples if problem.data.kind == "drawn-points" else "given"
    figure.suptitle(
        f"{points} points in dimension {problem.dimension}, width {N}, output scale {gamma:.3g} = {gamma * N:.3g}/N = "
        f"{gamma * N**0.5:.3g}/√N\n{trained_layers(problem.network.trained)}",
        fontsize=10,
    )
