"""The high-dimensional limit at k = 4, p = 8, noise 1e-3, rate 0.1: SGD gathers around the ODEs as the dimension grows.

docs/theory/committee.md, section 2. Runs scatter around the limit on the scale sqrt(gamma/(p d)). The variance term of the
ODEs is small here (weight gamma/p = 1/80) but decides the norms of the students at once and the final risk in the end.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_UNTIL = 10.0  # the claims are checked up to here, where plateaus have not yet amplified the scatter of the runs
_LONG = 3000.0
_INF = float("inf")


class HighDimensionalRegime(Entry[xr.DataTree]):
    """The theory, what it would be without the variance term, and SGD at growing dimension."""

    name: ClassVar[str] = "high-dimensional"
    title: ClassVar[str] = "High-dimensional limit: SGD gathers around the ODEs as the dimension grows"
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "goldt2019", "veiga2022")
    theory: AnyDescription = HighDimensional()
    without: AnyDescription = GradientFlow()
    dimensions: tuple[int, ...] = (100, 400, 1600)
    samples: int = 25_000  # replicas times the largest dimension

    def cases(self, full: bool) -> dict[str, Case]:
        """Equal work per dimension in SGD; `full` follows SGD to t = 1000, through the plateau."""
        base = OnePassProblem(
            data=Teacher(units=4, noise=1e-3),
            network=TwoLayer(width=8),
            training=OnePass(learning_rate=0.1),
            run=Run(until=1000.0 if full else _UNTIL, points=60 if full else 32),
        )
        cases = {}
        for d in self.dimensions:
            replicas = 8 if full else int(np.clip(self.samples // d, 16, 64))
            problem = base.replace(dimension=d, **{"run.replicas": replicas})
            cases[str(d)] = Case(problem, (self.theory, self.without, OverlapChain()))
        last = base.replace(dimension=self.dimensions[-1], **{"run.until": _LONG, "run.points": 80})
        return cases | {"long": Case(last, (self.theory, self.without))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs at every dimension from its own start, and the theories alone for long times."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The scatter decays like d^(-1/2), on the scale of the bound; only with the variance term is the mean right."""
        spread = [_spread(*self._early(data, d)) for d in self.dimensions]
        slope = power(self.dimensions, spread)
        largest = self.dimensions[-1]
        scale = np.sqrt(0.1 / (8 * largest))
        floors = [float(data[f"long/{one.title}"].to_dataset()["risk"][-1, 0]) for one in (self.without, self.theory)]
        return (
            Claim("SGD leaves the theory by d^x up to t = 10, x", float(slope), -0.6, -0.4),
            Claim(
                f"largest deviation of M and Q at d = {largest}, in units of sqrt(rate/(width d))",
                _largest(*self._early(data, largest)) / scale,
                0.2,
                1.0,
            ),
            Claim(
                f"norms of the students at t = 10, d = {largest}: SGD minus theory in standard errors",
                _sigmas(*self._early(data, largest)),
                -4.0,
                4.0,
            ),
            Claim("the same without the variance term", _sigmas(*self._early(data, largest, self.without)), 5.0, _INF),
            Claim("final risk, with the variance term over without", floors[1] / floors[0], 1.5, _INF),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk, excess of the norms over the theory without variance term, and scatter against dimension."""
        figure.set_size_inches(12, 3.9)
        risk, norms, scatter = figure.subplots(1, 3)
        largest = self.dimensions[-1]
        self._draw_risk(data, risk)
        sgd, theory = self._early(data, largest)
        without = self._early(data, largest, self.without)[1]
        excess, error = _excess(sgd, without)
        norms.errorbar(
            sgd["time"], excess, error, fmt="o", color="black", mfc="white", ms=4, label="SGD ± standard error"
        )
        norms.plot(theory["time"], _excess(theory, without)[0], color="#d95f02", label=self.theory.title)
        norms.axhline(0, color="#7570b3", ls="--", label=self.without.title)
        norms.set(xscale="log", xlabel="time $t$", ylabel=r"$\mathrm{tr}\,Q$ minus that of gradient flow")
        norms.set_title(f"what the variance term does, d = {largest:,}")
        norms.legend()
        values = [_spread(*self._early(data, d)) for d in self.dimensions]
        scatter.plot(self.dimensions, values, "o", color="black", label="SGD minus theory, $t$ ≤ 10")
        guide = values[0] * np.sqrt(self.dimensions[0] / np.array(self.dimensions))
        scatter.plot(self.dimensions, guide, "--", color="grey", label=r"$\propto d^{-1/2}$")
        scatter.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="rms deviation of $M$")
        scatter.set_xticks(self.dimensions, [f"{d:,}" for d in self.dimensions])
        scatter.set_xticks([], minor=True)
        scatter.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _draw_risk(self, data: xr.DataTree, axes: Axes) -> None:
        for one, colour, line in ((self.theory, "#d95f02", "-"), (self.without, "#7570b3", "--")):
            long = data[f"long/{one.title}"].to_dataset().isel(time=slice(1, None), replica=0)
            axes.plot(long["time"], long["risk"], line, color=colour, label=one.title)
        run = data[f"{self.dimensions[-1]}/chain"].to_dataset().isel(time=slice(1, None, 2))
        mean = run["risk"].mean("replica")
        axes.plot(run["time"], mean, "o", color="black", mfc="white", ms=4, label=f"SGD, d = {self.dimensions[-1]:,}")
        axes.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="population risk (without label noise)")
        axes.legend()

    def _early(
        self, data: xr.DataTree, dimension: int, theory: AnyDescription | None = None
    ) -> tuple[xr.Dataset, xr.Dataset]:
        """SGD and a theory at one dimension, up to the time of the claims."""
        until = slice(0.0, _UNTIL * 1.001)
        names = ("chain", (theory or self.theory).title)
        sgd, limit = (data[f"{dimension}/{name}"].to_dataset().sel(time=until) for name in names)
        return sgd, limit


def _spread(sgd: xr.Dataset, theory: xr.Dataset) -> float:
    return float(np.sqrt(((sgd["M"] - theory["M"].isel(replica=0)) ** 2).mean()))


def _largest(sgd: xr.Dataset, theory: xr.Dataset) -> float:
    """The mean over replicas of the largest deviation of any overlap at any time."""
    worst = [np.abs(sgd[name].values - theory[name].values).max(axis=(0, 2, 3)) for name in ("M", "Q")]
    return float(np.maximum(*worst).mean())


def _excess(one: xr.Dataset, other: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """How much larger the sum of the squared norms is, and its standard error."""
    trace, base = (np.trace(run["Q"].values, axis1=-2, axis2=-1) for run in (one, other))
    error = trace.std(axis=1, ddof=1) / np.sqrt(trace.shape[1]) if trace.shape[1] > 1 else np.zeros(len(trace))
    return trace.mean(axis=1) - base[:, 0], error


def _sigmas(sgd: xr.Dataset, theory: xr.Dataset) -> float:
    excess, error = _excess(sgd, theory)
    return float(excess[-1] / error[-1])
