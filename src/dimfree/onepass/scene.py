"""The figure of fresh samples as it moves: the risk, the overlaps of one network, and its units among the teachers."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimfree.animation import Curve, Move, Scene, index_at, running_points
from dimfree.drawing import Look, Values, looks
from dimfree.onepass.figure import TEACHERS, TIME, draw_risk, first_event, risk_label, title_of
from dimfree.onepass.problem import OnePassProblem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "^", "D", "v", "P")
_MOST_NAMES = 12  # names of units are written beside the map for at most this many
_ROOM = 1.25  # the axes reach this many times the largest coordinate of a unit


def draw_scene(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> Scene:
    """The risk of all accounts; where M is known, that of one run as a map, and its units as points where that is a plane."""
    having = [name for name, data in accounts.items() if "M" in data]
    shown = looks(accounts)
    theory, real = (next((one for one in having if shown[one].real is kind), None) for kind in (False, True))
    planes = {one: plane for one in (theory, real) if one and (plane := _plane(problem, accounts[one]))}
    columns = 1 + bool(having) + bool(planes)
    figure.set_size_inches(0.6 + 3.6 * columns, 4.0)
    panels = figure.subplots(1, columns, width_ratios=(1.25, 0.75, 1)[:columns], squeeze=False)[0]
    draw_risk(panels[0], accounts, shown)
    since = first_event(accounts)
    panels[0].set(xscale="log", xlabel=TIME, ylabel=risk_label(problem))
    panels[0].set_xlim(since, max(float(data["time"].values[-1]) for data in accounts.values()))
    curves = [
        Curve(shown[name].colour, data["time"].values, data["risk"].values.mean(axis=1))
        for name, data in accounts.items()
    ]
    moves = [running_points(panels[0], curves)]
    if name := real or theory:
        moves.append(_overlap_map(panels[1], name, accounts[name], shown[name]))
    if planes:
        # Kinds of data without activations of a teacher have directions that are no units.
        word = "teacher" if "activation" in type(problem.data).model_fields else "direction"
        moves.append(_units(panels[2], planes, accounts, shown, word))
    figure.suptitle(title_of(problem), fontsize=9)

    def move(time: float) -> None:
        for one in moves:
            one(time)

    return Scene(move, since)


def _run(name: str, look: Look, data: "xr.Dataset") -> str:
    return f"{name}, one run" if look.real and data.sizes["replica"] > 1 else name


def _overlap_map(axes: "Axes", name: str, data: "xr.Dataset", look: Look) -> Move:
    """M of the first replica, units against teachers."""
    overlaps = data["M"].isel(replica=0).transpose("time", "unit", "teacher").values
    units, teachers = overlaps.shape[1:]
    largest = float(np.abs(overlaps).max()) or 1.0
    image = axes.imshow(overlaps[0], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto", interpolation="nearest")
    axes.figure.colorbar(image, ax=axes)
    axes.grid(False)
    axes.set(title=f"overlaps $M_{{ir}}$: {_run(name, look, data)}", xlabel="teacher", ylabel="unit")
    for put, number in ((axes.set_xticks, teachers), (axes.set_yticks, units)):
        if number <= _MOST_NAMES:
            put(range(number), [str(i + 1) for i in range(number)])
    return lambda time: image.set_data(overlaps[index_at(data["time"].values, time)])


class _Plane(NamedTuple):
    """Units as points: along two teachers, or along one and across it. `teachers` are units that equal one of these."""

    points: Values  # time, unit, 2
    labels: tuple[str, str]
    teachers: list[tuple[float, float]]


def _plane(problem: OnePassProblem, data: "xr.Dataset") -> _Plane | None:
    """The first replica's units in the plane of the teachers; None where that is no plane."""
    one = data.isel(replica=0)
    overlaps, norms = one["M"].transpose("time", "unit", "teacher").values, _norms(one)
    P, known = problem.data.teacher_overlap, not problem.data.correlated
    if overlaps.shape[2] == 2:
        labels = ("along teacher 1, $M_{i1}$", "along teacher 2, $M_{i2}$")
        return _Plane(overlaps, labels, [(float(P[0, r]), float(P[1, r])) for r in range(2)] if known else [])
    if overlaps.shape[2] != 1 or norms is None or not known:
        return None
    length = float(P[0, 0]) ** 0.5
    along = overlaps[..., 0] / length
    across = np.sqrt(np.clip(norms - along**2, 0.0, None))
    labels = ("along the teacher, $M_i/P^{1/2}$", "across it, $(Q_{ii}-M_i^2/P)^{1/2}$")
    return _Plane(np.stack([along, across], axis=-1), labels, [(length, 0.0)])


def _norms(one: "xr.Dataset") -> Values | None:
    if "Q" in one:
        return np.einsum("tii->ti", one["Q"].transpose("time", "unit", "unit_").values)
    return one["Q_diagonal"].transpose("time", "unit").values if "Q_diagonal" in one else None


def _units(
    axes: "Axes",
    planes: Mapping[str, _Plane],
    accounts: "Mapping[str, xr.Dataset]",
    shown: Mapping[str, Look],
    word: str,
) -> Move:
    """Every unit as a point with its path behind it: hollow for an experiment, filled for a theory."""
    first = next(iter(planes.values()))
    for number, (x, y) in enumerate(first.teachers):
        label = "" if number else f"{word}s" if len(first.teachers) > 1 else word
        axes.plot(x, y, "*", color="grey", ms=16, label=label, zorder=2)
    moves = [_paths(axes, planes[name].points, accounts[name]["time"].values, shown[name]) for name in planes]
    points = np.concatenate([one.points.reshape(-1, 2) for one in planes.values()])
    low, high = np.minimum(_ROOM * points.min(axis=0), -0.25), _ROOM * np.maximum(points.max(axis=0), 1.0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.set(xlabel=first.labels[0], ylabel=first.labels[1])
    said = [f"{_run(name, shown[name], accounts[name])}: {'○' if shown[name].real else '●'}" for name in planes]
    axes.set_title("units, " + ", ".join(said))
    if first.teachers:
        axes.legend(frameon=False, loc="upper right")

    def move(time: float) -> None:
        for one in moves:
            one(time)

    return move


def _paths(axes: "Axes", points: Values, times: Values, look: Look) -> Move:
    movers: list[Callable[[int], None]] = []
    for i in range(points.shape[1]):
        colour, marker = TEACHERS[i % len(TEACHERS)], _MARKERS[i % len(_MARKERS)]
        path = axes.plot([], [], "-" if not look.real else ":", color=colour, lw=1.2, alpha=0.7, zorder=3)[0]
        face = "white" if look.real else colour
        dot = axes.plot([], [], marker, color=colour, ms=7, mfc=face, mew=1.5, zorder=5 - look.real)[0]

        def mover(now: int, i: int = i, path=path, dot=dot) -> None:  # type: ignore[no-untyped-def]
            path.set_data(points[: now + 1, i, 0], points[: now + 1, i, 1])
            dot.set_data(points[now : now + 1, i, 0], points[now : now + 1, i, 1])

        movers.append(mover)

    def move(time: float) -> None:
        for one in movers:
            one(index_at(times, time))

    return move
