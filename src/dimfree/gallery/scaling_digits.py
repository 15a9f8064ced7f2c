"""A scaling law of real data: random features of digits seen through random projections, by theory and by SGD on the rows.

docs/theory/scaling.md, section 5: 600 ReLU features of scikit-learn's 1797 images, and whether a digit is even. The theory
is given the spectrum and the target of the table, and nothing else.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float, Num
from matplotlib.figure import Figure

from dimfree.comparison.run import simulate, solve
from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.inputs.covariance import Covariance
from dimfree.onepass.kinds.projection.section.own import Projected
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.mean_risk import mean_risks
from dimfree.onepass.projected.measures import drawn, equivalent
from dimfree.onepass.projected.population import Population, levels
from dimfree.onepass.sections import OnePass
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.frontier import lowest

SIZES = (32, 96, 192)
STEPS = np.array([10, 100, 1000, 10_000])
BUDGETS = 10.0 ** np.arange(3, 7)
BEST = (38.0, 92.0, 185.0, 384.0)  # of the sheet, for other random features
_RATE = 0.5  # the trace is 1
_DATA = Projected(covariance=Covariance.features("digits", "target", width=600))
_LIST = 570 / 2.0 ** np.arange(0, 6.1, 0.5)  # sizes of the frontier
_RUNS = 8
_ON_ROWS = 3  # how many of STEPS SGD on rows is measured at


class ScalingDigits(Entry[xr.Dataset]):
    """Digits beside theory; a theory that knows the trace of the inputs instead of their spectrum (`isotropic`) misses them."""

    name: ClassVar[str] = "scaling-digits"
    title: ClassVar[str] = "A scaling law of digits: 600 random features behind random projections"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "maloney2022")
    isotropic: bool = False  # whether theory knows the trace of the inputs alone

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Exact means of drawn projections, equivalents, SGD on rows; `full` has more projections."""
        count, few = (80, 16) if full else (20, 8)
        population, (h, b) = self._population(), _DATA.modes(1)
        exact, theory = np.empty((len(SIZES), count, len(STEPS))), np.empty((len(SIZES), len(STEPS)))
        rows, means = np.empty((2, len(SIZES), few, _ON_ROWS))
        for row, size in enumerate(SIZES):
            rng = np.random.default_rng(size)
            theory[row] = _risks(population, size, STEPS)
            for number in range(count):
                W = rng.standard_normal((len(h), size)) / np.sqrt(size)
                exact[row, number] = mean_risks(drawn(h, b, W).measures, _RATE, 1, _DATA.label_noise, STEPS)
            for seed in range(few):
                watch(f"size {size}", (row * few + seed) / (len(SIZES) * few))
                one = problem(size, seed)
                rows[row, seed] = simulate(one, by="projected-rows")["risk"].values[1:].mean(axis=1)
                means[row, seed] = solve(one, by="projected-mean")["risk"].values[1:, 0]
        curves = np.array([_risks(population, size, np.maximum(BUDGETS / size, 1.0)) for size in _LIST])
        best = lowest(_LIST[::-1], curves[::-1], BUDGETS)
        return xr.Dataset(
            {
                "exact": (("size", "projection", "step"), exact),
                "equivalent": (("size", "step"), theory),
                "rows": (("size", "seed", "early"), rows),
                "rows_exact": (("size", "seed", "early"), means),
                "best_size": ("budget", best.size),
                "frontier": ("budget", best.risk),
            },
            {"size": list(SIZES), "step": STEPS, "early": STEPS[:_ON_ROWS], "budget": BUDGETS},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Drawn projections are at the equivalent, rows at their exact means, and best sizes where the sheet has them."""
        drawn_over = data["exact"].mean("projection") / data["equivalent"]
        ratio = data["rows"] / data["rows_exact"]
        z = (ratio.mean("seed") - 1) / (ratio.std("seed", ddof=1) / np.sqrt(ratio.sizes["seed"]))
        listed = [
            Claim("largest |mean of drawn projections/equivalent - 1|", float(np.abs(drawn_over - 1).max()), 0.0, 0.05),
            Claim(
                "r.m.s. of z of rows against the exact means of their projections",
                float(np.sqrt((z**2).mean())),
                0,
                2.0,
            ),
            Claim("largest |z| of these", float(np.abs(z).max()), 0, 3.0),
            Claim(
                "largest |rows/exact mean - 1|, over projections", float(np.abs(ratio.mean("seed") - 1).max()), 0.0, 0.1
            ),
        ]
        for C, size, wanted in zip(BUDGETS, data["best_size"].values, BEST, strict=True):
            listed.append(Claim(f"best size at C = {C:g}", float(size), 0.85 * wanted, 1.15 * wanted))
        return tuple(listed)

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Curves with markers of rows, and best sizes."""
        figure.set_size_inches(11, 4.6)
        left, right = figure.subplots(1, 2)
        for size, colour in zip(SIZES, ("#1f78b4", "#33a02c", "#d95f02"), strict=True):
            one = data.sel(size=size)
            left.plot(STEPS, one["equivalent"], color=colour, label=f"{size} features")
            low, high = np.percentile(one["exact"].values, [16, 84], axis=0)
            left.fill_between(STEPS, low, high, color=colour, alpha=0.15, lw=0)
            seen = one["rows"].values
            error = 2 * seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
            left.errorbar(STEPS[:_ON_ROWS], seen.mean(axis=0), error, fmt="o", color=colour, mfc="white", ms=5)
        left.set(xscale="log", yscale="log", xlabel="steps", ylabel="risk above the best linear fit")
        left.legend(
            frameon=False, title="line: equivalent; band: one projection;\nmarkers: SGD on rows", title_fontsize=8
        )
        right.plot(BUDGETS, data["best_size"], "o-", color="#6a3d9a", mfc="white", label="best size")
        right.plot(BUDGETS, BUDGETS / data["best_size"], "s--", color="#b15928", mfc="white", label="samples")
        right.axhline(600, color="grey", ls=":", lw=1)
        right.set(xscale="log", yscale="log", xlabel="compute = size × steps", ylabel="best size, samples")
        right.legend(frameon=False, title="dotted: all 600 inputs", title_fontsize=8)
        figure.suptitle(self.title, fontsize=10)

    def seconds(self, full: bool) -> float:
        """SGD on rows, a projection each."""
        return 24.0 if full else 8.0

    def _population(self) -> Population:
        found = _DATA.population(1)
        if not self.isotropic:
            return found
        v = found.inputs
        return levels(np.array([found.trace / v]), np.array([found.energy / v]), np.array([v]))


def problem(size: int, seed: int) -> OnePassProblem:
    """One projection."""
    times = tuple(float(step) * _RATE / size for step in STEPS[:_ON_ROWS])
    run = Run(replicas=_RUNS, times=times, until=times[-1], seed=seed)
    return OnePassProblem(dimension=size, data=_DATA, training=OnePass(learning_rate=_RATE), run=run)


def _risks(population: Population, size: float, steps: Num[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    return mean_risks(equivalent(population, size), _RATE, 1, _DATA.label_noise, steps)
