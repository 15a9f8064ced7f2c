"""Two Gaussians: the risk after long times against Delta, beside the smallest risk that any law of neurons has.

docs/theory/mean-field.md, section b: ramp neurons. The global minimum is a non-negative least squares problem at every d.
"""

from collections.abc import Callable
from math import inf
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.functions.ramps import RAMP
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.radial_laws.global_minimum import default_grid, global_minimum
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import RISK, risk, two_gaussians_problem
from dimfree.onepass.fields.radial import two_gaussians
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher

_TABLE = {(0.2, 40): 0.3951, (0.2, 320): 0.3477, (0.2, inf): 0.3412, (0.5, 40): 0.0309, (0.5, 320): 0.0041} | {
    (0.5, inf): 0.0,
    (0.8, 40): 0.0032,
    (0.8, 320): 0.0004,
    (0.8, inf): 0.0,
}
_UNTIL = 50.0
_FINE = tuple(n / 1000 for n in range(150, 851, 25))  # for smooth lines


def smallest_risk(Delta: float, d: float) -> float:
    """inf R over all laws of r."""
    return global_minimum(two_gaussians(RAMP, Delta, d), default_grid()).risk


class RiskVersusDelta(Entry[xr.DataTree]):
    """Global minima at three dimensions; PDE and SGD at d = 40."""

    name: ClassVar[str] = "risk-vs-delta"
    title: ClassVar[str] = "Two Gaussians: risk after long times and global minimum against the contrast"
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)
    theory: AnyDescription = DistributionalDynamics(particles=100)
    sgd: AnyDescription = VectorSGD()
    minimum: Callable[[float, float], float] = smallest_risk
    contrasts: tuple[float, ...] = (0.2, 0.35, 0.5, 0.65, 0.8)

    def cases(self, full: bool) -> dict[str, Case]:
        """One per Delta; `full` has four times the width, the time and a fourth of the step."""
        N, eps, until = (800, 2.5e-5, 4 * _UNTIL) if full else (200, 1e-4, _UNTIL)
        return {
            f"{Delta:g}": Case(
                two_gaussians_problem(40, N, Delta, eps, 0.8, until, replicas=1, points=11), (self.sgd, self.theory)
            )
            for Delta in self.contrasts
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs, and the table of global minima."""
        tree = run_cases(self.cases(full), watch)
        dimensions = (40.0, 320.0, inf)
        values = [[self.minimum(Delta, d) for d in dimensions] for Delta in _FINE]
        coordinates = {"contrast": list(_FINE), "d": list(dimensions)}
        tree["minimum"] = xr.DataTree(xr.Dataset({"risk": (("contrast", "d"), np.array(values))}, coordinates))
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The minima are those of the sheet; where the classes are hard to tell apart the PDE reaches them, and SGD nearly."""
        table = data["minimum"].to_dataset()["risk"]
        off = max(abs(float(table.sel(contrast=Delta, d=d)) - value) for (Delta, d), value in _TABLE.items())
        above = {
            Delta: self._end(data, Delta, self.theory.title) - float(table.sel(contrast=Delta, d=40.0))
            for Delta in self.contrasts
        }
        gaps = [self._end(data, Delta, "sgd") - self._end(data, Delta, self.theory.title) for Delta in self.contrasts]
        return (
            Claim("largest difference of inf R from the nine known values", off, 0.0, 2e-4),
            Claim("risk R of the PDE at the end above inf R at Delta = 0.2", above[0.2], -1e-4, 1e-3),
            Claim("smallest risk R of the PDE at the end above inf R at any Delta", min(above.values()), -1e-4, 0.1),
            Claim("largest risk R of the PDE at the end above inf R at any Delta", max(above.values()), 0.0, 0.1),
            Claim("smallest risk R of SGD above the PDE at the end", min(gaps), 0.0, 0.1),
            Claim("largest risk R of SGD above the PDE at the end", max(gaps), 0.0, 0.1),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """One panel on a logarithmic scale."""
        figure.set_size_inches(6.4, 4.4)
        axes = figure.subplots()
        table = data["minimum"].to_dataset()["risk"]
        for d, line in ((40.0, "-"), (320.0, "--"), (inf, ":")):
            label = "global minimum, d = " + (r"$\infty$" if d == inf else f"{d:g}")
            axes.plot(table["contrast"], np.maximum(table.sel(d=d), 1e-9), line, color="grey", label=label)
        for name, marker, colour in ((self.theory.title, "s", "#d95f02"), ("sgd", "o", "black")):
            ends = [self._end(data, Delta, name) for Delta in self.contrasts]
            run = data[f"{self.contrasts[0]:g}/{name}"].to_dataset()
            who = f"SGD, N = {run.sizes['unit']}" if name == "sgd" else "PDE"
            label = f"{who}, d = 40, t = {float(run['time'][-1]):.3g}"
            axes.plot(self.contrasts, ends, marker, color=colour, mfc="white", label=label)
        axes.set(yscale="log", ylim=(1.5e-4, 1), xlabel=r"contrast $\Delta$", ylabel=RISK)
        axes.legend(fontsize=8)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs, and the minima."""
        return price(self.cases(full)) + 20.0

    def _end(self, data: xr.DataTree, Delta: float, name: str) -> float:
        return float(risk(data[f"{Delta:g}/{name}"].to_dataset())[-1].mean())
