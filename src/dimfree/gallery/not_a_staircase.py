"""No staircase: on z1 + z1z2z3 the dimension-free dynamics stop at a plateau that real SGD leaves after a time that grows with d.

docs/theory/mean-field.md, section d. From u = 0 the weights of z2 and z3 stay there for ever, and R >= 1. Weights of order
d^(-1/2) grow exponentially, because each of them needs the other: a network escapes after a time of order log d.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.hypercube import RISK, TIME, distance, draw_band, hypercube_problem, risk
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.hypercube.section import Hypercube
from dimfree.onepass.kinds.hypercube.staircases import plateau
from dimfree.onepass.limits.pde import DistributionalDynamics, OwnStart
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher

_INF = float("inf")
_ESCAPED = 0.75  # of the plateau
_REAL = ("#1f78b4", "#33a02c", "#6a3d9a", "#e31a1c")


class NotAStaircase(Entry[xr.DataTree]):
    """Real SGD at a few dimensions, theories from its start at more, the DF-PDE, and a staircase with one more step."""

    name: ClassVar[str] = "not-a-staircase"
    title: ClassVar[str] = (
        "No merged staircase: the DF-PDE stays at a plateau, and SGD leaves it after a time of order log d"
    )
    cites: ClassVar[tuple[str, ...]] = ("abbe2022",)
    sgd: AnyDescription = VectorSGD()
    pde: AnyDescription = DistributionalDynamics()
    own: AnyDescription = OwnStart()
    supports: tuple[str, ...] = ("1", "1,2,3")
    mended: tuple[str, ...] = ("1", "1,2", "1,2,3")
    dimensions: tuple[int, ...] = (100, 200, 800, 3200, 12800)
    real: tuple[int, ...] = (100, 200)  # at which SGD runs too
    width: int = 200
    eta: float = 0.05
    until: float = 60.0
    runs: int = 4

    def cases(self, full: bool) -> dict[str, Case]:
        """`full` runs SGD at dimensions four times as large too; a batch is a step's share of d."""
        ones, cases = dict.fromkeys(self.supports, 1.0), {}
        run_at = {*self.real, *(4 * d for d in self.real)} if full else {*self.real}
        for d in self.dimensions:
            sizes = (d, self.width, self.eta, d, self.until)
            if d in run_at:
                cases[f"sgd-{d}"] = Case(hypercube_problem(ones, *sizes, runs=self.runs, points=41), (self.sgd,))
            cases[f"start-{d}"] = Case(hypercube_problem(ones, *sizes), (self.own,))
        sizes = (self.dimensions[0], self.width, self.eta, self.dimensions[0], self.until)
        cases["law"] = Case(hypercube_problem(ones, *sizes), (self.pde,))
        cases["mended"] = Case(hypercube_problem(dict.fromkeys(self.mended, 1.0), *sizes), (self.pde,))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The plateau is where it is predicted, no rounding leaves it, SGD does as its start says, and later in larger d."""
        pde, mended = (data[f"{case}/{self.pde.title}"].to_dataset() for case in ("law", "mended"))
        height, last = self._plateau(), float(risk(pde)[-1, 0])
        gaps = [distance(self._sgd(data, d), self._own(data, d)) for d in self._real(data)]
        least, unevenness = _growth(self._escapes(data), self.dimensions)
        return (
            Claim("risk R of the DF-PDE at the end above the predicted plateau", last - height, -1e-9, 0.01),
            Claim(
                "largest mean weight of a coordinate out of reach",
                float(pde["u_mean"].values[..., 1:].max()),
                0.0,
                1e-8,
            ),
            Claim("Fourier coefficient of z1z2z3 at the end, with z1z2 as one more step", self._last(mended), 0.5, 1.0),
            Claim("largest distance of the mean risk R of SGD from DF dynamics from a start", max(gaps), 0.0, 0.08),
            Claim("smallest growth of the escape time with log d", least, 1.0, _INF),
            Claim(
                "largest growth of the escape time with log d, over the mean",
                unevenness,
                1.0,
                1.5,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk, the weights that decide, and when networks escape."""
        figure.set_size_inches(13, 4.2)
        risks, sizes, escapes = figure.subplots(1, 3)
        pde = data[f"law/{self.pde.title}"].to_dataset()
        shades = np.linspace(0.85, 0.25, len(self.dimensions))
        for d, shade in zip(self.dimensions, shades, strict=True):
            own, grey = self._own(data, d), str(1 - shade)
            risks.plot(
                own["time"], risk(own)[:, 0], "--", color=grey, lw=1.1, label=f"DF dynamics, a start at $d$ = {d:,}"
            )
            sizes.plot(own["time"], own["u_mean"].values[:, 0, 1], "--", color=grey, lw=1.1)
        for d, colour in zip(self._real(data), _REAL, strict=False):
            sgd = self._sgd(data, d)
            label = f"SGD, $d$ = {d}, mean of {sgd.sizes['replica']}, 95 %"
            draw_band(risks, sgd["time"].values, risk(sgd), colour, label)
            draw_band(sizes, sgd["time"].values, sgd["u_mean"].values[..., 1], colour, label)
        risks.plot(pde["time"], risk(pde)[:, 0], color="#d95f02", lw=1.8, label="DF-PDE")
        risks.axhline(self._plateau(), color="grey", ls=":", lw=1, label="predicted plateau")
        sizes.plot(
            pde["time"], np.maximum(pde["u_mean"].values[:, 0, 1], 1e-18), color="#d95f02", lw=1.8, label="DF-PDE"
        )
        sizes.set(ylabel=r"mean $|u_2|$ of the neurons", yscale="log", ylim=(1e-3, 5))
        sizes.set_title("DF-PDE: below $10^{-8}$, out of the picture", fontsize=8)
        times = self._escapes(data)
        escapes.plot(self.dimensions, times, "s--", color="black", mfc="white", label="DF dynamics from a start")
        for d, colour in zip(self._real(data), _REAL, strict=False):
            found = [
                _escape(self._sgd(data, d)["time"].values, one, self._plateau()) for one in risk(self._sgd(data, d)).T
            ]
            escapes.plot([d] * len(found), found, "o", color=colour, mfc="none", label=f"SGD, $d$ = {d}")
        escapes.set(
            xscale="log", xlabel="dimension $d$", ylabel=rf"time at which $R$ passes {_ESCAPED:g} of the plateau"
        )
        risks.set(ylabel=RISK, ylim=(0, None))
        for axes in (risks, sizes):
            axes.set_xlabel(TIME)
        risks.legend(frameon=False, fontsize=7)
        escapes.legend(frameon=False)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _plateau(self) -> float:
        """R of the prediction, twice the canonical risk."""
        return 2 * plateau(Hypercube(coefficients=dict.fromkeys(self.supports, 1.0)))

    def _sgd(self, data: xr.DataTree, d: int) -> xr.Dataset:
        return data[f"sgd-{d}/{self.sgd.title}"].to_dataset()

    def _own(self, data: xr.DataTree, d: int) -> xr.Dataset:
        return data[f"start-{d}/{self.own.title}"].to_dataset()

    def _real(self, data: xr.DataTree) -> list[int]:
        return [d for d in self.dimensions if f"sgd-{d}" in data.children]

    def _last(self, run: xr.Dataset) -> float:
        return float(run["fourier"].values[-1, 0, -1])

    def _escapes(self, data: xr.DataTree) -> Any:
        """The times at which the theory from a start leaves the plateau, at every dimension."""
        own = [self._own(data, d) for d in self.dimensions]
        return np.array([_escape(one["time"].values, risk(one)[:, 0], self._plateau()) for one in own])


def _growth(times: Any, dimensions: tuple[int, ...]) -> tuple[float, float]:
    """The smallest growth of times with log d, and the largest over the mean; no numbers where one never came."""
    if not np.isfinite(times).all() or times[-1] <= times[0]:
        return float("nan"), float("nan")
    steps = np.diff(times) / np.diff(np.log(dimensions))
    return float(steps.min()), float(steps.max() / steps.mean())


def _escape(time: Any, R: Any, height: float) -> float:
    """When R passes a part of the plateau for good, between saved times; infinite where it does not."""
    below = _ESCAPED * height > R
    if not below[-1]:
        return _INF
    first = int(np.argmax(below))
    share = (R[first - 1] - _ESCAPED * height) / (R[first - 1] - R[first])
    return float(time[first - 1] + share * (time[first] - time[first - 1]))
