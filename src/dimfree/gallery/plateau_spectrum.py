"""Eigenvalues that differ dissolve the plateau: two erf units that learn two, on inputs of one to many levels.

docs/theory/structured.md, section 5: L equally frequent eigenvalues in proportion to l^-2, of the same trace. Isotropic inputs
keep both units on a plateau before they specialise; dispersion at a fixed trace shortens it until nothing of it is left, and the
end becomes slower than exponential. All claims are about real SGD; the ODE runs from the same starts.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.inputs.covariance import Levels
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher

FLAT, HIGH, MIDDLE, LOW = 0.25, 0.2, 1e-2, 1e-3  # the slope of a plateau; between HIGH and LOW there may be one
_UNTIL, _POINTS = 120.0, 80
_LEAST = 1e-12  # risks are lost to cancellation below
_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "X")


class PlateauSpectrum(Entry[xr.DataTree]):
    """SGD and the ODE for every number of levels from several starts; with `alike` all eigenvalues are 1."""

    name: ClassVar[str] = "plateau-spectrum"
    title: ClassVar[str] = "Eigenvalues that differ dissolve the plateau"
    cites: ClassVar[tuple[str, ...]] = ("yoshida2019", "worschech2024")
    levels: tuple[int, ...] = (1, 2, 4, 8, 16)
    alike: bool = False
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """One for every number of levels; `full` has more of them, more starts, and a larger dimension."""
        numbers, starts, d = ((*self.levels, 64), 8, 1600) if full else (self.levels, 4, 400)
        both = (OverlapChain(), HighDimensional())
        return {str(L): Case(problem(L, self.alike, starts, d, self.seed), both) for L in numbers}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """How long the plateau of SGD is, when it is over, and how the end goes: means over starts."""
        sgd, ode = _risks(data, "chain"), _risks(data, "ode")
        first, last = min(sgd), max(L for L in sgd if self.levels[-1] >= L)
        lengths = {L: plateau(one) for L, one in sgd.items()}
        until = {L: float(passage(one, MIDDLE).mean()) for L, one in sgd.items()}
        end = {L: float((passage(one, LOW) - passage(one, MIDDLE)).mean()) for L, one in sgd.items()}
        by_ode = {L: float(passage(one, MIDDLE).mean()) for L, one in ode.items()}
        many = f"{last} eigenvalues over {first}"
        inner = [L for L in sgd if first < L < last]
        found = [
            Claim(f"plateau of SGD with {first} eigenvalue, over the time at risk 1e-2", lengths[first] / until[first], 0.5, 1),
            Claim(f"length of the plateau of SGD, {many}", lengths[last] / lengths[first], 0, 0.2),
            *(
                Claim(f"length of the plateau of SGD, {L} eigenvalues over {first}", lengths[L] / lengths[first], 0, 0.8)
                for L in inner
            ),
            Claim(f"time of SGD at risk 1e-2, {many}", until[last] / until[first], 0, 0.35),
            Claim(f"time of SGD from risk 1e-2 to 1e-3, {many}", end[last] / end[first], 1.8, np.inf),
        ]  # fmt: skip
        off = max(abs(by_ode[L] / until[L] - 1) for L in sgd)
        return (*found, Claim("largest relative difference of the ODE's time at risk 1e-2 from SGD's", off, 0, 0.15))

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks against time, and the three times against the number of levels."""
        figure.set_size_inches(9.6, 4.4)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        risks, ode = _risks(data, "chain"), _risks(data, "ode")
        for number, (L, one) in enumerate(risks.items()):
            colour = colormaps["viridis"](0.9 * number / max(1, len(risks) - 1))
            line, marker = _LINES[number % len(_LINES)], _MARKERS[number % len(_MARKERS)]
            time = one["time"]
            for start in range(one.sizes["replica"]):
                left.plot(time, ode[L][:, start].clip(_LEAST), ls=line, color=colour, lw=0.9)
                left.plot(
                    time[number :: len(risks)], one[number :: len(risks), start], marker, color=colour, mfc="white",
                    ms=3.5, label=f"{L}" if start == 0 else None,
                )  # fmt: skip
        left.set(xscale="log", yscale="log", xlim=(0.3, _UNTIL), ylim=(3e-4, 0.2), xlabel="time $t$", ylabel="risk")
        left.legend(title="distinct eigenvalues\nmarkers: SGD, lines: ode", ncols=2, loc="lower left")
        _draw_times(risks, right)
        starts = next(iter(risks.values())).sizes["replica"]
        about = rf"two erf units learn two, $s_l \propto l^{{-2}}$ at fixed trace, {starts} starts each"
        figure.suptitle(f"{self.title}\n{about}", fontsize=10)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def problem(L: int, alike: bool, starts: int, dimension: int, seed: int) -> OnePassProblem:
    """Two erf units learn two, without label noise; networks are sums of their units."""
    share, rest = divmod(dimension, L)
    values = tuple(1.0 if alike else (level + 1.0) ** -2 for level in range(L))
    levels = Levels(values=values, multiplicities=tuple(share + (level < rest) for level in range(L)))
    times = (*np.geomspace(0.1, _UNTIL, _POINTS)[:-1], _UNTIL)
    return OnePassProblem(
        dimension=dimension,
        data=Teacher(units=2, scaling="sum", noise=0.0, covariance=levels),
        network=TwoLayer(width=2, scaling="sum"),
        training=OnePass(learning_rate=0.5),
        start=GaussianStart(scale=0.01),
        run=Run(until=_UNTIL, times=times, replicas=starts, starts=starts, seed=seed),
    )


