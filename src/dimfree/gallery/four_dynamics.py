"""From SGD to its mean-field limit in four steps, each with its own rate (docs/theory/mean-field.md, section a).

Erf neurons with second layer 1, y = erf(<w*, x>/sqrt(2)) with |w*| = 2, weights of scale 1, at time 4. PDE, nonlinear dynamics,
particle dynamics, gradient descent and SGD start from the same weights, so every error is measured on its own.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart
from dimfree.progress import PartWatcher
from dimfree.questions.couplings.answer import DYNAMICS, couplings
from dimfree.questions.couplings.slopes import at, slopes
from dimfree.readings.power_laws import Fit, fit

UNTIL = 4.0
WIDTH, STEP, DIMENSION = 50, 0.01, 30
COLOURS = {"ND-PD": "#1b9e77", "PD-GD": "#7570b3", "GD-SGD": "#d95f02"}
_LINES = {"PDE": ("#1b9e77", "-"), "ND": ("#66a61e", "--"), "PD": ("#7570b3", "-."), "GD": ("#e7298a", ":")}
_SWEEPS = {"width": "width $N$", "step": r"step $\varepsilon$", "dimension": "dimension $d$"}


def erf_problem(width: int = WIDTH, step: float = STEP, dimension: int = DIMENSION) -> OnePassProblem:
    """The problem of the sheet's table."""
    base = OnePassProblem(data=Teacher(units=1, overlap=((4.0,),), noise=0.0), start=GaussianStart(scale=1.0))
    return at(base, width, step, dimension)


class FourDynamics(Entry[xr.DataTree]):
    """Errors between neighbouring dynamics against width, step and dimension."""

    name: ClassVar[str] = "four-dynamics"
    title: ClassVar[str] = "From SGD to its mean-field limit in four steps: what each of them costs"
    cites: ClassVar[tuple[str, ...]] = ("mei2018", "mei2019")
    law: GaussianStart | None = None  # of the PDE's cloud; None is the law of the start
    sgd: VectorSGD = VectorSGD()
    widths: tuple[int, ...] = (25, 50, 100)
    steps: tuple[float, ...] = (0.005, 0.01, 0.02, 0.04)
    dimensions: tuple[int, ...] = (15, 30, 60)
    seeds: int = 8

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """All sweeps, and the risks over time in the middle of them; `full` is the sheet's table."""
        found = slopes(
            erf_problem(),
            UNTIL,
            widths=(*self.widths, 2 * self.widths[-1]) if full else self.widths,
            steps=self.steps,
            dimensions=(*self.dimensions, 2 * self.dimensions[-1]) if full else self.dimensions,
            seeds=self.seeds,
            law=self.law,
            sgd=self.sgd,
            watch=watch,
        )
        curves = couplings(
            erf_problem(), UNTIL, seeds=self.seeds, points=20, law=self.law, sgd=self.sgd, budget=float("inf")
        )
        return xr.DataTree.from_dict(
            {"curves": curves.datasets()["couplings"], **{sweep.axis: sweep.dataset() for sweep in found.sweeps}}
        )

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The rates of the theorems, as the distances of the neurons show them, and the fall of the PDE's risk."""
        pde = data["curves/risk"].sel(dynamics="PDE").isel(seed=0)
        return (
            _claim(data, "ND-PD", "width", -0.6, -0.35),
            _claim(data, "ND-PD", "dimension", -0.2, 0.1),
            _claim(data, "PD-GD", "step", 0.97, 1.03),
            _claim(data, "PD-GD", "width", -0.15, 0.15),
            _claim(data, "GD-SGD", "step", 0.45, 0.65),
            _claim(data, "GD-SGD", "width", -0.15, 0.2),
            _claim(data, "GD-SGD", "dimension", 0.3, 0.6),
            Claim("largest rise of the risk of the PDE between two times", float(pde.diff("time").max()), -np.inf, 0.0),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks over time, and the largest distance of a neuron in the three sweeps."""
        figure.set_size_inches(11, 7.6)
        panels = figure.subplots(2, 2)
        _draw_curves(data, panels[0, 0])
        for axis, axes in zip(_SWEEPS, panels.ravel()[1:], strict=True):
            draw_sweep(data[axis].to_dataset(), axis, axes, [f"distance {gap}" for gap in COLOURS])
            axes.set(xlabel=_SWEEPS[axis], ylabel="largest distance of a neuron at $t$ = 4")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Count one compilation per width and dimension; the runs themselves are short."""
        shapes = len({(n, DIMENSION) for n in self.widths} | {(WIDTH, d) for d in self.dimensions})
        return 16.0 * (1 + shapes) + (90.0 if full else 15.0)


def slope_of(data: xr.Dataset, axis: str, quantity: str) -> Fit:
    """The power with which an error grows along a sweep."""
    return fit(data[axis].values, data["error"].sel(quantity=quantity).transpose(axis, "seed").values)


def draw_sweep(data: xr.Dataset, axis: str, axes: Axes, quantities: list[str]) -> None:
    """Means with standard errors over seeds, and the fitted powers in the legend."""
    x = data[axis].values
    for quantity in quantities:
        error = data["error"].sel(quantity=quantity)
        mean, spread = error.mean("seed"), error.std("seed", ddof=1) / np.sqrt(data.sizes["seed"])
        found, colour = slope_of(data, axis, quantity), COLOURS.get(quantity.split()[-1], "black")
        label = f"{quantity}: slope {found.value:.2f} ± {found.standard_error:.2f}"
        axes.errorbar(x, mean, spread, fmt="o", color=colour, mfc="white", ms=5, capsize=2, label=label)
        centre = np.log(mean.values).mean() + found.value * (np.log(x) - np.log(x).mean())
        axes.plot(x, np.exp(centre), "-", color=colour, lw=1)
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(x, [f"{value:g}" for value in x])
    axes.set_xticks([], minor=True)
    axes.legend(fontsize=8)


def _draw_curves(data: xr.DataTree, axes: Axes) -> None:
    curves = data["curves/risk"].mean("seed")
    for name in DYNAMICS[:-1]:
        colour, line = _LINES[name]
        axes.plot(curves["time"], curves.sel(dynamics=name), line, color=colour, lw=1.6, label=name)
    axes.plot(curves["time"], curves.sel(dynamics="SGD"), "o", color="black", mfc="white", ms=4, label="SGD")
    axes.set(xlabel="time $t$", ylabel="population risk", yscale="log")
    axes.set_title(f"N = {WIDTH}, ε = {STEP}, d = {DIMENSION}, mean of {data['curves'].sizes['seed']} starts")
    axes.legend()


def _claim(data: xr.DataTree, gap: str, axis: str, low: float, high: float) -> Claim:
    found = slope_of(data[axis].to_dataset(), axis, f"distance {gap}")
    return Claim(f"largest distance {gap} grows like {axis}^x, x", found.value, low, high)
