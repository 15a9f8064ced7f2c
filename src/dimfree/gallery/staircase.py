"""A staircase is climbed: real batch SGD on z1 + z1z2 + z1z2z3 + z1z2z3z4 beside the dimension-free dynamics.

docs/theory/mean-field.md, section d. The documents do not give the width, batch, step and activation of their figure. Here units
are sigmoids with offset -1, none of whose derivatives vanishes, and the second layer learns ten times as fast, so that all steps
are climbed by t = 100. The DF-PDE starts at u = 0 and meets a second saddle at t = 40. Starts with weights of order d^(-1/2), as
SGD has them, leave that saddle earlier.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.hypercube import COLOURS, RISK, TIME, distance, draw_band, hypercube_problem, risk
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.hypercube.figure import product
from dimfree.onepass.limits.pde import DistributionalDynamics, OwnStart
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.progress import PartWatcher

_INF = float("inf")
_TIMES_LARGER = (1, 10, 100)  # dimensions from which theories start


class StaircaseEntry(Entry[xr.DataTree]):
    """Ten runs from ten starts; the theory from the law of the start, and from single starts at growing dimension."""

    name: ClassVar[str] = "staircase"
    title: ClassVar[str] = (
        "A merged staircase on the hypercube is climbed in times of order one: batch SGD beside the DF-PDE"
    )
    cites: ClassVar[tuple[str, ...]] = ("abbe2022",)
    sgd: AnyDescription = VectorSGD()
    pde: AnyDescription = DistributionalDynamics()
    own: AnyDescription = OwnStart()
    supports: tuple[str, ...] = ("1", "1,2", "1,2,3", "1,2,3,4")
    dimension: int = 100
    width: int = 200
    batch: int = 200
    eta: float = 0.05
    until: float = 100.0
    runs: int = 10

    def problem(self, full: bool, d: int, runs: int = 0) -> OnePassProblem:
        """`full` has more neurons and samples a step; a theory is looked at more often."""
        N, batch = (4 * self.width, 16 * self.batch) if full else (self.width, self.batch)
        sizes = (d, N, self.eta, batch, self.until)
        shown = {"runs": runs, "points": 41} if runs else {}
        return hypercube_problem(dict.fromkeys(self.supports, 1.0), *sizes, offset=-1.0, xi_a=10.0, **shown)

    def cases(self, full: bool) -> dict[str, Case]:
        """Real SGD and its theories at its dimension, and the theory that knows the start at larger ones."""
        d = 4 * self.dimension if full else self.dimension
        return {
            "sgd": Case(self.problem(full, d, self.runs), (self.sgd,)),
            "law": Case(self.problem(full, d), (self.pde,)),
            **{f"start-{more}": Case(self.problem(full, more * d), (self.own,)) for more in _TIMES_LARGER},
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        cases = self.cases(full)
        tree = run_cases(cases, watch)
        for name, case in cases.items():
            tree[name].attrs = {"d": case.problem.dimension}
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """SGD follows the theory, climbs every step, finds one coordinate after the other; the start is what d changes."""
        sgd, pde, own = self._accounts(data)
        climbed = sgd["fourier"].values[-1].mean(axis=0)
        gaps = [distance(one, pde) for one in own]
        early = self.until / 3
        return (
            Claim(
                "largest distance of the mean risk R of SGD from DF dynamics from a start",
                distance(sgd, own[0]),
                0.0,
                0.1,
            ),
            Claim(f"the same from the DF-PDE up to t = {early:.0f}", distance(sgd, pde, early), 0.0, 0.1),
            Claim("largest distance between both theories at the largest dimension", gaps[-1], 0.0, 0.08),
            Claim("the same as a part of that at the dimension of SGD", gaps[-1] / gaps[0], 0.0, 0.5),
            Claim("smallest Fourier coefficient of a step at the end", float(climbed.min()), 0.8, 1.1),
            Claim("risk R of SGD at the end", float(risk(sgd)[-1].mean()), 0.0, 0.1),
            Claim("smallest time between the discoveries of two coordinates", _least(self._found(sgd)), 0.5, _INF),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk, Fourier coefficients, weights of the coordinates; the theory beside SGD is the one from a start."""
        figure.set_size_inches(13, 4.2)
        risks, steps, sizes = figure.subplots(1, 3)
        sgd, pde, own = self._accounts(data)
        runs, time, fine = sgd.sizes["replica"], sgd["time"].values, pde["time"].values
        d = int(data["sgd"].attrs["d"])
        risks.plot(fine, risk(pde)[:, 0], color="#d95f02", lw=1.6, label="DF-PDE (start $u=0$, $d=\\infty$)")
        for n, (one, look) in enumerate(zip(own, ("--", "-.", ":"), strict=True)):
            at = int(data[f"start-{_TIMES_LARGER[n]}"].attrs["d"])
            risks.plot(
                fine, risk(one)[:, 0], look, color="#7570b3", lw=1.2, label=f"DF dynamics, a start at $d$ = {at:,}"
            )
        draw_band(risks, time, risk(sgd), "black", f"SGD, $d$ = {d}, mean of {runs} runs, 95 %")
        supports = [tuple(int(i) for i in key.split(",")) for key in self.supports]
        for n, support in enumerate(supports):
            draw_band(steps, time, sgd["fourier"].values[..., n], COLOURS[n], product(support))
            steps.plot(fine, own[0]["fourier"].values[:, 0, n], "--", color=COLOURS[n], lw=1.1)
            steps.plot(fine, pde["fourier"].values[:, 0, n], color=COLOURS[n], lw=1.1)
        for n in range(sgd.sizes["coordinate"]):
            draw_band(sizes, time, sgd["u_mean"].values[..., n], COLOURS[n], f"coordinate {n + 1}")
            sizes.plot(fine, own[0]["u_mean"].values[:, 0, n], "--", color=COLOURS[n], lw=1.1)
            sizes.plot(fine, pde["u_mean"].values[:, 0, n], color=COLOURS[n], lw=1.1)
        risks.set(ylabel=RISK, ylim=(0, None))
        steps.set(ylabel=r"Fourier coefficient $\hat f(S)$")
        sizes.set(ylabel=r"mean $|u_i|$ of the neurons")
        for axes in (steps, sizes):
            axes.set_title("empty markers: SGD, dashed: from a start, solid: DF-PDE", fontsize=8)
        for axes in (risks, steps, sizes):
            axes.set_xlabel(TIME)
            axes.legend(frameon=False)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _accounts(self, data: xr.DataTree) -> tuple[xr.Dataset, xr.Dataset, list[xr.Dataset]]:
        own = [data[f"start-{more}/{self.own.title}"].to_dataset() for more in _TIMES_LARGER]
        return data[f"sgd/{self.sgd.title}"].to_dataset(), data[f"law/{self.pde.title}"].to_dataset(), own

    def _found(self, sgd: xr.Dataset) -> Any:
        """When the mean weights of each coordinate pass 1/2, infinite where they never do."""
        sizes, time = sgd["u_mean"].mean("replica").values, sgd["time"].values
        passed = sizes > 0.5
        return np.where(passed.any(axis=0), time[np.argmax(passed, axis=0)], _INF)


def _least(times: Any) -> float:
    """The smallest difference between consecutive times; 0 if one of them never came."""
    return float(np.diff(times).min()) if np.isfinite(times).all() else 0.0
