"""Two Gaussians and a dipped ramp: from a small start all neurons die at r = 0, from a larger one the risk almost vanishes.

docs/theory/mean-field.md, section b: Delta = 0.5, kappa = 0.1 and 0.4. At r = 0 the activation has a kink, so that the PDE gets
there in finite time and R is exactly 7.25; SGD hovers above by an amount that the step decides, not the width.
"""

from typing import ClassVar

import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import Description
from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import DIP_RAMP, RISK, TIME, draw_pair, means, risk, two_gaussians_problem
from dimfree.problem.gaussians import Neurons
from dimfree.simulate.neurons import NeuronSGD
from dimfree.theory.pde import DistributionalDynamics

_DEAD = 7.25  # ((1 + 2.5)² + (1 - 2.5)²)/2
_COLOURS = {"0.1": "#1f78b4", "0.4": "#d95f02"}


class KappaDichotomy(Entry[xr.DataTree]):
    """The PDE at d = 320, and real SGD beside it."""

    name: ClassVar[str] = "kappa-dichotomy"
    title: ClassVar[str] = "Two Gaussians, dipped ramp: the scale of the start decides"
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)
    theory: Description = DistributionalDynamics()
    sgd: Description = NeuronSGD()
    scales: tuple[float, float] = (0.1, 0.4)

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD at d = 40 by default and at the documents' d = 320 with `full`."""
        d, N, few, eps = (320, 800, 200, 1e-4) if full else (40, 400, 100, 1e-4)
        low, high = self.scales
        sizes = {
            "theory/0.1": (320, 800, eps, low),
            "theory/0.4": (320, 800, eps, high),
            "0.1": (d, N, eps, low),
            "0.4": (d, N, eps, high),
            "narrow": (d, few, eps, low),
            "slow": (d, few, eps / 4, low),
        }
        cases = {}
        for name, (dim, width, step, kappa) in sizes.items():
            problem = two_gaussians_problem(dim, width, 0.5, step, kappa, 10.0, network=Neurons(activation=DIP_RAMP))
            runs = (self.theory,) if name.startswith("theory") else (self.sgd, self.theory)
            cases[name.replace("/", "-")] = Case(problem, runs)
        return cases

    def measure(self, full: bool, watch: Watcher) -> xr.DataTree:
        """All norms and risks."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Two different fates, in the PDE and in SGD; what SGD adds to the dead state is of the order of the step."""
        dead, alive = (float(risk(self._theory(data, f"theory-{k}"))[-1, 0]) for k in _COLOURS)
        end = {name: risk(self._sgd(data, name))[-1].mean() - _DEAD for name in ("0.1", "narrow", "slow")}
        living = risk(self._sgd(data, "0.4"))[-1].mean()
        norms = means(self._sgd(data, "0.4"), "r1")[-1].mean() - means(self._theory(data, "0.4"), "r1")[-1, 0]
        return (
            Claim("risk R of the PDE at d = 320, t = 10 from kappa = 0.1", dead, _DEAD - 1e-6, _DEAD + 1e-6),
            Claim("the same from kappa = 0.4", alive, 0.0138, 0.0148),
            Claim("risk R of SGD at t = 10 from kappa = 0.4", float(living), 0.0, 0.1),
            Claim("mean norm of SGD minus PDE at t = 10 from kappa = 0.4", float(norms), -0.03, 0.03),
            Claim("risk R of SGD above 7.25 at t = 10 from kappa = 0.1", float(end["0.1"]), 0.0, 2.5),
            Claim("this excess at the full width over that at a quarter", float(end["0.1"] / end["narrow"]), 0.7, 1.4),
            Claim("this excess at the step over that at a quarter of it", float(end["narrow"] / end["slow"]), 2.5, 6.0),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk and mean norm from both starts."""
        figure.set_size_inches(10, 4.0)
        risks, norms = figure.subplots(1, 2)
        for kappa, colour in _COLOURS.items():
            sgd, theory = self._sgd(data, kappa), self._theory(data, kappa)
            large = self._theory(data, f"theory-{kappa}")
            for axes, value in ((risks, risk), (norms, lambda run: means(run, "r1"))):
                draw_pair(axes, sgd, theory, value, colour, rf"$\kappa$ = {kappa}")
                axes.plot(large["time"], value(large)[:, 0], "--", color=colour, label=f"the same, PDE at d = {320}")
        risks.axhline(_DEAD, color="grey", lw=0.8, ls=":")
        risks.set(yscale="log", xlabel=TIME, ylabel=RISK)
        norms.set(xlabel=TIME, ylabel="mean norm $|w|$")
        risks.legend(loc="center right")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs."""
        return price(self.cases(full))

    def _sgd(self, data: xr.DataTree, case: str) -> xr.Dataset:
        return data[f"{case}/neurons"].to_dataset()

    def _theory(self, data: xr.DataTree, case: str) -> xr.Dataset:
        return data[f"{case}/{self.theory.name}"].to_dataset()
