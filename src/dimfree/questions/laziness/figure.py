"""The figure of laziness: movement, kernel change, distance to the linearised flow and error, against the output scale."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from dimfree.questions.laziness.answer import Laziness

_PANELS = {  # label of each panel, and the power of the scale with which it falls where the scale is large
    "movement": (r"relative movement $|\theta-\theta_0|/|\theta_0|$", -1),
    "kernel_change": (r"kernel change $|K-K_0|/|K_0|$", -2),
    "gap": (r"largest $|e-e_{\rm lin}|/|e_0|$", -2),
}
_NETWORK, _LINEAR = "black", "#d95f02"


def draw_laziness(found: "Laziness", figure: Figure) -> None:
    """The sweep of an answer."""
    p = found.problem
    draw_scales(figure, p.network.width, found.scales, found.measured)
    figure.suptitle(
        f"width {p.network.width}, dimension {p.dimension}, until s = γ²Nt = {p.run.until:g}; bars: 2 s.e.", fontsize=10
    )


def draw_scales(
    figure: Figure, N: int, scales: Float[np.ndarray, " g"], measured: Mapping[str, Float[np.ndarray, "g r"]]
) -> None:
    """Four panels; bars are two standard errors over the networks, grey lines the powers expected at large scales."""
    figure.set_size_inches(9.6, 6.8)
    x, panels = scales * N, figure.subplots(2, 2)
    for axes, (name, (label, power)) in zip(panels.flat, _PANELS.items(), strict=False):
        values = measured[name]
        far = slice(-max(2, len(x) // 2), None)
        guide = values[-1].mean() * (x / x[-1]) ** power
        axes.plot(x[far], guide[far], color="grey", lw=5, alpha=0.35, label=rf"$\propto\gamma^{{{power}}}$")
        _points(axes, x, values, _NETWORK, "o", "real network")
        axes.set(yscale="log", ylabel=label)
    last = panels[1, 1]
    _points(last, x, measured["risk"], _NETWORK, "o", "real network")
    _points(last, x, measured["linear_risk"], _LINEAR, "s", "linearised")
    last.set(ylabel="error on held-out points", yscale="log")
    for axes in panels.flat:
        axes.set(xscale="log", xlabel=r"output scale $\gamma N$")
        axes.axvline(N**0.5, color="grey", lw=0.8, ls=":")
        axes.legend(frameon=False)
    place = {"xycoords": ("data", "axes fraction"), "va": "bottom", "fontsize": 8}
    panels[0, 0].annotate(r" $\gamma=1/\sqrt{N}$", (N**0.5, 0.02), **place)


def _points(
    axes: Axes, x: Float[np.ndarray, " g"], values: Float[np.ndarray, "g r"], colour: str, marker: str, label: str
) -> None:
    count = values.shape[1]
    error = 2 * values.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(len(x))
    axes.errorbar(x, values.mean(axis=1), error, fmt=marker + "-", color=colour, mfc="white", ms=4.5, lw=1, label=label)