def plateau(risk: xr.DataArray) -> float:
    """How long -d log R/d log t is below FLAT while R is between HIGH and LOW, of the mean of log R over starts."""
    time, log_R = risk["time"].values, np.log(risk.values.clip(_LEAST)).mean(axis=1)
    slope = -np.gradient(log_R, np.log(time))
    return float(np.gradient(time) @ ((slope < FLAT) & (log_R < np.log(HIGH)) & (log_R > np.log(LOW))))


def passage(risk: xr.DataArray, level: float) -> Float[np.ndarray, " r"]:
    """When every start first has this risk; never is inf."""
    time, R = np.log(risk["time"].values), np.log(risk.values.clip(_LEAST))
    found = np.full(R.shape[1], np.inf)
    for start in np.flatnonzero(R.min(axis=0) < np.log(level)):
        after = int(np.argmax(R[:, start] < np.log(level)))
        at = slice(max(after - 1, 0), after + 1)
        found[start] = np.exp(np.interp(-np.log(level), -R[at, start], time[at]))
    return found


def _risks(data: xr.DataTree, account: str) -> dict[int, xr.DataArray]:
    """Risks after the start, by the number of levels."""
    return {int(L): one[account].to_dataset()["risk"].isel(time=slice(1, None)) for L, one in data.children.items()}


def _draw_times(risks: dict[int, xr.DataArray], axes: Axes) -> None:
    """Times of every start as points around their mean, and the length of the plateau."""
    numbers = [*risks]
    axes.plot(
        numbers,
        [plateau(one) for one in risks.values()],
        "o-",
        color="#1f78b4",
        lw=1,
        label="plateau: slope below 0.25",
    )
    for level, colour, marker, line in ((MIDDLE, "#d95f02", "s", "--"), (LOW, "#33a02c", "^", ":")):
        times = np.array([passage(one, level) for one in risks.values()])
        axes.plot(numbers, times, marker, color=colour, ms=4, mfc="white")
        label = f"until risk $10^{{{np.log10(level):.0f}}}$"
        axes.plot(numbers, times.mean(axis=1), line, color=colour, lw=1, marker=marker, label=label)
    axes.set(xscale="log", xlabel="distinct eigenvalues $L$", ylabel="time of SGD", ylim=(-3, None))
    axes.set_xticks(numbers, [str(L) for L in numbers])
    axes.minorticks_off()
    axes.legend(fontsize=8, title="empty markers: single starts", title_fontsize=8)
