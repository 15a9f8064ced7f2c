"""The figure of an effective temperature: response against correlation, and their ratio at every lag."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

if TYPE_CHECKING:
    from dimfree.questions.temperature.answer import Account, Temperature, Values

_LINES = {"closed form": ("#7570b3", "--")}


def draw_temperature(found: "Temperature", figure: Figure) -> None:
    """Both panels, with the problem above them."""
    figure.set_size_inches(9.6, 4.0)
    plot, ratio = figure.subplots(1, 2)
    draw_response(found, plot)
    draw_ratio(found, ratio)
    training, data = found.problem.training, found.problem.data
    lasting = f", persistence {training.persistence:g}" if training.persistence else ""
    figure.suptitle(
        f"{data.kind}, {data.samples:g} samples per dimension, {training.loss} loss, rate "
        f"{training.learning_rate:g}, batch fraction {training.batch_fraction:g}{lasting}",
        fontsize=10,
    )


def draw_response(found: "Temperature", axes: Axes) -> None:
    """chi against Delta C: a straight line of slope 1/T in equilibrium."""
    for one in found.accounts:
        chi, Delta_C = one.chi.mean(axis=0), one.Delta_C.mean(axis=0)
        if one.name == "simulation":
            axes.errorbar(Delta_C, chi, _error(one.chi), _error(one.Delta_C), **_points(found, one))
        else:
            colour, line = _LINES.get(one.name, ("#d95f02", "-"))
            axes.plot(Delta_C, chi, line, color=colour, lw=1.6, label=one.name)
    T, end = found.value, found.accounts[0].chi.mean(axis=0)[-1]
    if T is not None and T > 0:
        axes.plot([0, T * end], [0, end], ":", color="0.4", lw=1.2, label=f"slope $1/T$, fitted $T$ = {T:.3g}")
    axes.set(xlabel=r"correlation lost, $\Delta C = C(t,t) - C(t,s)$", ylabel=r"response $\chi(t,s)$")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="lower right", frameon=False)


def draw_ratio(found: "Temperature", axes: Axes) -> None:
    """Delta C/chi against the lag: constant in equilibrium."""
    for one in found.accounts:
        ratio = one.Delta_C[:, 1:] / one.chi[:, 1:]
        mean, lag = ratio.mean(axis=0), one.lag[1:]
        if one.name == "simulation":
            axes.errorbar(lag, mean, _error(ratio), **_points(found, one))
            continue
        colour, line = _LINES.get(one.name, ("#d95f02", "-"))
        axes.plot(lag, mean, line, color=colour, lw=1.6)
        if len(ratio) > 1:
            axes.fill_between(lag, mean - 2 * _error(ratio), mean + 2 * _error(ratio), color=colour, alpha=0.2, lw=0)
    if found.value is not None:
        axes.axhline(found.value, ls=":", color="0.4", lw=1.2)
    word = "temperature" if found.value is not None else "not stationary, no temperature:"
    axes.set(xscale="log", ylim=(0, None), xlabel=r"lag $t - s$", ylabel=rf"{word} $\Delta C/\chi$ up to this lag")
    axes.xaxis.set_minor_formatter(NullFormatter())  # within one decade the labels would overlap


def _points(found: "Temperature", one: "Account") -> Any:
    label = f"simulation, dimension {found.problem.dimension}, {len(one.chi)} seeds"
    return {"fmt": "o", "color": "black", "mfc": "white", "ms": 4, "lw": 1, "label": label, "zorder": 5}


def _error(values: "Values") -> Any:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))
