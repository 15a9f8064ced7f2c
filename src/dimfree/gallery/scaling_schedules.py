"""Schedules of the learning rate under power laws: warm-up-stable-decay wins without label noise, cosine with it.

docs/theory/scaling.md, section 4: final risks after 4000 steps, each schedule with its own best base rate.
"""

from itertools import pairwise
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.frontiers import inputs_of
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.population import power_law
from dimfree.onepass.projected.schedules import rates
from dimfree.onepass.projected.step_by_step import stepwise_risks
from dimfree.progress import PartWatcher

POINTS = {"Ia": (0.75, 0.3, 512), "II": (1.0, 0.7, 256), "III": (0.7, 1.2, 1024)}
NOISES, SHAPES, STEPS = (0.0, 0.1), ("constant", "cosine", "wsd"), 4000
_SHARES = np.array([0.012, 0.02, 0.035, 0.06, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9])  # of the critical rate


class ScalingSchedules(Entry[xr.Dataset]):
    """Every schedule at its own best base rate; with the best constant rate as base rate of all, their order is another one."""

    name: ClassVar[str] = "scaling-schedules"
    title: ClassVar[str] = "Which schedule ends lowest: warm-up-stable-decay without label noise, cosine with it"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024",)
    tuned: bool = True

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Final risks of all base rates."""
        risk = np.empty((len(POINTS), len(NOISES), len(SHAPES), len(_SHARES)))
        for row, (name, (alpha, beta, size)) in enumerate(POINTS.items()):
            watch(f"phase {name}", row / len(POINTS))
            population = power_law(alpha, beta, inputs_of(alpha, size))
            found, limit = equivalent(population, size), critical_rate(population, size)
            ones, last = np.ones(STEPS), np.array([STEPS])
            for column, noise in enumerate(NOISES):
                for number, shape in enumerate(SHAPES):
                    factors = rates(shape, STEPS)
                    risk[row, column, number] = [
                        stepwise_risks(found, share * limit * factors, ones, noise, last)[0] for share in _SHARES
                    ]
        coordinates = {"phase": list(POINTS), "noise": list(NOISES), "schedule": list(SHAPES), "share": _SHARES}
        return xr.Dataset({"risk": (tuple(coordinates), risk)}, coordinates)

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Pairs that must be in order: the first over the second is below 1."""
        listed = []
        for noise, order in ((0.0, ("wsd", "cosine", "constant")), (0.1, ("cosine", "wsd", "constant"))):
            for name in POINTS:
                ends = self._ends(data, name, noise)
                for lower, higher in pairwise(order):
                    statement = f"{name}, label noise {noise:g}: {lower} over {higher}"
                    listed.append(Claim(statement, ends[lower] / ends[higher], 0.0, 0.999))
        return tuple(listed)

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Final risks against the base rate."""
        figure.set_size_inches(12, 6.5)
        panels = figure.subplots(2, 3, sharex=True)
        for column, name in enumerate(POINTS):
            for row, noise in enumerate(NOISES):
                axes = panels[row, column]
                for shape, style in zip(SHAPES, ("o-", "s--", "D:"), strict=True):
                    axes.plot(
                        _SHARES,
                        data["risk"].sel(phase=name, noise=noise, schedule=shape),
                        style,
                        mfc="white",
                        label=shape,
                    )
                axes.set(xscale="log", yscale="log", title=f"phase {name}, label noise {noise:g}")
        for axes in panels[1]:
            axes.set_xlabel("base rate over the critical rate")
        for axes in panels[:, 0]:
            axes.set_ylabel(f"risk after {STEPS} steps")
        panels[0, 0].legend(frameon=False)
        figure.suptitle(self.title, fontsize=10)

    def seconds(self, full: bool) -> float:
        """About two hundred runs of 4000 steps."""
        return 11.0 if full else 10.0

    def _ends(self, data: xr.Dataset, name: str, noise: float) -> dict[str, float]:
        risks = data["risk"].sel(phase=name, noise=noise).values
        chosen = risks.argmin(axis=1) if self.tuned else np.full(len(SHAPES), risks[0].argmin())
        return {shape: float(row[share]) for shape, row, share in zip(SHAPES, risks, chosen, strict=True)}
