"""Samples per parameter at the compute-optimal size: a constant over eight decades in phase III, a power of compute in II.

docs/theory/scaling.md, section 3: easy targets want data, not size.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.frontiers import frontier
from dimfree.progress import PartWatcher

POINTS = {"II": (1.0, 0.7), "III": (0.7, 1.2)}
_GROWTH = 0.3 / 1.7  # (alpha - beta)/(alpha + beta) in phase II


class ScalingChinchilla(Entry[xr.Dataset]):
    """Samples per parameter in two phases; without the noise of the steps (`kernel`) the ratio of phase III is not constant."""

    name: ClassVar[str] = "scaling-chinchilla"
    title: ClassVar[str] = "Samples per parameter: one number in phase III, more and more of them in phase II"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024",)
    kernel: bool = True

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Best sizes from 10^8 to 10^16."""
        compute, ratios = np.geomspace(1e8, 1e16, 17 if full else 5), []
        for number, point in enumerate(POINTS.values()):
            watch(f"phase {list(POINTS)[number]}", number / 2)
            found = frontier(*point, compute, kernel=self.kernel)
            ratios.append(found.samples() / found.size)
        return xr.Dataset(
            {"samples_per_parameter": (("phase", "compute"), np.array(ratios))},
            {"phase": list(POINTS), "compute": compute},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Constant within 5 % in III; the exponent of II."""
        ratio = data["samples_per_parameter"]
        flat = ratio.sel(phase="III").values
        logs = np.log(data["compute"].values)
        growth = float(np.polyfit(logs, np.log(ratio.sel(phase="II").values), 1)[0])
        return (
            Claim(
                "III: largest over smallest samples per parameter, C = 1e8 to 1e16",
                float(flat.max() / flat.min()),
                1,
                1.05,
            ),
            Claim("II: exponent of samples per parameter", growth, _GROWTH - 0.02, _GROWTH + 0.02),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Draw best size and best samples against compute."""
        figure.set_size_inches(6.5, 4.4)
        axes = figure.subplots()
        for name, style in (("II", "o-"), ("III", "s--")):
            alpha, beta = POINTS[name]
            values = data["samples_per_parameter"].sel(phase=name)
            axes.plot(data["compute"], values, style, mfc="white", label=f"phase {name}: α = {alpha:g}, β = {beta:g}")
        axes.set(xscale="log", yscale="log", xlabel="compute = size × samples", ylabel="samples per parameter")
        axes.legend(frameon=False)
        axes.set_title(self.title, fontsize=9)

    def seconds(self, full: bool) -> float:
        """Equivalents up to sizes of 10^9."""
        return 11.0 if full else 10.0
