"""Power laws of eigenvalues and of the signal: how fast a linear network learns, and when sampling noise decides it.

docs/theory/structured.md, section 5: s_k ~ k^-a, initial signal energy s_k D_k ~ k^-b, rate 0.5, no label noise. In a
window of steps nu the mean risk falls like nu^-(b-1)/a, or like nu^-(2-1/a) once b > 2a: then it is the noise of the
samples that falls. For eigenvalues that fall faster than 1/k the ODE keeps an error however large the dimension is. The
exact mean is taken at a dimension at which the window is long, and real SGD at one that it can afford.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.inputs.covariance import Power
from dimfree.onepass.inputs.directions import Directions
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.linear_mean import LinearRule, exact_risks, ode_risks
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.vectors import VectorSGD
from dimfree.onepass.sections import GaussianStart, OnePass, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

LAWS = ((1.5, 2.0), (1.5, 2.5), (1.5, 4.0), (2.0, 3.0), (2.0, 5.0), (1.2, 2.0))
REAL = ((1.5, 2.0), (1.5, 4.0), (2.0, 3.0), (2.0, 5.0))  # of which real SGD is run: signal and noise for two spectra
_RATE = 0.5
_BIN = 1.02  # eigenvalues that differ by less are one level
_COLOURS = ("#1f78b4", "#33a02c", "#d95f02", "#6a3d9a", "#e31a1c", "#b15928")
_MARKERS = ("o", "s", "^", "D", "v", "X")
_DIMENSION, _STEPS = 2000, tuple(np.unique(np.rint(np.geomspace(100, 4000, 12))))  # of real SGD
_SURE = 3.0  # standard errors
_OFF = 0.15  # by which an exponent may be off at the dimension of real SGD: the other branch is off by at least a third


class PowerLaw(Entry[xr.DataTree]):
    """Real SGD, the exact mean, and its limit; without sampling noise the theory lacks one branch."""

    name: ClassVar[str] = "power-law"
    title: ClassVar[str] = "Power-law spectra: exponents of learning, by signal and by sampling noise"
    cites: ClassVar[tuple[str, ...]] = ("paquette2024", "worschech2024")
    sampling_noise: bool = True
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """Real SGD, law by law."""
        runs = 256 if full else 64
        return {f"{a:g}, {b:g}": Case(_problem(a, b, runs, self.seed), (VectorSGD(),)) for a, b in REAL}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Mean risks by theory for every law, over the window of a large dimension and beside real SGD."""
        large = 10**7 if full else 10**6
        real = run_cases(self.cases(full), watch)
        risks = np.stack([real[f"{a:g}, {b:g}/sgd"].to_dataset()["risk"].values[1:] for a, b in REAL])
        found = {
            "window": self._theory(large, LAWS, np.array([_window(large, a) for a, _ in LAWS])),
            "sgd": self._theory(_DIMENSION, REAL, np.tile(_STEPS, (len(REAL), 1))).assign(
                sgd=(("law", "point", "replica"), risks)
            ),
        }
        return xr.DataTree.from_dict(found)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Exponents at the logarithmic middle of the window, and those of real SGD; what the ODE says of late risks."""
        found, window, real = [], data["window"].to_dataset(), data["sgd"].to_dataset()
        for number, (a, b) in enumerate(LAWS):
            one = window.isel(law=number)
            middle = one.sizes["point"] // 2
            exponent = _exponent(*(one[name].values[middle - 1 : middle + 2 : 2] for name in ("steps", "exact")))
            wanted, which = predicted(a, b)
            statement = f"exponent of the exact mean at a = {a:g}, b = {b:g} ({which})"
            found.append(Claim(statement, exponent, wanted - 0.012, wanted + 0.012))
        runs, steps = real["sgd"], np.array(_STEPS)
        for number, (a, b) in enumerate(REAL):
            wanted, which = predicted(a, b)
            exponent = _exponent(steps, real["exact"].values[number])
            statement = f"exponent of the exact mean at a = {a:g}, b = {b:g} ({which}), d = {_DIMENSION}"
            found.append(Claim(statement, exponent, wanted - _OFF, wanted + _OFF))
        apart = [_exponents_apart(steps, real["exact"].values[n], runs.values[n]) for n in range(len(REAL))]
        statement = "largest difference of SGD's exponent from the exact mean's, in errors"
        found.append(Claim(statement, max(apart), 0.0, 4.0))
        late = ((runs.mean("replica") - real["exact"]) / runs.std("replica", ddof=1) * np.sqrt(runs.sizes["replica"]))[
            :, -1
        ]
        found.append(Claim("largest late deviation of SGD from the exact mean, in errors", _largest(late), 0.0, 4.0))
        for number, (a, b) in enumerate(REAL):
            if predicted(a, b)[1] == "signal":
                continue
            most = _most(real["ode"][number], runs[number])
            statement = f"ode over SGD at a = {a:g}, ruled by noise, d = {_DIMENSION}, plus 3 s.e."
            found.append(Claim(statement, most, 0.0, 1.0))
            last = window.isel(law=LAWS.index((a, b)), point=-1)
            large = float(last["ode"] / last["exact"])
            found.append(Claim(f"ode over exact mean at a = {a:g}, ruled by noise, largest d", large, 0.0, 0.9))
        return tuple(found)

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks against steps, with the predicted slopes."""
        figure.set_size_inches(12, 5.0)
        for axes, (name, laws) in zip(figure.subplots(1, 2), (("window", LAWS), ("sgd", REAL)), strict=True):
            for number, (a, b) in enumerate(laws):
                one, at = data[name].to_dataset().isel(law=number), LAWS.index((a, b))
                slope, which = predicted(a, b)
                colour, marker = _COLOURS[at], _MARKERS[at]
                label = f"$a$ = {a:g}, $b$ = {b:g}: {which}, slope $-${slope:.3g}"
                steps, exact = one["steps"].values, one["exact"].values
                middle = len(steps) // 2
                if "sgd" in one:
                    mean = one["sgd"].mean("replica")
                    error = 2 * one["sgd"].std("replica", ddof=1) / np.sqrt(one.sizes["replica"])
                    axes.errorbar(steps, mean, error, fmt=marker, color=colour, mfc="white", ms=5, lw=1, label=label)
                    axes.plot(steps, exact, color=colour)
                else:
                    axes.plot(steps, exact, color=colour, marker=marker, mfc="white", ms=5, markevery=5, label=label)
                axes.plot(steps, one["ode"], ":", color=colour)
                axes.plot(steps, exact[middle] * (steps / steps[middle]) ** -slope, "--", color=colour, lw=0.8)
            axes.set(xscale="log", yscale="log", xlabel=r"steps $\nu$", ylabel="mean risk")
            axes.set_title(f"d = {data[name].attrs['dimension']:,}" + (": markers are SGD" if name == "sgd" else ""))
            axes.legend(title="solid: exact, dotted: ode, dashed: prediction", fontsize=7, title_fontsize=7)
        figure.suptitle(f"{self.title}\nlinear network, rate {_RATE:g}", fontsize=10)

    def seconds(self, full: bool) -> float:
        """Count two eigenproblems for every law, and the runs."""
        return (0.8 if full else 0.5) * len(LAWS) + price(self.cases(full))

    def _theory(
        self, dimension: int, laws: tuple[tuple[float, float], ...], steps: Float[np.ndarray, "law t"]
    ) -> xr.Dataset:
        exact, ode = [], []
        for (a, b), at in zip(laws, steps, strict=True):
            rule, D = _linear(dimension, a, b)
            if not self.sampling_noise:  # of a batch that is never exhausted nothing is random
                rule = rule._replace(batch=10**15)
            exact.append(exact_risks(rule, D, at))
            ode.append(ode_risks(rule, D, at * _RATE / dimension))
        values = {"steps": steps, "exact": np.array(exact), "ode": np.array(ode)}
        return xr.Dataset({k: (("law", "point"), v) for k, v in values.items()}, attrs={"dimension": dimension})


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


