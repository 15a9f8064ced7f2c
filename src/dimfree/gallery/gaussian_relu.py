"""Anisotropic Gaussians and ReLU neurons a (<w, x> + b)_+: means of a, b, r1, r2 of SGD beside the PDE.

docs/theory/mean-field.md, section b. The theory starts from the network's own neurons. The remaining difference is of order
eps d: the noise of the steps makes r2, which carries no signal, too large by about eps d/2.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import RISK, TIME, deviation, draw_pair, means, risk, smooth, two_gaussians_problem
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.progress import PartWatcher

_LETTERS = {
    "a": ("#d95f02", "$a$"),
    "bias": ("#6a3d9a", "$b$"),
    "r1": ("#1f78b4", "$r_1$"),
    "r2": ("#33a02c", "$r_2$"),
}
_ENDS = {"a": (0.17, 0.21), "bias": (0.37, 0.41), "r1": (0.46, 0.5), "r2": (0.52, 0.56)}
# deviations over eps d in 16 runs: a .61 ± .13, b .32 ± .04, r1 .12 ± .05, r2 .51 ± .03; three standard deviations are left
_OFF = {"a": (0.0, 1.0), "bias": (0.0, 0.45), "r1": (0.0, 0.3), "r2": (0.4, 0.6)}


class GaussianReLU(Entry[xr.DataTree]):
    """SGD at two steps, and the theory."""

    name: ClassVar[str] = "gaussian-relu"
    title: ClassVar[str] = "Anisotropic Gaussians, ReLU neurons: SGD and the distributional dynamics"
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)
    theory: AnyDescription = DistributionalDynamics(own_start=True)
    sgd: AnyDescription = VectorSGD()
    steps: tuple[float, float] = (2e-4, 5e-5)

    def cases(self, full: bool) -> dict[str, Case]:
        """One per step; `full` has the sizes of the documents."""
        d, s0, N = (320, 60, 800) if full else (160, 30, 300)
        network = TwoLayer(activation="relu", trained=("first-layer", "bias", "second-layer"), bias_start=1.0)
        cases = {}
        for eps in self.steps:
            problem = two_gaussians_problem(d, N, 0.4, eps, 0.8, 6.0, replicas=4, points=13, signal=s0, network=network)
            cases[f"{eps:g}"] = Case(problem, (self.sgd,))
            cases[f"theory-{eps:g}"] = Case(smooth(problem), (self.theory,))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all parameters of all neurons."""
        cases = self.cases(full)
        tree = run_cases(cases, watch)
        for name, case in cases.items():
            tree[name].attrs = {"eps_d": case.problem.time_step * case.problem.dimension}
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Where the theory ends, how far SGD is from it, and that the excess of r2 is one of the step."""
        sgd, theory = self._pair(data, self.steps[0])
        excess = [_excess(*self._pair(data, eps)) for eps in self.steps]
        noise = float(data[f"{self.steps[0]:g}"].attrs["eps_d"])
        ratio = excess[0] / excess[1] / (self.steps[0] / self.steps[1])
        return (
            *(
                Claim(f"mean {letter} of the theory at t = 6", float(means(theory, letter)[-1, 0]), *ends)
                for letter, ends in _ENDS.items()
            ),
            *(
                Claim(
                    f"largest deviation of the mean {letter} of SGD, over eps d",
                    deviation(sgd, theory, letter) / noise,
                    *bounds,
                )
                for letter, bounds in _OFF.items()
            ),
            Claim("excess of r2 at the larger step over the smaller, over the ratio of the steps", ratio, 0.7, 1.4),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Means, risk, and the excess of r2 at the two steps."""
        figure.set_size_inches(12, 3.9)
        letters, risks, excess = figure.subplots(1, 3)
        sgd, theory = self._pair(data, self.steps[0])
        for letter, (colour, symbol) in _LETTERS.items():
            draw_pair(letters, sgd, theory, lambda run, letter=letter: means(run, letter), colour, symbol)
        letters.set(xlabel=TIME, ylabel="mean over neurons", ylim=(0, 1.1))
        lines = [Line2D([], [], color=colour, label=symbol) for colour, symbol in _LETTERS.values()]
        letters.legend(handles=lines, ncols=2)
        draw_pair(risks, sgd, theory, risk, "#d95f02", "")
        risks.set(xlabel=TIME, ylabel=RISK)
        risks.legend(title=rf"$\varepsilon$ = {self.steps[0]:g}")
        for eps, marker in zip(self.steps, "os", strict=True):
            one, other = self._pair(data, eps)
            gap = means(one, "r2") - means(other.sel(time=one["time"], method="nearest"), "r2")
            error = gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1])
            excess.errorbar(
                one["time"], gap.mean(axis=1), error, fmt=marker, color="#33a02c", mfc="white", ms=4, label=f"{eps:g}"
            )
        excess.axhline(0, color="grey", lw=0.8)
        excess.set(xlabel=TIME, ylabel=r"mean $r_2$ of SGD minus PDE")
        excess.legend(title=r"step $\varepsilon$")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs; real SGD of this family was measured at one and a half times its price."""
        return 1.5 * price(self.cases(full))

    def _pair(self, data: xr.DataTree, eps: float) -> tuple[xr.Dataset, xr.Dataset]:
        return data[f"{eps:g}/sgd"].to_dataset(), data[f"theory-{eps:g}/{self.theory.title}"].to_dataset()


def _excess(sgd: xr.Dataset, theory: xr.Dataset) -> float:
    return float(means(sgd, "r2")[-1].mean() - means(theory, "r2")[-1, 0])
