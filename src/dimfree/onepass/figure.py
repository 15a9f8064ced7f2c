"""The figure of a comparison on fresh samples: risk, and overlaps with the teachers; other figures on other data."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dimfree.drawing import Look, draw_account, draw_deviation, legend_label, looks, trained_layers
from dimfree.onepass.kind import kind_of
from dimfree.onepass.notes import said_of_loss
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.spectrum_figure import draw_spectrum, draws_spectrum
from dimfree.problem.loss import loss_name

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEACHERS = ("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a", "#b15928")
_STUDENTS = (("-", "o"), ("--", "s"), (":", "^"), ("-.", "D"))
_MOST_CURVES = 24
_MARKERS = 12
_HAPPENS = 0.01  # before a risk has changed by this share, nothing is worth drawing
TIME = "time $t$ = steps × rate / (width × dimension)"


def draw(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """The figure of the kind of data."""
    kind_of(problem).draw(figure, problem, accounts)


def draw_directions(figure: "Figure", problem: OnePassProblem, accounts: "Mapping[str, xr.Dataset]") -> None:
    """Risk and deviations on the left, overlaps with the teachers, then a second layer that learns, test errors, a spectrum."""
    layers, spectrum = "second-layer" in problem.network.trained, draws_spectrum(problem)
    classes = all("test_error" in data for data in accounts.values())
    columns = 2 + layers + classes + spectrum
    figure.set_size_inches(3.5 * (1 + columns), 5.0)
    grid = figure.add_gridspec(2, columns, height_ratios=(3, 1))
    risk, overlap = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
    deviation, shown = figure.add_subplot(grid[1, 0], sharex=risk), looks(accounts)
    draw_risk(risk, accounts, shown)
    risk.set_ylabel(risk_label(problem))
    draw_deviation(deviation, accounts, shown)
    _draw_units(overlap, accounts, shown, "M")
    overlap.set_ylabel("student–teacher overlap $M_{ir}$")
    if layers:
        second = figure.add_subplot(grid[:, 2])
        several = problem.network.outputs > 1
        _draw_units(second, accounts, shown, "A" if several else "a")
        second.set_ylabel("second layer $A_{ci}$" if several else "second layer $a_i$")
    if classes:
        draw_test_error(figure.add_subplot(grid[:, 2 + layers]), accounts, shown)
    since = first_event(accounts)
    for axes in figure.axes:
        axes.set_xscale("log")
        axes.set_xlim(left=since)
    below = deviation if deviation.get_visible() else risk
    risk.tick_params(labelbottom=below is risk)
    for axes in (below, *figure.axes[1:2], *figure.axes[3:]):
        axes.set_xlabel(TIME)
    if spectrum:
        draw_spectrum(figure.add_subplot(grid[:, -1]), problem)
    figure.suptitle(title_of(problem), fontsize=10)


def draw_risk(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    """The risk of every account against time."""
    for title, data in accounts.items():
        after = data.isel(time=slice(1, None))
        draw_account(axes, shown[title], after["time"].values, after["risk"].values, legend_label(title, data))
    if all((data["risk"].values > 0).all() for data in accounts.values()):  # the correlation loss has no lowest value
        axes.set_yscale("log")
    axes.legend(frameon=False)


def draw_test_error(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look]) -> None:
    """Test errors in per cent, and the lowest one that any rule has as a line."""
    for title, data in accounts.items():
        draw_account(
            axes, shown[title], data["time"].values, 100 * data["test_error"].values, legend_label(title, data)
        )
    first = next(iter(accounts.values()))
    if "bayes_error" in first:
        best = 100 * float(first["bayes_error"].values.ravel()[0])
        axes.axhline(best, color="grey", ls=":", label=f"best possible, {best:.3g} %")
    axes.set_ylabel("test error in per cent")
    axes.legend(frameon=False)


def risk_label(problem: OnePassProblem) -> str:
    """The label of the axis of the risk."""
    square = problem.training.loss == "square" and not problem.data.signs
    return "population risk (without label noise)" if square else f"mean {loss_name(problem.training.loss)} loss"


def _draw_units(axes: "Axes", accounts: "Mapping[str, xr.Dataset]", shown: Mapping[str, Look], name: str) -> None:
    """M, a or A against time: colour is the teacher or output, style the student, lines the first theory, markers real SGD."""
    having = [title for title in accounts if name in accounts[title]]
    theory = next((title for title in having if not shown[title].real), None)
    real = next((title for title in having if shown[title].real), None)
    drawn = [title for title in (theory, real) if title]
    for title in drawn:
        data = accounts[title].isel(time=slice(1, None))
        ordered = data[name].mean("replica").transpose("time", "unit", ...).values
        values = ordered.reshape(data.sizes["time"], data.sizes["unit"], -1)
        _draw_curves(axes, data["time"].values, values, shown[title].real)
    names = " and ".join(f"{one} ({'markers' if shown[one].real else 'lines'})" for one in drawn)
    axes.set_title(names)
    if drawn:
        _legend(axes, accounts[drawn[0]], name, real=drawn == [real])


def _draw_curves(axes: "Axes", time: Any, values: Any, real: bool) -> None:
    """One curve for each pair of student and teacher, or of unit and output."""
    units, teachers = values.shape[1:]
    every = max(1, len(time) // _MARKERS)
    for i in range(min(units, max(1, _MOST_CURVES // teachers))):
        line, marker = _STUDENTS[i % len(_STUDENTS)]
        for r in range(teachers):
            colour = TEACHERS[(r if teachers > 1 else i) % len(TEACHERS)]
            if real:
                shown = slice(i * every // 4, None, every)  # markers of equal students lie side by side
                axes.plot(time[shown], values[shown, i, r], marker, color=colour, ms=3.5, mfc="white", mew=0.8)
            else:
                axes.plot(time, values[:, i, r], line, color=colour, lw=1.4)


def _legend(axes: "Axes", data: "xr.Dataset", name: str, real: bool) -> None:
    """Colours are teachers or outputs where there are several, else students; styles are students while they differ."""
    word = next((str(dim) for dim in data[name].dims if dim in ("teacher", "output")), "")
    students, teachers = data.sizes["unit"], data.sizes.get(word, 1)
    handles = []
    if 1 < teachers <= len(TEACHERS):
        handles += [axes.plot([], [], color=TEACHERS[r], lw=2, label=f"{word} {r + 1}")[0] for r in range(teachers)]
    if 1 < students <= len(_STUDENTS):
        for i in range(students):
            line, marker = _STUDENTS[i]
            style: dict[str, Any] = {"ls": "none", "marker": marker, "mfc": "white"} if real else {"ls": line}
            colour = "grey" if teachers > 1 else TEACHERS[i]
            handles.append(axes.plot([], [], color=colour, lw=1.4, label=f"student {i + 1}", **style)[0])
    if handles:
        axes.legend(handles=handles, frameon=False, loc="best")


def first_event(accounts: "Mapping[str, xr.Dataset]") -> float:
    """Half of the time at which a risk begins to move: before, a logarithmic axis shows nothing."""
    since = []
    for data in accounts.values():
        time, risk = data["time"].values, data["risk"].values.mean(axis=1)
        moved = np.flatnonzero(np.abs(risk - risk[0]) > _HAPPENS * np.abs(risk[0]))
        since.append(float(time[moved[0]]) if moved.size else float(time[-1]))
    first = next(iter(accounts.values()))["time"].values
    return max(float(first[min(1, len(first) - 1)]), min(*since, float(first[-1]) / 100) / 2)


def title_of(problem: OnePassProblem) -> str:
    """The title: all that decides a run, in two lines."""
    units = problem.data.units
    return (
        f"{_name(problem.network.activation)} network, width {problem.network.width}, {units} teacher "
        f"unit{'s' if units > 1 else ''}, dimension {problem.dimension:,}, "
        f"learning rate {problem.training.learning_rate:g}, batch {problem.training.batch:,}, "
        f"{_rule(problem)}\n{trained_layers(problem.network.trained)}"
    )


def _rule(problem: OnePassProblem) -> str:
    """The noise, for values learned with the square loss; else the loss, the labels and the clipping."""
    said = " ".join(said_of_loss(problem)).partition(" (docs")[0]
    return f"noise {problem.data.noise:g}" + (f"\n{said[0].lower()}{said[1:]}" if said else "")


def _name(activation: object) -> str:
    """A function by the name that its author gave it."""
    if isinstance(activation, str):
        return activation.rpartition(":")[2]
    name = getattr(activation, "__name__", type(activation).__name__)
    return "user-written" if name == "<lambda>" else name
