"""Eigenvalues that differ dissolve the plateau: two erf units that learn two, on inputs of one to many levels.

docs/theory/structured.md, section 5: L equally frequent eigenvalues in proportion to l^-2, of the same trace. Isotropic inputs
keep both units on a plateau before they specialise; dispersion at a fixed trace shortens it until nothing of it is left, and the
end becomes slower than exponential.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.runs import Case, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, Levels, OnePass, Teacher, TwoLayer
from dimfree.problem import Run

# Of starts like these: how long the logarithmic slope is below FLAT, and when the risk passes 1e-2 and 1e-3.
KNOWN = {
    1: ((50, 59), (61, 71), (79, 89)),
    2: ((39, 44), (50, 55), (74, 80)),
    4: ((20, 24), (29, 33), (59, 63)),
    8: ((6, 11), (15, 19), (48, 53)),
    16: ((0, 3), (11, 13), (43, 45)),
    64: ((0, 0), (3.8, 3.8), (41.5, 41.5)),
}
FLAT, HIGH, LOW = 0.25, 0.2, 1e-3  # the slope of a plateau, and between which risks there may be one
_BEYOND = 0.15  # how much farther than theirs the mean of other starts may lie
_DIMENSION, _UNTIL, _POINTS = 10_000, 120.0, 300
_LEAST = 1e-12  # risks are lost to cancellation below


class PlateauSpectrum(Entry[xr.DataTree]):
    """The ODE of every number of levels from several starts; with `alike` all eigenvalues are 1."""

    name: ClassVar[str] = "plateau-spectrum"
    title: ClassVar[str] = "Eigenvalues that differ dissolve the plateau"
    cites: ClassVar[tuple[str, ...]] = ("yoshida2019", "worschech2024")
    levels: tuple[int, ...] = (1, 2, 4, 8, 16)
    alike: bool = False

    def cases(self, full: bool) -> dict[str, Case]:
        """One for every number of levels; `full` has more of them, and more starts."""
        numbers, starts = ((*self.levels, 64), 8) if full else (self.levels, 3)
        return {str(L): Case(problem(L, self.alike, starts), (HighDimensional(),)) for L in numbers}

    def measure(self, full: bool, watch: Watcher) -> xr.DataTree:
        """All runs."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """How long the plateau is, and when it is over: means over starts."""
        found = []
        for L, one in _told(data).items():
            what = f"with {L} eigenvalue{'s' if L > 1 else ''}"
            measured = (plateau(one), passage(one, 1e-2), passage(one, LOW))
            said = (f"length of the plateau {what}", f"time at risk 1e-2 {what}", f"time at risk 1e-3 {what}")
            for statement, value, (low, high) in zip(said, measured, KNOWN[L], strict=True):
                found.append(Claim(statement, float(value.mean()), (1 - _BEYOND) * low, (1 + _BEYOND) * high))
        return tuple(found)

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risks against time, and the three times against the number of levels."""
        figure.set_size_inches(9.6, 4.4)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        told = _told(data)
        for number, (L, one) in enumerate(told.items()):
            colour = colormaps["viridis"](0.9 * number / max(1, len(told) - 1))
            for start in range(one.sizes["replica"]):
                label = f"{L}" if start == 0 else None
                left.plot(one["time"], one[:, start].clip(_LEAST), color=colour, lw=1.3, label=label)
        left.set(xscale="log", yscale="log", xlim=(0.3, _UNTIL), ylim=(3e-4, 0.2), xlabel="time $t$", ylabel="risk")
        left.legend(frameon=False, title="distinct eigenvalues", ncols=2, loc="lower left")
        _draw_times(told, right)
        starts = next(iter(told.values())).sizes["replica"]
        about = rf"two erf units learn two (ode), $s_l \propto l^{{-2}}$ at fixed trace, {starts} starts each"
        figure.suptitle(f"{self.title}\n{about}", fontsize=10)

    def seconds(self, full: bool) -> float:
        """Programs for every number of levels; solving takes less."""
        return (8.0 if full else 4.0) * len(self.cases(full))


def problem(L: int, alike: bool, starts: int) -> OnePassProblem:
    """Two erf units learn two, without label noise; networks are sums of their units."""
    share, rest = divmod(_DIMENSION, L)
    values = tuple(1.0 if alike else (level + 1.0) ** -2 for level in range(L))
    levels = Levels(values=values, multiplicities=tuple(share + (level < rest) for level in range(L)))
    return OnePassProblem(
        dimension=_DIMENSION,
        data=Teacher(units=2, scaling="sum", noise=0.0, covariance=levels),
        network=TwoLayer(width=2, scaling="sum"),
        training=OnePass(learning_rate=0.2),
        start=GaussianStart(scale=0.01),
        run=Run(until=_UNTIL, times=(*np.geomspace(0.1, _UNTIL, _POINTS)[:-1], _UNTIL), replicas=starts, starts=starts),
    )


def plateau(risk: xr.DataArray) -> Float[np.ndarray, " r"]:
    """How long -d log R/d log t is below FLAT while the risk is between HIGH and LOW, for every start."""
    time, R = risk["time"].values, risk.values.clip(_LEAST)
    slope = -np.gradient(np.log(R), np.log(time), axis=0)
    return np.gradient(time) @ ((slope < FLAT) & (R < HIGH) & (R > LOW))


def passage(risk: xr.DataArray, level: float) -> Float[np.ndarray, " r"]:
    """When every start first has this risk; never is inf."""
    time, R = np.log(risk["time"].values), np.log(risk.values.clip(_LEAST))
    found = np.full(R.shape[1], np.inf)
    for start in np.flatnonzero(R.min(axis=0) < np.log(level)):
        after = int(np.argmax(R[:, start] < np.log(level)))
        at = slice(max(after - 1, 0), after + 1)
        found[start] = np.exp(np.interp(-np.log(level), -R[at, start], time[at]))
    return found


def _told(data: xr.DataTree) -> dict[int, xr.DataArray]:
    """Risks after the start, by the number of levels."""
    return {int(L): one["ode"].to_dataset()["risk"].isel(time=slice(1, None)) for L, one in data.children.items()}


def _draw_times(told: dict[int, xr.DataArray], axes: Axes) -> None:
    """Every start as a point, and the spans of the literature's starts behind them."""
    looks = (
        ("#1f78b4", "plateau: slope below 0.25"),
        ("#d95f02", "until risk $10^{-2}$"),
        ("#33a02c", "until risk $10^{-3}$"),
    )
    numbers = [*told]
    measured = [(plateau(one), passage(one, 1e-2), passage(one, LOW)) for one in told.values()]
    for which, (colour, label) in enumerate(looks):
        low, high = (np.array([KNOWN[L][which][side] for L in numbers]) for side in (0, 1))
        axes.fill_between(numbers, low, high, color=colour, alpha=0.2, lw=0)
        times = np.array([times[which] for times in measured])
        axes.plot(numbers, times, "o", color=colour, ms=4, mfc="white")
        axes.plot(numbers, times.mean(axis=1), color=colour, lw=1, label=label)
    axes.set(xscale="log", xlabel="distinct eigenvalues $L$", ylabel="time", ylim=(-3, None))
    axes.set_xticks(numbers, [str(L) for L in numbers])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=8, title="circles: starts; bands: three other starts", title_fontsize=8)
