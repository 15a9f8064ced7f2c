"""The error of the mean-field limit falls with the width at a rate that does not depend on the dimension.

docs/theory/mean-field.md, section a, the test bed of `four_dynamics`. The step is so small that eps d is the same at every
dimension: then the noise of SGD does not grow with the dimension either, and a larger dimension costs more samples but
nothing else.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.four_dynamics import UNTIL, erf_problem, slope_of
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart
from dimfree.progress import PartWatcher
from dimfree.questions.couplings.slopes import slopes
from dimfree.readings.power_laws import Fit, fit

_BLUES = ("#9ecae1", "#4292c6", "#084594", "#041f3a")
_PANELS = {
    "risk PDE-ND": "risk, PDE to ND",
    "distance ND-PD": "largest distance of a neuron, ND to PD",
    "distance GD-SGD": "largest distance of a neuron, GD to SGD",
}


class DimensionFree(Entry[xr.DataTree]):
    """Errors against width at several dimensions."""

    name: ClassVar[str] = "dimension-free"
    title: ClassVar[str] = "Dimension-free: the mean-field error depends on the width, not on the dimension"
    cites: ClassVar[tuple[str, ...]] = ("mei2019",)
    law: GaussianStart | None = None  # of the PDE's cloud; None is the law of the start
    sgd: VectorSGD = VectorSGD()
    widths: tuple[int, ...] = (20, 40, 80)
    dimensions: tuple[int, ...] = (15, 60, 240)
    samples: float = 0.3  # eps d: the time that d steps take
    scaled: bool = True  # whether the step shrinks like 1/d; if not, all dimensions have the step of the smallest one
    seeds: int = 8

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """A sweep over widths at every dimension; `full` adds a width and a dimension."""
        widths = (*self.widths, 4 * self.widths[-1]) if full else self.widths
        dimensions = (*self.dimensions, 4 * self.dimensions[-1]) if full else self.dimensions
        trees = {}
        for n, d in enumerate(dimensions):

            def report(text: str, fraction: float) -> None:
                watch(text, (n + fraction) / len(dimensions))  # noqa: B023

            step = self.samples / (d if self.scaled else dimensions[0])
            problem = erf_problem(widths[0], step, d)
            found = slopes(problem, UNTIL, widths=widths, seeds=self.seeds, law=self.law, sgd=self.sgd, watch=report)
            trees[str(d)] = found.sweeps[0].dataset()
        return xr.DataTree.from_dict(trees)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Neurons leave the limit like N^(-1/2) at every dimension; no error grows with the dimension."""
        falls = [slope_of(data[str(d)].to_dataset(), "width", "distance ND-PD").value for d in dimensions_of(data)]
        return (
            Claim("largest distance ND-PD grows like width^x, largest x of all dimensions", max(falls), -0.75, -0.35),
            Claim("the same, smallest x", min(falls), -0.75, -0.35),
            *(
                Claim(f"{quantity} grows like dimension^x, x", along_dimensions(data, quantity).value, -0.35, 0.15)
                for quantity in _PANELS
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """One panel per error, one colour per dimension."""
        figure.set_size_inches(12, 4.0)
        for (quantity, title), axes in zip(_PANELS.items(), figure.subplots(1, len(_PANELS)), strict=True):
            for d, colour in zip(dimensions_of(data), _BLUES, strict=False):
                error = _error(data, d, quantity)
                mean, spread = error.mean("seed"), error.std("seed", ddof=1) / np.sqrt(error.sizes["seed"])
                axes.errorbar(mean["width"], mean, spread, fmt="o-", color=colour, ms=5, capsize=2, label=f"d = {d}")
            x = np.asarray(mean["width"])
            if quantity == "distance GD-SGD":  # flat: on its own scale nothing but noise would be seen
                axes.set_ylim(float(mean[0]) / 4, float(mean[0]) * 4)
            else:
                guide = 1.5 * float(mean[0]) * np.sqrt(x[0] / x)
                axes.plot(x, guide, "--", color="grey", label=r"$\propto N^{-1/2}$")
            power = along_dimensions(data, quantity)
            axes.set(xscale="log", yscale="log", xlabel="width $N$", ylabel=title)
            axes.set_title(f"$d$-slope {power.value:.2f} ± {power.standard_error:.2f}")
            axes.set_xticks(x, [f"{value:g}" for value in x])
            axes.set_xticks([], minor=True)
            axes.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """One compilation per width and dimension, and steps in proportion to the dimension."""
        return 7.5 * len(self.widths) * len(self.dimensions) + (400.0 if full else 15.0)


def dimensions_of(data: xr.DataTree) -> tuple[int, ...]:
    """The dimensions that were measured, in order."""
    return tuple(sorted(int(name) for name in data.children))


def along_dimensions(data: xr.DataTree, quantity: str) -> Fit:
    """The power of the dimension with which an error grows, in the mean over widths of its logarithm."""
    dimensions = dimensions_of(data)
    errors = [_error(data, d, quantity).transpose("width", "seed").values for d in dimensions]
    # relative to the mean at its width, so that every width counts alike
    level = np.mean([one.mean(axis=1) for one in errors], axis=0)
    return fit(np.array(dimensions, dtype=float), np.array([(one / level[:, None]).mean(axis=0) for one in errors]))


def _error(data: xr.DataTree, d: int, quantity: str) -> xr.DataArray:
    return data[str(d)].to_dataset()["error"].sel(quantity=quantity)