def _problem(a: float, b: float, runs: int, seed: int) -> OnePassProblem:
    """From nothing, the signal is that of the teacher."""
    steps = np.array(_STEPS)
    return OnePassProblem(
        dimension=_DIMENSION,
        data=Teacher(
            units=1, activation="linear", noise=0.0, covariance=Power(exponent=a), directions=Directions(power=b)
        ),
        network=TwoLayer(width=1, activation="linear"),
        training=OnePass(learning_rate=_RATE),
        start=GaussianStart(scale=1e-6),
        run=Run(times=tuple((steps * _RATE / _DIMENSION).tolist()), replicas=runs, seed=seed),
    )


def _exponent(steps: Float[np.ndarray, " t"], risk: Float[np.ndarray, " t"]) -> float:
    return -power(steps, risk)


def _most(ode: xr.DataArray, runs: xr.DataArray) -> float:
    """The mean over times of the ODE's risk over that of SGD, plus three standard errors of what the runs add to it."""
    mean = runs.mean("replica")
    each = (ode * runs / mean**2).mean("point")
    return float((ode / mean).mean() + _SURE * each.std("replica", ddof=1) / np.sqrt(each.sizes["replica"]))


def _largest(values: xr.DataArray) -> float:
    return float(np.abs(values).max())


def _exponents_apart(
    steps: Float[np.ndarray, " t"], exact: Float[np.ndarray, " t"], runs: Float[np.ndarray, "t r"]
) -> float:
    """By how many standard errors of the runs the power of their mean differs from that of the exact mean."""
    mean = runs.mean(axis=1)
    centred = np.log(steps) - np.log(steps).mean()
    slopes = centred @ (runs / mean[:, None]) / (centred @ centred)  # what each run adds to the power of the mean
    error = slopes.std(ddof=1) / np.sqrt(len(slopes))
    return float(abs(_exponent(steps, mean) - _exponent(steps, exact)) / error)
