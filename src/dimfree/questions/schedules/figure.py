"""The figure of schedules: rates, risks of the limit and of real SGD, and the certificate, against samples per dimension."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.drawing import trained_layers
from dimfree.questions.schedules.grid import Vector
from dimfree.questions.schedules.optimum import samples_per_dimension

if TYPE_CHECKING:
    from dimfree.questions.schedules.answer import Schedules

LOOKS: dict[str, dict[str, Any]] = {
    "constant": {"color": "black", "ls": "-", "lw": 1.2},
    "family": {"color": "#1b9e77", "ls": "-.", "lw": 1.4},
    "greedy": {"color": "#7570b3", "ls": ":", "lw": 1.8, "zorder": 6},
    "optimal": {"color": "#d95f02", "ls": "-", "lw": 2.0},
}


def draw_schedules(best: "Schedules", figure: Figure) -> None:
    """Three panels over one axis."""
    figure.set_size_inches(7.4, 8.2)
    panels = figure.subplots(3, 1, sharex=True, height_ratios=(3, 3, 2))
    _draw_rates(panels[0], best)
    _draw_risks(panels[1], best)
    _draw_certificate(panels[2], best)
    panels[2].set_xlabel("samples per dimension")
    p = best.hunt.problem
    labels = "true labels" if p.learns_labels else f"noise {getattr(p.data, 'noise', 0.0):g}"
    learnt = f"teacher directions: {p.data.units}" if p.data.units else f"data: {p.data.kind}"
    figure.suptitle(
        f"{p.network.activation}, width {p.network.width}, {learnt}, {labels}, dimension {p.dimension}\n"
        f"batch {p.training.batch:,}, {trained_layers(p.network.trained)}"
    )


def _shown(best: "Schedules") -> dict[str, dict[str, Any]]:
    """Which schedules are drawn, and how."""
    names = {"constant": "constant", best.family: "family", "greedy": "greedy", "optimal": "optimal"}
    return {name: LOOKS[look] for name, look in names.items() if name in best.schedules}


def _draw_rates(axes: Axes, best: "Schedules") -> None:
    for name, look in _shown(best).items():
        axes.plot(best.samples, best.rates(name), label=name, **look)
    rate = best.hunt.problem.training.learning_rate
    for side, bound in zip(("lower", "upper"), best.hunt.box, strict=True):
        if best.certificate.active_bounds.get(f"learning_rate {side}"):
            axes.axhline(rate * bound, color="grey", lw=0.8)
            touched = best.samples[np.isclose(best.rates(), rate * bound, rtol=1e-3)]
            for panel in axes.figure.axes:
                for x in touched[[0, -1]]:
                    panel.axvline(x, color="grey", lw=0.8, ls=":")
    axes.set(yscale="log", ylabel="learning rate")
    axes.legend(frameon=False, ncols=2)


def _draw_risks(axes: Axes, best: "Schedules") -> None:
    floor = 0.0 if best.confirmed is None else best.confirmed.floor
    for name, look in _shown(best).items():
        axes.plot(best.samples, np.exp(np.log(best.schedules[name].risks).mean(axis=1)) + floor, **look)
        if best.confirmed is None or name not in best.confirmed.risks:
            continue
        real = best.confirmed.risks[name].reshape(len(best.samples), -1)
        low, high = np.nanquantile(real, [0.1, 0.9], axis=1)
        axes.fill_between(best.samples, low, high, color=look["color"], alpha=0.18, lw=0)
        middle = np.exp(np.nanmean(np.log(real), axis=1))
        axes.plot(best.samples[::5], middle[::5], "o", color=look["color"], mfc="white", ms=3.5)
    real_too = "" if best.confirmed is None else f"; empty markers and bands (80 %): {best.confirmed.by}"
    axes.set(yscale="log", ylabel=f"risk, with {floor:.3g} of the labels that theory leaves" if floor else "risk")
    starts = len(best.hunt.starts)
    mean = f", geometric mean of {starts} starts" if starts > 1 else ""
    axes.set_title(f"lines: {best.hunt.course.theory.name}{mean}{real_too}", loc="left")


def _draw_certificate(axes: Axes, best: "Schedules") -> None:
    seen, clock = best.found.conditions, samples_per_dimension(best.problem, 1.0)
    at = best.inside
    draw_conditions(axes, clock * seen.times[at], seen.ratio[at], seen.hamiltonian[at])
    axes.set(ylabel="per cent")
    axes.set_title("certificate: both vanish where no bound is active", loc="left")
    axes.legend(frameon=False, ncols=2)


def draw_conditions(axes: Axes, samples: Vector, ratio: Vector, hamiltonian: Vector) -> None:
    """How far Pontryagin's conditions are from being fulfilled."""
    axes.plot(samples, 100 * (ratio - 1), color="#d95f02", lw=1.2, label="Pontryagin's rate / rate - 1")
    axes.plot(samples, 100 * (hamiltonian / hamiltonian.mean() - 1), color="#1f78b4", lw=1.2, label="H / mean of H - 1")
    axes.axhline(0, color="black", lw=0.6)
