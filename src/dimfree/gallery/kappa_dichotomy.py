"""Two Gaussians and a dipped ramp: from a small start all neurons die at r = 0, from a larger one the risk almost vanishes.

docs/theory/mean-field.md, section b: d = 320, Delta = 0.5, kappa = 0.1 and 0.4. At r = 0 the activation has a kink, so that
the PDE gets there in finite time, where R is exactly 7.25. SGD stays slightly above, by an amount that depends on the step and
not on the width. With steps of eps d = 0.016, four times those here, noise throws SGD out of the dead state within t = 10.
From the larger start the risk of SGD exceeds that of the PDE by O(1/N), because the directions of N neurons are a finite
sample: the excess is gone when one averages over directions.
"""

from typing import Any, ClassVar

import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.functions import ramps
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.gallery.two_gaussians import (
    DIP_RAMP,
    RISK,
    TIME,
    draw_pair,
    means,
    risk,
    risk_at_random_directions,
    smooth,
    two_gaussians_problem,
)
from dimfree.onepass.fields.radial import two_gaussians
from dimfree.onepass.limits.pde import DistributionalDynamics
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import TwoLayer
from dimfree.progress import PartWatcher

_D, _DELTA = 320, 0.5
_DEAD = 7.25  # ((1 + 2.5)² + (1 - 2.5)²)/2
_COLOURS = {"0.1": "#1f78b4", "0.4": "#d95f02"}


class KappaDichotomy(Entry[xr.DataTree]):
    """The PDE, and real SGD beside it."""

    name: ClassVar[str] = "kappa-dichotomy"
    title: ClassVar[str] = "Two Gaussians, dipped ramp: the scale of the start decides"
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)
    theory: AnyDescription = DistributionalDynamics()
    sgd: AnyDescription = VectorSGD()
    scales: tuple[float, float] = (0.1, 0.4)

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD of both starts; of the dead one also at a quarter of the width, and there at half the step."""
        N, eps = (800, 1e-5) if full else (200, 1.25e-5)
        low, high = self.scales
        sizes = {
            "0.1": (N, eps, low),
            "0.4": (N, eps, high),
            "narrow": (N // 4, eps, low),
            "slow": (N // 4, eps / 2, low),
        }
        cases = {}
        for name, (width, step, kappa) in sizes.items():
            problem = two_gaussians_problem(
                _D, width, _DELTA, step, kappa, 10.0, replicas=1, network=TwoLayer(activation=DIP_RAMP)
            )
            cases[name] = Case(problem, (self.sgd,))
            if name in _COLOURS:
                cases[f"theory-{name}"] = Case(smooth(problem), (self.theory,))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all norms and risks."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Two different fates, in the PDE and in SGD; what SGD adds to the dead state is of the order of the step."""
        dead, alive = (float(risk(self._theory(data, kappa))[-1, 0]) for kappa in _COLOURS)
        late = {name: self._sgd(data, name).sel(time=slice(5, None)) for name in ("0.1", "narrow", "slow")}
        excess = {name: float(risk(run).mean()) - _DEAD for name, run in late.items()}
        averaged = _averaged(self._sgd(data, "0.4"))
        living = risk(self._sgd(data, "0.4"))[-1].mean()
        norms = means(self._sgd(data, "0.4"), "r1")[-1].mean() - means(self._theory(data, "0.4"), "r1")[-1, 0]
        return (
            Claim("risk R of the PDE at d = 320, t = 10 from kappa = 0.1", dead, _DEAD - 1e-6, _DEAD + 1e-6),
            Claim("the same from kappa = 0.4", alive, 0.0138, 0.0148),
            Claim("risk R of SGD at t = 10 from kappa = 0.4", float(living), 0.0, 0.1),
            Claim("the same, averaged over directions, minus PDE", float(averaged[-1].mean()) - alive, -5e-4, 5e-4),
            Claim("mean norm of SGD minus PDE at t = 10 from kappa = 0.4", float(norms), -0.03, 0.03),
            Claim("risk R of SGD above 7.25 from kappa = 0.1, mean from t = 5 on", excess["0.1"], 0.0, 2.5),
            Claim("this excess at the full width over that at a quarter", excess["0.1"] / excess["narrow"], 0.8, 1.25),
            Claim("this excess at the step over that at half of it", excess["narrow"] / excess["slow"], 1.6, 2.5),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Risk and mean norm from both starts."""
        figure.set_size_inches(10, 4.0)
        risks, norms = figure.subplots(1, 2)
        for kappa, colour in _COLOURS.items():
            sgd, theory = self._sgd(data, kappa), self._theory(data, kappa)
            for axes, value in ((risks, risk), (norms, lambda run: means(run, "r1"))):
                draw_pair(axes, sgd, theory, value, colour, rf"$\kappa$ = {kappa}")
        crosses = {"color": _COLOURS["0.4"], "ms": 4, "label": r"$\kappa$ = 0.4: SGD, averaged over directions"}
        risks.plot(sgd["time"], _averaged(sgd).mean(axis=1), "x", **crosses)
        risks.axhline(_DEAD, color="grey", lw=0.8, ls=":", label=f"all norms zero: R = {_DEAD:g}")
        risks.set(yscale="log", xlabel=TIME, ylabel=RISK)
        norms.set(xlabel=TIME, ylabel=r"mean norm $\langle |w| \rangle$")
        risks.legend(loc="center right")
        figure.suptitle(f"{self.title} (d = {_D}, N = {sgd.sizes['unit']})")

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _sgd(self, data: xr.DataTree, case: str) -> xr.Dataset:
        return data[f"{case}/sgd"].to_dataset()

    def _theory(self, data: xr.DataTree, case: str) -> xr.Dataset:
        return data[f"theory-{case}/{self.theory.title}"].to_dataset()


def _averaged(sgd: xr.Dataset) -> Any:
    return risk_at_random_directions(sgd, two_gaussians(ramps.DIP_RAMP, _DELTA, float(_D)))
