"""The critical batch: the largest number of samples a step for which a target takes less than twice the samples of batch 1.

docs/theory/scaling.md, section 4. In phase II, where the signal decides, it is the same for every target risk; in phase III,
where the noise of the steps decides, it grows as the target falls. Every batch is run at its own best rate.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.mean_risk import steps_to
from dimfree.onepass.projected.measures import equivalent
from dimfree.onepass.projected.population import power_law
from dimfree.progress import PartWatcher

POINTS = {"II": (1.0, 0.7), "III": (0.7, 1.2)}
TARGETS = (0.03, 0.003, 0.0003)  # over the risk of the answer 0
_BATCHES = 2.0 ** np.arange(0, 7)
_SHARES = np.array([0.15, 0.25, 0.35, 0.5, 0.65])  # of the critical rate
_INPUTS, _SIZE = 1e6, 4096


class ScalingBatch(Entry[xr.Dataset]):
    """Critical batches of three targets in two phases; without the noise of the steps (`kernel`) they would not grow."""

    name: ClassVar[str] = "scaling-batch"
    title: ClassVar[str] = "The critical batch is constant in phase II and grows as the target falls in phase III"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024",)
    kernel: bool = True

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Samples to every target at every batch."""
        samples = np.empty((len(POINTS), len(TARGETS), len(_BATCHES)))
        for row, point in enumerate(POINTS.values()):
            population = power_law(*point, _INPUTS)
            found = equivalent(population, _SIZE)
            for column, target in enumerate(TARGETS):
                watch(f"phase {list(POINTS)[row]}", (row * len(TARGETS) + column) / 6)
                for number, batch in enumerate(_BATCHES):
                    limit = critical_rate(population, _SIZE, batch)
                    risk = target * population.energy / 2
                    samples[row, column, number] = batch * min(
                        steps_to(found, share * limit, batch if self.kernel else 1e15, 0.0, risk) for share in _SHARES
                    )
        return xr.Dataset(
            {"samples": (("phase", "target", "batch"), samples)},
            {"phase": list(POINTS), "target": list(TARGETS), "batch": _BATCHES},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Critical batches of the three targets."""
        flat, rising = (self._critical(data, name) for name in POINTS)
        return (
            Claim("II: largest over smallest critical batch", float(max(flat) / min(flat)), 1.0, 1.2),
            Claim(
                "III: growth of the critical batch from target 0.03 to 0.003", float(rising[1] / rising[0]), 1.2, 2.3
            ),
            Claim(
                "III: growth of the critical batch from target 0.003 to 0.0003", float(rising[2] / rising[1]), 1.3, 2.3
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Samples against the batch."""
        figure.set_size_inches(10, 4.4)
        for axes, name in zip(figure.subplots(1, 2, sharey=True), POINTS, strict=True):
            for target, marker, critical in zip(TARGETS, "osD", self._critical(data, name), strict=True):
                samples = data["samples"].sel(phase=name, target=target)
                label = f"target {target:g}: critical batch {critical:.1f}"
                axes.plot(data["batch"], samples / samples[0], marker=marker, mfc="white", label=label)
            axes.axhline(2, color="grey", ls=":")
            axes.set(xscale="log", yscale="log", xlabel="batch", title=f"phase {name}")
            axes.legend(frameon=False)
        figure.axes[0].set_ylabel("samples to the target, over those of batch 1")
        figure.suptitle(self.title, fontsize=10)

    def seconds(self, full: bool) -> float:
        """210 searches."""
        return 11.0 if full else 10.0

    def _critical(self, data: xr.Dataset, name: str) -> list[float]:
        logs = np.log(data["samples"].sel(phase=name).values)
        return [float(np.exp(np.interp(np.log(2), row - row[0], np.log(_BATCHES)))) for row in logs]
