"""Wide networks: the gap between the high-dimensional ODEs and their wide limits closes like 1/width.

docs/theory/committee.md, section 5: erf, k = 2, d = 1000, no label noise. The ODEs are taken without variance term, whose
weight rate/width vanishes in the same limit; real SGD keeps it.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import GradientFlow
from dimfree.onepass.limits.wide import Dimensionless, MeanField
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_COLOURS = ("#9ecae1", "#4292c6", "#084594")


class WideNetworks(Entry[xr.DataTree]):
    """Four accounts of one start per width."""

    name: ClassVar[str] = "wide-networks"
    title: ClassVar[str] = "Wide networks: ODEs, mean-field and dimensionless limits meet like 1/width"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023high",)
    pairs: AnyDescription = GradientFlow()
    mean_field: AnyDescription = MeanField()
    dimensionless: AnyDescription = Dimensionless()
    widths: tuple[int, ...] = (16, 64, 256)
    dimension: int = 1000

    def cases(self, full: bool) -> dict[str, Case]:
        """One case per width; the largest has only the two cheapest accounts, unless `full`."""
        cases = {}
        for p in self.widths:
            problem = OnePassProblem(
                dimension=self.dimension,
                data=Teacher(units=2, noise=0.0),
                network=TwoLayer(width=p),
                training=OnePass(learning_rate=1.0),
                run=Run(until=10.0, points=32, replicas=4 if full else 1),
            )
            cheap = (self.pairs, self.dimensionless)
            everyone = full or p < self.widths[-1]
            cases[str(p)] = Case(problem, (*cheap, self.mean_field, VectorSGD()) if everyone else cheap)
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure the risk of every account at every width."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The largest difference between two risk curves, as a power of the width."""
        ode, limit, finite = self.pairs.title, self.dimensionless.title, self.mean_field.title
        first = str(self.widths[0])
        apart = float(np.abs(_risk(data, first, finite) - _risk(data, first, limit)).max())
        return (
            Claim(f"{limit} leaves {ode} by width^x, x", _slope(self.gaps(data, limit, ode)), -1.15, -0.85),
            Claim(f"{finite} leaves {ode} by width^x, x", _slope(self.gaps(data, finite, ode)), -1.15, -0.85),
            Claim(f"{limit} leaves SGD by width^x, x", _slope(self.gaps(data, limit, "sgd")), -1.25, -0.75),
            Claim(f"{finite} and {limit} differ by at most, times sqrt(d)", apart * self.dimension**0.5, 0.0, 0.01),
        )

    def gaps(self, data: xr.DataTree, one: str, other: str) -> dict[int, float]:
        """The largest difference of two risk curves at every width that has both."""
        both = [p for p in self.widths if one in data[str(p)] and other in data[str(p)]]
        return {p: float(np.abs(_risk(data, str(p), one) - _risk(data, str(p), other)).max()) for p in both}

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk curves on the left, gaps on the right."""
        figure.set_size_inches(10.5, 4.2)
        risk, gap = figure.subplots(1, 2)
        ode, limit, finite = self.pairs.title, self.dimensionless.title, self.mean_field.title
        styles = {ode: "-", limit: ":", finite: "--", "sgd": "o"}
        for p, colour in zip(self.widths, _COLOURS, strict=True):
            for name, line in styles.items():
                if name in data[str(p)]:
                    run = data[f"{p}/{name}"].to_dataset().isel(time=slice(1, None, 2 if name == "sgd" else 1))
                    risk.plot(run["time"], run["risk"].mean("replica"), line, color=colour, mfc="white", ms=4)
        risk.set(xscale="log", yscale="log", xlabel="time $t$", ylabel="population risk", xlim=(0.05, None))
        marks = [
            risk.plot([], [], line, color="black", mfc="white", ms=4, label=name)[0] for name, line in styles.items()
        ]
        marks += [
            risk.plot([], [], color=c, lw=3, label=f"width {p}")[0] for p, c in zip(self.widths, _COLOURS, strict=True)
        ]
        risk.legend(handles=marks, ncols=2, loc="lower left")
        for one, other, marker, colour in (
            (limit, ode, "o", "#e7298a"),
            (finite, ode, "x", "#1b9e77"),
            (limit, "sgd", "s", "black"),
        ):
            gaps = self.gaps(data, one, other)
            label = f"{one} from {other}, $p^{{{_slope(gaps):.2f}}}$"
            gap.plot(list(gaps), list(gaps.values()), marker, color=colour, mfc="none", ms=7, label=label)
        first = self.gaps(data, limit, ode)[self.widths[0]]
        gap.plot(
            self.widths, [first * self.widths[0] / p for p in self.widths], "--", color="grey", label=r"$\propto 1/p$"
        )
        gap.set(xscale="log", yscale="log", xlabel="width $p$", ylabel="largest difference of the risks")
        gap.set_xticks(self.widths, [str(p) for p in self.widths])
        gap.set_xticks([], minor=True)
        gap.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


def _risk(data: xr.DataTree, case: str, name: str) -> np.ndarray:
    return np.asarray(data[f"{case}/{name}"]["risk"].mean("replica"))


def _slope(values: dict[int, float]) -> float:
    return power(list(values), list(values.values()))
