"""Real SGD on genuine inputs touches the frontier of the deterministic equivalent, and no size is below it.

docs/theory/scaling.md, section 5: 2000 inputs in phase III. One projection scatters by tens of per cent around the equivalent, so
every marker is a mean over many of them.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.figure import Figure

from dimfree.comparison.run import simulate
from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.kinds.projection.section.power_law import PowerLaw
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.mean_risk import mean_risks
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.sections import OnePass
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.frontier import lowest

SIZES = (64, 128, 256, 512)
BUDGETS = (3e3, 1e4, 3e4)  # at which the best size is among them
_DATA = PowerLaw(alpha=0.7, beta=1.2, inputs=2000)
_RATE = 0.5  # over the trace
_RUNS = 8  # of SGD for every projection
_LIST = 2.0 ** np.arange(4, 10.1, 0.5)  # sizes of the frontier
_CURVES = np.geomspace(1e3, 1e5, 25)


class ScalingFrontierSGD(Entry[xr.Dataset]):
    """Means of SGD over many projections, as markers beside the frontier; markers of a single projection would miss it."""

    name: ClassVar[str] = "scaling-frontier-sgd"
    title: ClassVar[str] = "Real SGD touches the compute-optimal frontier, and no size is below it"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "maloney2022")
    projections: int = 24

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """SGD for all sizes and budgets, and equivalents; `full` has four times the projections."""
        count = self.projections * (4 if full else 1)
        seen = np.empty((len(SIZES), count, len(BUDGETS)))
        for row, size in enumerate(SIZES):
            for seed in range(count):
                watch(f"size {size}", (row * count + seed) / (len(SIZES) * count))
                seen[row, seed] = simulate(problem(size, seed), by="sgd")["risk"].values[1:].mean(axis=1)
        risks = np.array([_risks(size, _CURVES) for size in _LIST])
        best = lowest(_LIST, np.array([_risks(size, np.array(BUDGETS)) for size in _LIST]), np.array(BUDGETS))
        return xr.Dataset(
            {
                "sgd": (("size", "projection", "budget"), seen),
                "risk": (("listed", "compute"), risks),
                "frontier": ("budget", best.risk),
                "best_size": ("budget", best.size),
            },
            {"size": list(SIZES), "budget": list(BUDGETS), "listed": _LIST, "compute": _CURVES},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """At the size next to the best one SGD is on the frontier; nowhere it is below by three standard errors."""
        ratio, error = _over_frontier(data)
        nearest = [int(np.argmin(np.abs(np.log(np.array(SIZES) / d)))) for d in data["best_size"].values]
        touched = [
            Claim(f"SGD over the frontier at C = {C:g}, size {SIZES[row]}", float(ratio[row, column]), 0.85, 1.15)
            for column, (C, row) in enumerate(zip(BUDGETS, nearest, strict=True))
        ]
        largest = max(float(error[row, column]) for column, row in enumerate(nearest))
        return (
            *touched,
            Claim("largest standard error of these three", largest, 0.0, 0.08),
            Claim("lowest (SGD/frontier - 1)/error of all sizes", float(np.min((ratio - 1) / error)), -3.0, np.inf),
            Claim("largest SGD/frontier, at a wrong size", float(ratio.max()), 1.5, np.inf),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Equivalents as thin lines, their envelope, and SGD."""
        figure.set_size_inches(7.5, 5)
        axes, colours = figure.subplots(), colormaps["viridis"]
        span = np.log(_LIST[-1] / _LIST[0])
        for size, risk in zip(_LIST, data["risk"].values, strict=True):
            axes.plot(_CURVES, risk, color=colours(np.log(size / _LIST[0]) / span), lw=0.7)
        axes.plot(_CURVES, lowest(_LIST, data["risk"].values, _CURVES).risk, color="black", lw=2.2, label="frontier")
        for size, marker, one in zip(SIZES, "osD^", data["sgd"].values, strict=True):
            colour, error = colours(np.log(size / _LIST[0]) / span), 2 * _error(one)
            axes.errorbar(
                BUDGETS, one.mean(axis=0), error, fmt=marker, color=colour, mfc="white", label=f"SGD, size {size}"
            )
        axes.set(xscale="log", yscale="log", xlabel="compute = size × steps", ylabel="population risk")
        axes.legend(frameon=False, title=f"{data.sizes['projection']} projections a marker, two standard errors")
        figure.suptitle(self.title, fontsize=10)

    def seconds(self, full: bool) -> float:
        """Projections of 2000 inputs, and their eigenvectors."""
        return 60.0 if full else 16.0


def problem(size: int, seed: int) -> OnePassProblem:
    """One projection, looked at where every budget ends."""
    gamma = _RATE / _DATA.population(size).trace
    times = tuple(round(C / size) * gamma / size for C in BUDGETS)
    run = Run(replicas=_RUNS, times=times, until=times[-1], seed=seed)
    return OnePassProblem(dimension=size, data=_DATA, training=OnePass(learning_rate=gamma), run=run)


def _risks(size: float, compute: Float[np.ndarray, " c"]) -> Float[np.ndarray, " c"]:
    population = _DATA.population(size)
    return mean_risks(equivalent(population, size), _RATE / population.trace, 1, 0.0, np.maximum(compute / size, 1.0))


def _error(risks: Float[np.ndarray, "n c"]) -> Float[np.ndarray, " c"]:
    """The standard error over projections, which a single one does not have."""
    count = len(risks)
    return risks.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.full(risks.shape[1], np.nan)


def _over_frontier(data: xr.Dataset) -> tuple[Float[np.ndarray, "d c"], Float[np.ndarray, "d c"]]:
    ratios = data["sgd"].values / data["frontier"].values
    return ratios.mean(axis=1), np.array([_error(one) for one in ratios])
