"""The figure of a comparison on fresh samples: risk, and overlaps with the teachers; without a teacher the law of the neurons."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dimfree.drawing import Look, draw_account, looks, told
from dimfree.onepass.laws_figure import draw_laws
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TEACHERS = ("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a", "#b15928")
_MOST_CURVES = 24
_MARKERS = 16
TIME = "time $t$ = steps × rate / (width × dimension)"


def draw(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Risk on the left, overlaps with the teachers on the right."""
    if not problem.data.units:
        draw_laws(figure, problem, accounts)
        return
    figure.set_size_inches(10.5, 4.3)
    risk, overlap = figure.subplots(1, 2)
    shown = looks(accounts)
    _draw_risk(risk, accounts, shown)
    _draw_overlaps(overlap, accounts, shown, problem.data.units)
    figure.suptitle(_title(problem), fontsize=10)


def _draw_risk(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    for title, data in accounts.items():
        after = data.isel(time=slice(1, None))
        draw_account(axes, shown[title], after["time"].values, after["risk"].values, told(title, data))
    axes.set(xscale="log", yscale="log", xlabel=TIME, ylabel="population risk (without label noise)")
    axes.legend(frameon=False)


def _draw_overlaps(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look], k: int) -> None:
    """M_ir against time: colour is the teacher, lines the first theory, markers real SGD."""
    theory = next((title for title in accounts if not shown[title].real), None)
    real = next((title for title in accounts if shown[title].real), None)
    for title in filter(None, (theory, real)):
        data = accounts[title].isel(time=slice(1, None))
        M, is_real = data["M"].mean("replica").values, shown[title].real
        every = slice(None, None, max(1, data.sizes["time"] // _MARKERS)) if is_real else slice(None)
        drawn: dict[str, Any] = (
            {"ls": "none", "marker": "o", "ms": 3, "mfc": "white", "mew": 0.8} if is_real else {"lw": 1.4}
        )
        for i in range(min(M.shape[1], max(1, _MOST_CURVES // k))):
            for r in range(k):
                axes.plot(data["time"].values[every], M[every, i, r], color=_TEACHERS[r % len(_TEACHERS)], **drawn)
    if k <= len(_TEACHERS):
        handles = [axes.plot([], [], color=_TEACHERS[r], lw=2, label=f"with teacher {r + 1}")[0] for r in range(k)]
        axes.legend(handles=handles, frameon=False, loc="best")
    names = " and ".join(f"{one} ({'markers' if shown[one].real else 'lines'})" for one in (theory, real) if one)
    axes.set(xscale="log", xlabel=TIME, ylabel="student–teacher overlap $M_{ir}$", title=names)


def _title(problem: OnePassProblem) -> str:
    activation = problem.network.activation
    name = activation if isinstance(activation, str) else type(activation).__name__
    return (
        f"{name} network, width {problem.network.width}, {problem.data.units} teacher units, dimension {problem.dimension:,}, "
        f"learning rate {problem.training.learning_rate:g}, noise {problem.data.noise:g}"
    )
