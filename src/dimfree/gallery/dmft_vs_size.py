"""How large is large? Multi-pass SGD at growing dimension approaches dynamical mean-field theory.

Two clusters, square loss, batches that hold a share 0.3 of all samples: here the theory is exact (docs/theory/dmft.md,
section 4), so that every difference is an effect of the finite dimension N: runs scatter like N^(-1/2), and their mean is off
by O(1/N).
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import DataSetProblem, MultiPass, TwoClusters
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import AnyDescription
from dimfree.gallery.agreement import COLOURS, mean_and_error, observed
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.run import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_NAMES = {"risk": "error on fresh samples", "train_loss": "loss on the data set", "m": "overlap $m$"}


class DMFTVersusSize(Entry[xr.DataTree]):
    """Means and spreads of SGD against the dimension."""

    name: ClassVar[str] = "dmft-vs-size"
    title: ClassVar[str] = "How large is large? Multi-pass SGD approaches dynamical mean-field theory"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020", "gerbelot2024")
    theory: AnyDescription = DMFT()
    dimensions: tuple[int, ...] = (50, 100, 200, 400, 800)
    runs: int = 25_000  # seeds times the dimension, at most 250 and at least 40 seeds

    def cases(self, full: bool) -> dict[str, Case]:
        """One per dimension; `full` has eight times as many runs."""
        cases = {}
        for number, N in enumerate(self.dimensions):
            seeds = (8 if full else 1) * int(np.clip(self.runs // N, 40, 250))
            problem = _problem().replace(dimension=N, **{"run.replicas": seeds, "run.seed": number})
            cases[str(N)] = Case(problem, (MultiPassSGD(), *([self.theory] if self.dimensions[-1] == N else [])))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """The theory once, SGD at every dimension."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The spread falls like N^(-1/2), the mean goes to the theory like 1/N."""
        slopes = [self.spread_slope(data, name) for name in _NAMES]
        limits = [abs(self.extrapolated(data, name)) for name in _NAMES]
        return (
            Claim("runs scatter like N^x: smallest x of all observables", min(slopes), -0.6, -0.4),
            Claim("the same: largest x", max(slopes), -0.6, -0.4),
            Claim(
                "mean at infinite N, fitted with a correction 1/N, minus the theory in standard errors: largest",
                max(limits),
                0.0,
                3.5,
            ),
        )

    def spread_slope(self, data: xr.DataTree, name: str) -> float:
        """The power of N with which the root mean square spread over the run falls."""
        spread = [
            float(np.sqrt(observed(self._sgd(data, N), name)[1:].var(axis=1, ddof=1).mean())) for N in self.dimensions
        ]
        return power(self.dimensions, spread)

    def bias(self, data: xr.DataTree, name: str) -> tuple[Float64[np.ndarray, " N"], Float64[np.ndarray, " N"]]:
        """Mean of SGD minus theory at the last time, and the standard error."""
        exact = observed(self._theory(data), name)[-1].mean()
        found = [mean_and_error(observed(self._sgd(data, N), name)[-1:]) for N in self.dimensions]
        return np.array([mean[0] - exact for mean, _ in found]), np.array([error[0] for _, error in found])

    def extrapolated(self, data: xr.DataTree, name: str) -> float:
        """The intercept of bias = a + c/N by weighted least squares, in standard errors."""
        bias, error = self.bias(data, name)
        design = np.stack([np.ones_like(error), 1 / np.array(self.dimensions)], axis=1) / error[:, None]
        covariance = np.linalg.inv(design.T @ design)
        return float((covariance @ design.T @ (bias / error))[0] / np.sqrt(covariance[0, 0]))

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Runs at the smallest and largest dimension, spread and bias against the dimension."""
        figure.set_size_inches(12, 3.9)
        curves, spread, bias = figure.subplots(1, 3)
        self._draw_curves(data, curves)
        sizes = np.array(self.dimensions)
        for (name, label), colour in zip(_NAMES.items(), COLOURS, strict=False):
            values = [observed(self._sgd(data, N), name)[-1].std(ddof=1) for N in self.dimensions]
            spread.plot(sizes, values, "o-", color=colour, ms=4, lw=0.8, label=label)
            off, error = self.bias(data, name)
            bias.errorbar(1 / sizes, off, 2 * error, fmt="o-", color=colour, ms=4, lw=0.8, label=label)
        spread.plot(
            sizes, 1.5 * max(values) * np.sqrt(sizes[0] / sizes), "--", color="grey", label=r"$\propto N^{-1/2}$"
        )
        spread.set(xscale="log", yscale="log", xlabel="dimension $N$", ylabel="standard deviation at the end")
        spread.set_xticks(sizes, [str(N) for N in sizes])
        spread.set_xticks([], minor=True)
        spread.legend()
        bias.axhline(0, color="0.4", ls="--", lw=1)
        bias.set(xlabel="$1/N$", ylabel="mean of SGD − theory at the end (± 2 s.e.)", xlim=(0, None))
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _draw_curves(self, data: xr.DataTree, axes: Axes) -> None:
        for N, colour in ((self.dimensions[0], "#7570b3"), (self.dimensions[-1], "#1b9e77")):
            run = self._sgd(data, N)
            low, high = run["risk"].quantile([0.1, 0.9], "replica").values
            axes.fill_between(run["time"], low, high, color=colour, alpha=0.3, lw=0, label=f"80 % of runs, $N$ = {N}")
        theory = self._theory(data)
        axes.plot(theory["time"], theory["risk"].mean("replica"), color="#d95f02", lw=1.4, label=self.theory.title)
        axes.set(xlabel="time $t$ = steps × rate", ylabel="error on fresh samples")
        axes.legend()

    def _sgd(self, data: xr.DataTree, dimension: int) -> xr.Dataset:
        return data[f"{dimension}/multi-pass"].to_dataset()

    def _theory(self, data: xr.DataTree) -> xr.Dataset:
        return data[f"{self.dimensions[-1]}/{self.theory.title}"].to_dataset()


def _problem() -> DataSetProblem:
    """60 steps of vanilla SGD."""
    return DataSetProblem(
        data=TwoClusters(samples=2.0, variance=0.5),
        training=MultiPass(learning_rate=0.2, loss="square", batch_fraction=0.3, weight_decay=0.1),
        run=Run(until=12.0, points=31, spacing="linear"),
    )
