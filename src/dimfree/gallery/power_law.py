"""Power laws of eigenvalues and of the signal: how fast a linear network learns, and when sampling noise decides it.

docs/theory/structured.md, section 5: s_k ~ k^-a, initial signal energy s_k D_k ~ k^-b, rate 0.5, no label noise. In a window of
steps nu the mean risk falls like nu^-(b-1)/a, or like nu^-(2-1/a) once b > 2a: then it is the noise of the samples that
falls. Eigenvalues steeper than 1/k: the ODE keeps an error however large the dimension.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.onepass.limits.linear import LinearRule, exact_risks, ode_risks

LAWS = ((1.5, 2.0), (1.5, 2.5), (1.5, 4.0), (2.0, 3.0), (2.0, 5.0), (1.2, 2.0))
_RATE = 0.5
_BIN = 1.02  # eigenvalues that differ by less are one level
_COLOURS = ("#1f78b4", "#33a02c", "#d95f02", "#6a3d9a", "#e31a1c", "#b15928")


class PowerLaw(Entry[xr.Dataset]):
    """The exact mean, and its limit; without sampling noise one branch is missing."""

    name: ClassVar[str] = "power-law"
    title: ClassVar[str] = "Power-law spectra: exponents of learning, by signal and by sampling noise"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "worschech2024")
    sampling_noise: bool = True

    def measure(self, full: bool, watch: Watcher) -> xr.Dataset:
        """Mean risks over the window and beyond it, for every law; `full` in ten times the dimension."""
        dimension, risks = 10**7 if full else 10**6, dict[str, list[Float[np.ndarray, " t"]]](exact=[], ode=[])
        steps = np.array([_window(dimension, a) for a, _ in LAWS])
        for number, (a, b) in enumerate(LAWS):
            rule, D = _linear(dimension, a, b)
            if not self.sampling_noise:  # of a batch that is never exhausted nothing is random
                rule = rule._replace(batch=10**15)
            risks["exact"].append(exact_risks(rule, D, steps[number]))
            risks["ode"].append(ode_risks(rule, D, steps[number] * _RATE / dimension))
            watch(f"a = {a:g}, b = {b:g}", (number + 1) / len(LAWS))
        dims = ("law", "point")
        found = {"steps": (dims, steps), **{name: (dims, np.array(risk)) for name, risk in risks.items()}}
        return xr.Dataset(found, attrs={"dimension": dimension})

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Exponents at the logarithmic middle of the window; what the ODE says of late risks."""
        found = []
        for number, (a, b) in enumerate(LAWS):
            one = data.isel(law=number)
            middle = one.sizes["point"] // 2
            pair = one.isel(point=[middle - 1, middle + 1])
            exponent = -float(np.diff(np.log(pair["exact"]))[0] / np.diff(np.log(pair["steps"]))[0])
            wanted, which = predicted(a, b)
            statement = f"exponent at a = {a:g}, b = {b:g} ({which})"
            found.append(Claim(statement, exponent, wanted - 0.012, wanted + 0.012))
        for number, ratio in ((2, 0.782), (4, 0.598)):
            late = data.isel(law=number, point=-1)
            said = f"late risk of the ode over the exact one at a = {LAWS[number][0]:g}, ruled by noise"
            found.append(Claim(said, float(late["ode"] / late["exact"]), ratio - 0.02, ratio + 0.02))
        return tuple(found)

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Risks against steps, with the predicted slopes."""
        figure.set_size_inches(7.5, 5.0)
        axes = figure.subplots()
        for number, ((a, b), colour) in enumerate(zip(LAWS, _COLOURS, strict=True)):
            one = data.isel(law=number)
            slope, which = predicted(a, b)
            steps, exact = one["steps"].values, one["exact"].values
            axes.plot(steps, exact, color=colour, label=f"$a$ = {a:g}, $b$ = {b:g}: {which}, slope $-${slope:.3g}")
            axes.plot(steps, one["ode"], ":", color=colour)
            middle = len(steps) // 2
            axes.plot(steps, exact[middle] * (steps / steps[middle]) ** -slope, "--", color=colour, lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel=r"steps $\nu$", ylabel="mean risk")
        axes.legend(frameon=False, title="solid: exact, dotted: ode, dashed: prediction", fontsize=8, title_fontsize=8)
        figure.suptitle(f"{self.title}\nlinear network, d = {data.attrs['dimension']:,}, rate {_RATE:g}", fontsize=10)

    def seconds(self, full: bool) -> float:
        """Two eigenproblems for every law."""
        return (0.8 if full else 0.5) * len(LAWS)


def predicted(a: float, b: float) -> tuple[float, str]:
    """The exponent of equation (5.1), and what decides it."""
    return ((b - 1) / a, "signal") if b <= 2 * a else (2 - 1 / a, "sampling noise")


def _window(dimension: int, a: float) -> Float[np.ndarray, " t"]:
    """Steps between 100 and where the finite dimension is felt."""
    return np.rint(np.geomspace(1e2, min(10**-1.5 * dimension**a / _RATE, 1e9), 41))


def _linear(dimension: int, a: float, b: float) -> tuple[LinearRule, Float[np.ndarray, " b"]]:
    """Levels of geometrically growing size, with the mean eigenvalue and all of the signal of their directions."""
    k = np.arange(1.0, dimension + 1)
    firsts = np.unique(np.rint(_BIN ** np.arange(np.ceil(np.log(dimension) / np.log(_BIN))))).astype(int) - 1
    s = k**-a
    s *= dimension / s.sum()
    energy = k**-b
    counts = np.diff(np.append(firsts, dimension)).astype(float)
    levels = np.add.reduceat(s, firsts) / counts
    D = np.add.reduceat(energy / energy.sum() / s, firsts)
    return LinearRule(levels, counts, _RATE, 0.0, 1), D
