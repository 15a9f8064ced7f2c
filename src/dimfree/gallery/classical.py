"""The classical limit: at fixed dimension and width SGD becomes gradient flow as its learning rate vanishes.

docs/theory/committee.md, sections 2 and 4 (s > 0). The documents show k = 2 and k = 5 at width 10, noise 1e-3 and learning
rate 0.05, where the risk falls, rests on a plateau on which all units do the same, and falls again when they specialise.
Larger rates from the same start, which they do not show, are measured here, too: there SGD deviates from gradient flow like
sqrt(rate).
"""

from typing import Any, ClassVar

import equinox as eqx
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import GradientFlow
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_INF = float("inf")


class Classical(Entry[xr.DataTree]):
    """Gradient flow against SGD at falling rates, from one start."""

    cites: ClassVar[tuple[str, ...]] = ("robbins1951", "saad1995", "veiga2022")
    units: eqx.AbstractVar[int]
    until: eqx.AbstractVar[float]
    theory: eqx.AbstractVar[AnyDescription]
    rates: ClassVar[tuple[float, ...]] = (0.8, 0.2, 0.05)  # the last is the documents'

    def cases(self, full: bool) -> dict[str, Case]:
        """One per rate; `full` raises the dimension and the number of replicas."""
        base = OnePassProblem(
            dimension=100 if full else 20,
            data=Teacher(units=self.units, noise=1e-3),
            network=TwoLayer(width=10),
            run=Run(until=1000.0 if full else self.until, replicas=16 if full else 8, points=40),
        )
        problems = {f"{rate:g}": base.replace(training=OnePass(learning_rate=rate)) for rate in self.rates}
        return {rate: Case(problem, (self.theory, VectorSGD())) for rate, problem in problems.items()}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Risk and overlaps along every run."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """SGD leaves gradient flow like the root of its rate; there is a plateau, and specialisation ends it."""
        slope = power(self.rates, [self.deviation(data, rate) for rate in self.rates])
        sgd, theory = self._pair(data, self.rates[-1])
        gap = np.abs(np.log(sgd["risk"].mean("replica") / theory["risk"].mean("replica"))).mean()
        steepness, special = _steepness(sgd), _specialisation(sgd)
        rest = _plateau(steepness)
        return (
            Claim("the overlaps leave the theory like rate^x, x", float(slope), 0.35, 0.65),
            Claim("mean |log(risk of SGD / risk of the theory)| at rate 0.05", float(gap), 0.0, 0.02),
            Claim("d log(risk)/d log(t) on the plateau", float(steepness[rest]), -0.3, 0.0),
            Claim("the same where specialisation is fastest", float(steepness[rest:].min()), -_INF, -2.0),
            Claim("specialisation of the units at the end", float(special[-1]), 0.25, 1.0),
        )

    def deviation(self, data: xr.DataTree, rate: float) -> float:
        """Root mean square of M of SGD minus M of the theory, over times, units and replicas."""
        sgd, theory = self._pair(data, rate)
        return float(np.sqrt(((sgd["M"] - theory["M"].isel(replica=0)) ** 2).mean()))

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk, overlaps with the first teacher, and the deviation against the rate."""
        figure.set_size_inches(12, 3.9)
        risk, overlaps, deviation = figure.subplots(1, 3)
        sgd, theory = (one.isel(time=slice(1, None)) for one in self._pair(data, self.rates[-1]))
        risk.plot(theory["time"], theory["risk"].isel(replica=0), color="#7570b3", label=self.theory.title)
        for rate, marker in zip(self.rates, "^so", strict=True):
            run = self._pair(data, rate)[0].isel(time=slice(1, None))
            risk.plot(
                run["time"],
                run["risk"].mean("replica"),
                marker,
                color="black",
                mfc="white",
                ms=4,
                label=f"SGD, rate {rate:g}",
            )
        risk.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="population risk (without label noise)")
        risk.legend()
        for r, colour in enumerate(("#1f78b4", "#d95f02", "#33a02c", "#e31a1c", "#6a3d9a")[: self.units]):
            overlaps.plot(theory["time"], theory["M"].isel(replica=0, teacher=r), color=colour, lw=1)
            overlaps.plot(sgd["time"][::2], sgd["M"].mean("replica").isel(teacher=r)[::2], "o", color=colour, ms=2)
        overlaps.set(
            xscale="log", xlabel="time $t$", ylabel="overlap $M_{ir}$", title="colour: teacher unit; dots: SGD"
        )
        values = [self.deviation(data, rate) for rate in self.rates]
        deviation.plot(self.rates, values, "o", color="black", label="SGD minus theory")
        guide = values[-1] * np.sqrt(np.array(self.rates) / self.rates[-1])
        deviation.plot(self.rates, guide, "--", color="grey", label=r"$\propto\sqrt{\mathrm{rate}}$")
        deviation.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="rms deviation of $M$")
        deviation.set_xticks(self.rates, [f"{rate:g}" for rate in self.rates])
        deviation.set_xticks([], minor=True)
        deviation.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _pair(self, data: xr.DataTree, rate: float) -> tuple[xr.Dataset, xr.Dataset]:
        return data[f"{rate:g}/sgd"].to_dataset(), data[f"{rate:g}/{self.theory.title}"].to_dataset()


class ClassicalK2(Classical):
    """Two teacher units."""

    name: ClassVar[str] = "classical-k2"
    title: ClassVar[str] = "Classical limit, k = 2: SGD becomes gradient flow as its rate vanishes"
    units: int = 2
    until: float = 300.0
    theory: AnyDescription = GradientFlow()


class ClassicalK5(Classical):
    """Five teacher units: a longer plateau."""

    name: ClassVar[str] = "classical-k5"
    title: ClassVar[str] = "Classical limit, k = 5: a longer plateau before the units specialise"
    units: int = 5
    until: float = 800.0
    theory: AnyDescription = GradientFlow()


def _steepness(run: xr.Dataset) -> Any:
    """d log(risk) / d log(t) of the mean curve, between saved times."""
    curve = run["risk"].mean("replica").isel(time=slice(1, None))
    return np.gradient(np.log(curve.values), np.log(curve["time"].values))


def _plateau(steepness: Any) -> int:
    """Where the curve is flattest after its first fall."""
    fall = int(np.argmax(steepness < 0.5 * steepness[: len(steepness) * 2 // 3].min()))
    return fall + int(np.argmax(steepness[fall:-3]))


def _specialisation(run: xr.Dataset) -> Any:
    """Mean over units of the largest overlap minus the mean one, in units of the student's norm."""
    M, Q = run["M"], run["Q"].values
    norms = np.sqrt(np.diagonal(Q, axis1=-2, axis2=-1))
    return ((M.max("teacher") - M.mean("teacher")) / norms).mean(("replica", "unit")).values
