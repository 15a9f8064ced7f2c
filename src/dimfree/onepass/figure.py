"""The figure of a comparison: theories as lines, real SGD as markers with a band. The only room that draws."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.onepass.problem import OnePassProblem
from dimfree.results.store import save_figure

if TYPE_CHECKING:
    from dimfree.comparison.compare import Comparison

_THEORY = {
    "ode": ("#d95f02", "-"),
    "gradient-flow": ("#7570b3", "--"),
    "mean-field": ("#1b9e77", "-."),
    "dimensionless": ("#e7298a", ":"),
    "diffusion": ("#e6ab02", "--"),
}
_SPARE = ("#66a61e", "#a6761d", "#666666")
_EXPERIMENT = {"sgd": ("black", "o"), "chain": ("#1f78b4", "s")}
_TEACHERS = ("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a", "#b15928")
_MOST_CURVES = 24
_MARKERS = 16


def draw(comparison: "Comparison", path: Path) -> Path:
    """Risk on the left, overlaps with the teachers on the right."""
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(10.5, 4.3), layout="constrained")
        risk, overlap = figure.subplots(1, 2)
        problem = comparison.problem
        assert isinstance(problem, OnePassProblem)
        _draw_risk(comparison, risk)
        _draw_overlaps(comparison, overlap, problem.data.units)
        figure.suptitle(_title(problem), fontsize=10)
        save_figure(lambda temporary: figure.savefig(temporary, dpi=160), path)
    return path


def _draw_risk(comparison: "Comparison", axes: Axes) -> None:
    spare = iter(_SPARE * 4)
    for name in comparison.names:
        data = comparison.tree[name].to_dataset().isel(time=slice(1, None))
        if name in _EXPERIMENT:
            _draw_experiment(axes, data, name)
            continue
        colour, line = _THEORY.get(name, (next(spare), "-"))
        _draw_band(axes, data, colour)
        axes.plot(data["time"], data["risk"].mean("replica"), line, color=colour, lw=1.5, label=name, zorder=5)
    axes.set(xscale="log", yscale="log", xlabel=_time_label(), ylabel="population risk (without label noise)")
    axes.legend(frameon=False)


def _draw_experiment(axes: Axes, data: xr.Dataset, name: str) -> None:
    """Markers at the mean."""
    colour, marker = _EXPERIMENT[name]
    risk, replicas = data["risk"], data.sizes["replica"]
    _draw_band(axes, data, colour)
    every = max(1, data.sizes["time"] // _MARKERS)
    first = 0 if name == "sgd" else every // 2  # two experiments agree in law: their markers must not hide each other
    shown = slice(first, None, every)
    mean = risk.mean("replica")
    label = f"{name}, mean of {replicas}" + (" (band: 80 %)" if replicas > 1 else "")
    axes.plot(data["time"][shown], mean[shown], marker, color=colour, ms=4.5, mfc="white", mew=1, label=label, zorder=4)


def _draw_band(axes: Axes, data: xr.Dataset, colour: str) -> None:
    """The band holds 80 % of the replicas."""
    if data.sizes["replica"] > 1:
        low, high = data["risk"].quantile([0.1, 0.9], "replica").values
        axes.fill_between(data["time"], low, high, color=colour, alpha=0.15, lw=0)


def _draw_overlaps(comparison: "Comparison", axes: Axes, k: int) -> None:
    """M_ir against time: colour is the teacher, line the first theory, markers real SGD."""
    theory = next((name for name in comparison.names if name not in _EXPERIMENT), None)
    for name in filter(None, (theory, comparison.reference)):
        data = comparison.tree[name].to_dataset().isel(time=slice(1, None))
        M = data["M"].mean("replica").values
        p = M.shape[1]
        shown = slice(None, None, max(1, data.sizes["time"] // _MARKERS)) if name in _EXPERIMENT else slice(None)
        style: dict[str, Any] = (
            {"ls": "none", "marker": "o", "ms": 3, "mfc": "white", "mew": 0.8} if name in _EXPERIMENT else {"lw": 1.4}
        )
        for i in range(min(p, max(1, _MOST_CURVES // k))):
            for r in range(k):
                axes.plot(data["time"].values[shown], M[shown, i, r], color=_TEACHERS[r % len(_TEACHERS)], **style)
    if k <= len(_TEACHERS):
        handles = [axes.plot([], [], color=_TEACHERS[r], lw=2, label=f"with teacher {r + 1}")[0] for r in range(k)]
        axes.legend(handles=handles, frameon=False, loc="best")
    shown_names = " and ".join(
        f"{name} ({'markers' if name in _EXPERIMENT else 'lines'})" for name in (theory, comparison.reference) if name
    )
    axes.set(xscale="log", xlabel=_time_label(), ylabel="student–teacher overlap $M_{ir}$", title=shown_names)


def _title(problem: OnePassProblem) -> str:
    activation = problem.network.activation
    name = activation if isinstance(activation, str) else type(activation).__name__
    return (
        f"{name} network, width {problem.network.width}, {problem.data.units} teacher units, dimension {problem.dimension:,}, "
        f"learning rate {problem.training.learning_rate:g}, noise {problem.data.noise:g}"
    )


def _time_label() -> str:
    return "time $t$ = steps × rate / (width × dimension)"


def style() -> Any:  # matplotlib's literal type of the keys is longer than this file
    """How all figures look."""
    return {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.fontsize": 8,
        "axes.titlesize": 9,
    }
