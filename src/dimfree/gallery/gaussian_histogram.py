"""The law of r = |w| on two Gaussians: histograms of real SGD over the density of the distributional dynamics.

docs/theory/mean-field.md, section b: d = s0 = 40, Delta = 0.8, kappa = 0.8, ramp neurons. The flow of r keeps the order of
particles, so that particles that start at the quantiles of the law stay at quantiles: the density is 1/(n times the
distance between neighbours).
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy import stats

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import (
    RISK,
    THEORY,
    TIME,
    deviation,
    draw_pair,
    means,
    risk,
    smooth,
    two_gaussians_problem,
)
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher

_AT = 10.0  # the time of the numbers in the sheet
_SNAPSHOTS = (0.0, 2.0, 6.0, 10.0)


class GaussianHistogram(Entry[xr.DataTree]):
    """Real SGD of N neurons and the PDE."""

    name: ClassVar[str] = "gaussian-histogram"
    title: ClassVar[str] = "Two Gaussians: the norms of the neurons of SGD follow the distributional dynamics"
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)
    theory: AnyDescription = DistributionalDynamics(
        particles=2000
    )  # one in a hundred shows where some neurons sink to 0
    sgd: AnyDescription = VectorSGD()
    width: int = 400
    eps: float = 2e-5

    def cases(self, full: bool) -> dict[str, Case]:
        """`full` has the width and the step of the documents, and twice the time."""
        N, eps, until = (800, 1e-6, 2 * _AT) if full else (self.width, self.eps, _AT)
        problem = two_gaussians_problem(40, N, 0.8, eps, 0.8, until, points=41 if full else 21)
        return {"sgd": Case(problem, (self.sgd,)), "theory": Case(smooth(problem), (self.theory,))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all norms along SGD and theory."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Means, risks and laws agree up to t = 10, within the errors of a finite width."""
        sgd, theory = (run.sel(time=slice(0, 1.001 * _AT)) for run in self._pair(data))
        gap = float(risk(sgd)[-1].mean() - risk(theory)[-1, 0])
        return (
            Claim("risk R of the PDE at t = 10", float(risk(theory)[-1, 0]), 0.694, 0.704),
            Claim("risk R of SGD minus that of the PDE at t = 10", gap, -0.05, 0.05),
            Claim("mean norm in the PDE at t = 10", float(means(theory, "r1")[-1, 0]), 2.34, 2.38),
            Claim("largest deviation of the mean norm of SGD from the PDE", deviation(sgd, theory, "r1"), 0.0, 0.03),
            Claim(
                "largest Kolmogorov distance of the norms of one run from the PDE, over its scale width^(-1/2)",
                max(_kolmogorov(sgd, theory, t) for t in _SNAPSHOTS),
                0.0,
                1.95,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw four histograms; below them, risk and mean norm."""
        figure.set_size_inches(11, 6.2)
        sgd, theory = self._pair(data)
        grid = figure.add_gridspec(2, 4)
        for n, t in enumerate(_SNAPSHOTS):
            axes = figure.add_subplot(grid[0, n])
            norms, particles = _norms(sgd, t), np.sort(_norms(theory, t))
            axes.hist(norms, 24, density=True, color="grey", alpha=0.5, label=f"SGD, {norms.size} neurons")
            middle, density = _density(particles)
            axes.plot(middle, density, color=THEORY, lw=1.5, label="PDE")
            axes.set(title=f"$t$ = {t:g}", xlabel="norm $r = |w|$")
        figure.axes[0].set_ylabel("density")
        figure.axes[0].margins(y=0.3)  # room for the legend
        figure.axes[0].legend(loc="upper left", fontsize=7)
        for axes, value, label in (
            (figure.add_subplot(grid[1, :2]), risk, RISK),
            (figure.add_subplot(grid[1, 2:]), lambda run: means(run, "r1"), r"mean norm $\langle r\rangle$"),
        ):
            draw_pair(axes, sgd, theory, value, THEORY, "")
            axes.set(xlabel=TIME, ylabel=label)
            axes.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over both runs; real SGD of this family was measured at one and a half times its price."""
        return 1.5 * price(self.cases(full))

    def _pair(self, data: xr.DataTree) -> tuple[xr.Dataset, xr.Dataset]:
        return data["sgd/sgd"].to_dataset(), data[f"theory/{self.theory.title}"].to_dataset()


def _norms(run: xr.Dataset, t: float) -> np.ndarray:
    """The norms of the first replica; replicas share their start, so they are no independent samples."""
    return np.asarray(run["r1"].sel(time=t, method="nearest").isel(replica=0).values)


def _density(particles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The density between quantile particles, over four of them at a time, against rounding where they meet."""
    kept = particles[::4]
    return 0.5 * (kept[1:] + kept[:-1]), 4 / (particles.size * np.diff(kept))


def _kolmogorov(sgd: xr.Dataset, theory: xr.Dataset, t: float) -> float:
    """The distance times the root of the width: above 1.95 with probability 0.001 for independent neurons."""
    norms = _norms(sgd, t)
    return float(stats.ks_2samp(norms, _norms(theory, t)).statistic * np.sqrt(norms.size))
