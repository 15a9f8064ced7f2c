"""A near-global minimum with N = O(1) neurons and n = O(d) samples: two Gaussians and truncated ReLU neurons.

docs/theory/mean-field.md, section g.7. The theorem says that there is a time T, the same at every d, after which R_N <= inf
R + eta if eps <= const/d. T is measured here in real SGD of one width, which takes T/eps samples. Here s0 = d, where inf R
is exact.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.functions.ramps import TRUNCATED_RELU as NEURON
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.radial_laws.global_minimum import default_grid, global_minimum
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import RISK, TIME, TRUNCATED_RELU, risk, two_gaussians_problem
from dimfree.onepass.fields.radial import two_gaussians
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.progress import PartWatcher
from dimfree.questions.bounds.calculators import first_time_below
from dimfree.readings.power_laws import power

_DELTA, _KAPPA, _UNTIL = 0.8, 0.1, 16.0
_INF = float("inf")


class TruncatedReLU(Entry[xr.DataTree]):
    """Real SGD at growing dimension, with a step of rate/d."""

    name: ClassVar[str] = "truncated-relu"
    title: ClassVar[str] = (
        "Two Gaussians, truncated ReLU: a near-global minimum with N = O(1) neurons and n = O(d) samples"
    )
    cites: ClassVar[tuple[str, ...]] = ("mei2019",)
    sgd: AnyDescription = VectorSGD()
    dimensions: tuple[int, ...] = (25, 50, 100, 200, 400)
    width: int = 100
    eta: float = 0.01
    rate: float = 0.1  # eps d
    scaled: bool = True  # otherwise eps is that of the smallest dimension everywhere

    def step(self, d: int) -> float:
        """eps."""
        return self.rate / (d if self.scaled else self.dimensions[0])

    def cases(self, full: bool) -> dict[str, Case]:
        """One per dimension; `full` makes dimensions four times larger."""
        cases, network = {}, TwoLayer(activation=TRUNCATED_RELU)
        for d in self.dimensions:
            size = 4 * d if full else d
            eps = self.step(d) / (4 if full else 1)
            problem = two_gaussians_problem(
                size, self.width, _DELTA, eps, _KAPPA, _UNTIL, replicas=4, points=81, network=network
            )
            cases[str(d)] = Case(problem, (self.sgd,))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs, and for each the smallest risk, its dimension, and its step."""
        cases = self.cases(full)
        tree = run_cases(cases, watch)
        for name, case in cases.items():
            d = case.problem.dimension
            smallest = global_minimum(two_gaussians(NEURON, _DELTA, float(d)), default_grid()).risk
            tree[name].attrs = {"inf_R": smallest, "d": d, "eps": case.problem.time_step}
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """T does not depend on d, the number of samples is proportional to it, and the start is neither bad nor good enough."""
        times, samples, d = self._times(data)
        slopes = [power(d, x.mean(axis=1)) for x in (times, samples)]
        starts = [risk(self._run(data, name))[0].mean() for name in self._names]
        return (
            Claim("part of the runs that reach inf R + eta", float(np.isfinite(times).mean()), 1.0, 1.0),
            Claim("T grows like d^x, x", float(slopes[0]), -0.15, 0.15),
            Claim("samples n = T/eps grow like d^x, x", float(slopes[1]), 0.85, 1.15),
            Claim("largest risk R of a start, which must be below 1", float(max(starts)), 0.0, 1.0),
            Claim("smallest excess of the risk at the start over eta", float(self._excess(data)), 1.0, _INF),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Excess risk against time, T and samples against d."""
        figure.set_size_inches(12, 3.9)
        risks, reached, needed = figure.subplots(1, 3)
        times, samples, d = self._times(data)
        for n, name in enumerate(self._names):
            run, smallest = self._run(data, name), data[name].attrs["inf_R"]
            risks.plot(run["time"], risk(run).mean(axis=1) - smallest, color=f"C{n}", lw=1.2, label=f"d = {d[n]:.0f}")
        risks.axhline(self.eta, color="grey", ls=":", label=rf"$\eta$ = {self.eta:g}")
        risks.set(xlabel=TIME, ylabel=f"{RISK} minus inf $R$", yscale="log")
        risks.legend()
        for axes, values, label in ((reached, times, "time $T$"), (needed, samples, r"samples $n = T/\varepsilon$")):
            mean = values.mean(axis=1)
            bars = np.abs(np.stack([values.min(axis=1), values.max(axis=1)]) - mean)
            axes.errorbar(d, mean, bars, fmt="o", color="black", mfc="white", label=f"SGD, N = {self.width}")
            axes.set(xscale="log", xlabel="dimension $d$", ylabel=label)
            axes.set_xticks(d, [f"{x:.0f}" for x in d])
            axes.set_xticks([], minor=True)
        reached.set_ylim(0, None)
        needed.plot(d, samples[0].mean() * d / d[0], "--", color="grey", label=r"$\propto d$")
        needed.set_yscale("log")
        needed.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs, and the minima."""
        return price(self.cases(full)) + 5.0

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(str(d) for d in self.dimensions)

    def _run(self, data: xr.DataTree, name: str) -> xr.Dataset:
        return data[f"{name}/sgd"].to_dataset()

    def _excess(self, data: xr.DataTree) -> float:
        return min(risk(self._run(data, n))[0].mean() - data[n].attrs["inf_R"] for n in self._names) / self.eta

    def _times(self, data: xr.DataTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T and T/eps of every run, infinite where it was not reached, and the dimensions."""
        rows, d = [], np.array([float(data[name].attrs["d"]) for name in self._names])
        for name in self._names:
            run, smallest = self._run(data, name), data[name].attrs["inf_R"]
            found = [first_time_below(run["time"].values, one, smallest, self.eta) for one in risk(run).T]
            rows.append([_INF if t is None else t for t in found])
        eps = np.array([[data[name].attrs["eps"]] for name in self._names])
        return np.array(rows), np.array(rows) / eps, d
