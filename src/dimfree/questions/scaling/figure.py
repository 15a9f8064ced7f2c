"""The figure of a scaling law: risk against compute, best size and samples, and the plane of phases with the problem's point."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.projected.phases import phase
from dimfree.readings.frontier import with_error

if TYPE_CHECKING:
    from dimfree.questions.scaling.answer import Scaling

PHASES = ("none", "Ia", "Ib", "Ic", "II", "III", "IVa", "IVb")
_COLOURS = ("#ffffff", "#a6cee3", "#cfe8f3", "#e6f3f9", "#b2df8a", "#fdbf6f", "#fb9a99", "#fddbd9")
_BAND = "one projection"
_CLOSE = 0.03  # of the asymptotic exponent, within which the slope is drawn
_ALPHA, _BETA, _MARGIN, _LEAST = (0.05, 1.3), (0.0, 1.5), 0.2, 0.01


def draw_scaling(found: "Scaling", figure: Figure) -> None:
    """Three panels."""
    figure.set_size_inches(14, 4.8)
    left, middle, right = figure.subplots(1, 3, width_ratios=(4, 3, 3))
    draw_risks(left, found)
    _draw_best(middle, found)
    data, measured = found.law.data, found.estimate
    if isinstance(data, PowerLaw):
        draw_plane(right, (data.alpha, data.beta))
        right.plot(
            [data.alpha], [data.beta], "o", color="black", mfc="white", ms=8, clip_on=False, label="this problem"
        )
        right.legend(frameon=False, loc="upper left")
    elif measured is not None and np.isfinite(measured.beta):
        draw_plane(right, (measured.alpha, measured.beta))
        errors = [np.hypot(a, np.nan_to_num(b)) for a, b in zip(measured.by_chance, measured.by_window, strict=True)]
        point = ([measured.alpha], [measured.beta])
        right.errorbar(*point, errors[1], errors[0], fmt="o", color="black", mfc="white", ms=8, label="this table")
        right.legend(frameon=False, loc="upper left")
    else:
        draw_plane(right)
    figure.suptitle(
        f"{found.about()} (phase {found.phase.name}), rate {found.law.rate:.2g}/trace, {found.trained()}",
        fontsize=10,
    )


def draw_risks(axes: Axes, found: "Scaling") -> None:
    """Every size as a thin line, the frontier as a thick one with a band of single projections, its asymptotic slope, and SGD."""
    f, colours = found.curves.frontier, colormaps["viridis"]
    sizes, top = found.curves.sizes, np.log(found.curves.sizes[-1] / found.curves.sizes[0])
    for size, risk in list(zip(sizes, found.curves.risks, strict=True))[::2]:
        axes.plot(f.compute, risk, color=colours(np.log(size / sizes[0]) / top), lw=0.8)
    axes.plot(f.compute, f.risk, color="black", lw=2.4, label="frontier")
    if np.isfinite(found.scatter):
        spread = found.scatter * np.sqrt(found.best()["size"] / f.size)
        axes.fill_between(
            f.compute, f.risk * np.exp(-spread), f.risk * np.exp(spread), color="black", alpha=0.15, lw=0, label=_BAND
        )
    holds = np.flatnonzero(np.abs(f.local_exponents()[1] - found.phase.loss) < _CLOSE)
    if len(holds):
        first, last = holds[0], holds[-1]
        slope = f.risk[last] * (f.compute / f.compute[last]) ** -found.phase.loss
        label = f"asymptotic slope −{found.phase.loss:.3f}"
        axes.plot(f.compute[first : last + 1], slope[first : last + 1], "--", color="#d95f02", lw=1.3, label=label)
    if found.markers is not None:
        _draw_markers(axes, found)
    axes.set(xscale="log", yscale="log", xlabel="compute = size × batch × steps", ylabel="population risk")
    held = found.curves.risks[np.isfinite(found.curves.risks).any(axis=1)]
    axes.set_ylim(np.nanmin(held) / 1.5, 2 * np.nanmax(held[0]))
    axes.set_xlim(f.compute[0], f.compute[-1])
    axes.legend(frameon=False, title=f"sizes {sizes[0]:g} (dark) to {sizes[-1]:.3g} (light)", title_fontsize=9)


def _draw_markers(axes: Axes, found: "Scaling") -> None:
    assert found.markers is not None
    sizes, colours = found.curves.sizes, colormaps["viridis"]
    for row, size in enumerate(found.markers.sizes):
        seen = found.markers.sgd[row]
        count = len(seen)
        error = 2 * seen.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(seen.shape[1])
        colour = colours(np.log(size / sizes[0]) / np.log(sizes[-1] / sizes[0]))
        label = f"SGD, {count} projections" if row == 0 else None
        x = size * found.law.batch * found.markers.steps[row]
        axes.errorbar(
            x, seen.mean(axis=0), error, fmt="o", ms=4.5, mfc="white", color=colour, lw=1, label=label, zorder=5
        )


def _draw_best(axes: Axes, found: "Scaling") -> None:
    f = found.curves.frontier
    axes.set(xscale="log", yscale="log", xlabel="compute", ylabel="best size, samples")
    axes.set_xlim(f.compute[0], f.compute[-1])
    if not np.isfinite(f.size).any():
        axes.set_ylim(found.curves.sizes[0], found.curves.sizes[-1])
        axes.text(0.5, 0.5, "the best size is at an end of the list", ha="center", transform=axes.transAxes, fontsize=9)
        return
    p, error = f.local_exponents()[0], f.exponent_errors()[0]
    middle = len(p) // 2
    size, samples = (with_error(value, error[middle]) for value in (p[middle], 1 - p[middle]))
    labels = (
        (f"best size (p = {size} in the middle)", f"samples (1 − p = {samples})") if size else ("best size", "samples")
    )
    axes.plot(f.compute, f.size, "-", color="#1f78b4", label=labels[0])
    axes.plot(f.compute, f.samples(), "--", color="#33a02c", label=labels[1])
    axes.legend(frameon=False)


def draw_plane(axes: Axes, point: tuple[float, float] = (1.0, 1.0)) -> None:
    """The phases, by colour and name; the plane is as large as a point needs."""
    ends = tuple(_wide_enough(low, high, at) for (low, high), at in zip((_ALPHA, _BETA), point, strict=True))
    alpha, beta, number = _plane(*ends)
    axes.pcolormesh(
        alpha, beta, number, cmap=ListedColormap(_COLOURS), vmin=-0.5, vmax=len(PHASES) - 0.5, rasterized=True
    )
    for index, name in enumerate(PHASES):
        rows, columns = np.nonzero(number == index)
        if not len(rows):  # too thin to be seen in so large a plane
            continue
        words = "no law" if name == "none" else name
        axes.text(
            alpha[int(np.median(columns))], beta[int(np.median(rows))], words, ha="center", va="center", fontsize=9
        )
    axes.set(xlabel="α (inputs)", ylabel="β (target)", xlim=ends[0], ylim=ends[1])


def _wide_enough(low: float, high: float, at: float) -> tuple[float, float]:
    return low if at >= low else at - _MARGIN, high if at <= high else at + _MARGIN


@lru_cache(maxsize=4)
def _plane(alphas: tuple[float, float], betas: tuple[float, float]) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    alpha, beta = np.linspace(max(alphas[0], _LEAST), alphas[1], 251), np.linspace(*betas, 251)
    return alpha, beta, np.array([[PHASES.index(phase(a, b).name) for a in alpha] for b in beta])
