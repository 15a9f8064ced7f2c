"""Compute-optimal exponents in five phases, measured at a budget and predicted for budgets that grow without end.

docs/theory/scaling.md, section 3. In Ia, Ib, II and III the two agree at C = 10^10. In IVa they do not at any compute that one
can run: p is 0.60 at 10^6 and comes down to 0.5 only at 10^18.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.frontiers import exponents_at, frontier
from dimfree.onepass.projected.phases import phase
from dimfree.progress import PartWatcher
from dimfree.questions.scaling.figure import draw_plane
from dimfree.readings.frontier import Frontier

POINTS = {"Ia": (0.75, 0.3), "Ib": (0.4, 0.3), "II": (1.0, 0.7), "III": (0.7, 1.2)}
SLOW = (0.4, 0.8)  # IVa
_AT, _EARLY, _LATE = 1e10, 1e6, 1e18
_COLOURS = {"Ia": "#1f78b4", "Ib": "#33a02c", "II": "#6a3d9a", "III": "#d95f02", "IVa": "#e31a1c"}


class ScalingPhases(Entry[xr.Dataset]):
    """Frontiers of one point in each phase; without the noise of the steps, phase III is missed."""

    name: ClassVar[str] = "scaling-phases"
    title: ClassVar[str] = "Compute-optimal exponents in five phases, and one that is not yet there"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "maloney2022")
    kernel: bool = True
    measured: bool = True  # if false, wrong on purpose: asymptotic exponents stand in for measured ones

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Frontiers over five decades, that of IVa up to 10^18."""
        compute = {name: np.geomspace(1e6, 10**10.5, 10) for name in POINTS}
        if full:
            compute = {name: np.geomspace(1e6, 10**14.5, 18) for name in POINTS}
        compute["IVa"] = 10.0 ** np.arange(5.5, 19, 1.0)
        found = {}
        for number, (name, budgets) in enumerate(compute.items()):
            watch(f"phase {name}", number / len(compute))
            one = frontier(*(POINTS | {"IVa": SLOW})[name], budgets, kernel=self.kernel)
            for what in ("compute", "risk", "size"):
                found[f"{what}_{name}"] = (f"budget_{name}", getattr(one, what))
        return xr.Dataset(found)

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """p within 0.03 and q within 0.02 at 10^10, and IVa."""
        listed = []
        for name, point in POINTS.items():
            p, q = self._exponents(data, name, point, _AT)
            wanted = phase(*point)
            listed.append(Claim(f"p in phase {name} at C = 1e10", p, wanted.size - 0.03, wanted.size + 0.03))
            listed.append(Claim(f"q in phase {name} at C = 1e10", q, wanted.loss - 0.02, wanted.loss + 0.02))
        early, late = (self._exponents(data, "IVa", SLOW, C)[0] for C in (_EARLY, _LATE))
        listed.append(Claim("p in phase IVa at C = 1e6, asymptotically 0.5", early, 0.57, 0.63))
        listed.append(Claim("p in phase IVa at C = 1e18", late, 0.48, 0.52))
        return tuple(listed)

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Frontiers over their asymptotic slopes, and the plane."""
        figure.set_size_inches(12, 4.8)
        left, right = figure.subplots(1, 2)
        for name, point in (POINTS | {"IVa": SLOW}).items():
            one, colour = _frontier(data, name), _COLOURS[name]
            left.plot(one.compute, one.risk, color=colour, label=f"{name}: α = {point[0]:g}, β = {point[1]:g}")
            slope = one.risk[-1] * (one.compute / one.compute[-1]) ** -phase(*point).loss
            left.plot(one.compute, slope, "--", color=colour, lw=0.9)
            right.plot(*point, "o", color="black", mfc=colour, ms=8)
        left.set(xscale="log", yscale="log", xlabel="compute = size × steps", ylabel="lowest population risk")
        left.legend(frameon=False, title="dashed: asymptotic slope")
        draw_plane(right)
        figure.suptitle(self.title, fontsize=10)

    def seconds(self, full: bool) -> float:
        """A few tens of equivalents for every frontier."""
        return 20.0 if full else 12.0

    def _exponents(self, data: xr.Dataset, name: str, point: tuple[float, float], budget: float) -> tuple[float, float]:
        if not self.measured:
            return phase(*point)[2:]
        return exponents_at(_frontier(data, name), budget)


def _frontier(data: xr.Dataset, name: str) -> Frontier:
    compute, risk, size = (data[f"{what}_{name}"].values for what in ("compute", "risk", "size"))
    return Frontier(compute, risk, size)
