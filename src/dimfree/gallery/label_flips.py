"""Labels that are wrong with some probability: which rules of the online perceptron still find the teacher.

docs/theory/losses.md, section 1.4. With flips of probability epsilon the perceptron rule stays at a cosine of 1 - 2 epsilon to
the teacher, whatever its learning rate. The Hebb rule finds the teacher, at an error of (2 pi alpha)^(-1/2)/(1 - 2 epsilon)
against the teacher's sign. The AdaTron rule, the best of the three without flips, is the worst with them; at a learning rate
of 2, where its norm stays on average, its angle theta ends where epsilon cos theta = (1 - 2 epsilon)(sin theta - theta cos
theta)/pi.
"""

from math import pi, sqrt
from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import brentq

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.one_unit import ADATRON, HEBB, PERCEPTRON, Loss, mean_and_error, of, one_unit, spaced
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.real.chain import OverlapChain
from dimfree.progress import PartWatcher

_FLIP = 0.1
_LATE = 11  # saved times at the end, a decade, over which stationary errors are averaged
_COMPILING = 5.0  # seconds of one program
_PERCEPTRONS = {  # learning rate and flips
    "perceptron, rate 0.3": (0.3, _FLIP),
    "perceptron, rate 3": (3.0, _FLIP),
    "perceptron, flips 0.05": (1.0, 0.05),
    "perceptron, flips 0.2": (1.0, 0.2),
}
_DRAWN = {  # colour and symbol
    "Hebb": ("#1b9e77", "o"),
    "perceptron, rate 0.3": ("#d95f02", "s"),
    "perceptron, rate 3": ("#a6761d", "D"),
    "AdaTron": ("#7570b3", "^"),
}


class LabelFlips(Entry[xr.DataTree]):
    """Errors of three rules against the teacher's sign, learned from labels of which some are wrong."""

    name: ClassVar[str] = "label-flips"
    title: ClassVar[str] = "Labels that are flipped: the Hebb rule finds the teacher, the perceptron does not"
    cites: ClassVar[tuple[str, ...]] = ("biehl1994", "saad1995")
    theory: AnyDescription = HighDimensional(rtol=1e-10, atol=1e-12)
    seed: int = 0

    def cases(self, full: bool) -> dict[str, Case]:
        """SGD and the ODE of every rule, and the ODE of the AdaTron rule without flips."""
        samples, both = spaced(1.0, 1e3, 31), (OverlapChain(), self.theory)

        def one(number: int, loss: Loss, rate: float, flip: float, descriptions: tuple[AnyDescription, ...]) -> Case:
            data: dict[str, object] = {"labels": "sign", "flip": flip}
            seed = 100 * self.seed + number  # the rates of a perceptron are one run in other units, if seeds are one
            replicas = 32 if full else 8
            problem = one_unit(loss, rate, samples, data=data, dimension=1000, replicas=replicas, seed=seed)
            return Case(problem, descriptions)

        return {
            "Hebb": one(0, HEBB, 1.0, _FLIP, both),
            "AdaTron": one(1, ADATRON, 2.0, _FLIP, both),
            "AdaTron without flips": one(2, ADATRON, 2.0, 0.0, (self.theory,)),
            **{name: one(3 + i, PERCEPTRON, *now, both) for i, (name, now) in enumerate(_PERCEPTRONS.items())},
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Where the perceptron and AdaTron rules stay, and by which law the Hebb rule falls below them."""
        title = self.theory.title
        ends, real = ({name: _end(of(data, name, one)) for name in _PERCEPTRONS} for one in (title, "chain"))
        hebb, sgd = (of(data, "Hebb", one)["clean_error"].mean("replica") for one in (title, "chain"))
        law = float(hebb_law(1e3, _FLIP))
        below = sgd["time"].values[sgd.values < perceptron_floor(_FLIP)]
        quiet = float(of(data, "AdaTron without flips", title)["clean_error"][-1].mean())
        return (
            Claim(
                f"perceptron: the {title} over arccos(1 - 2 flip)/pi, farthest from 1", _farthest(ends), 0.999, 1.001
            ),
            Claim("perceptron: SGD over the same, farthest from 1", _farthest(real), 0.97, 1.03),
            Claim(f"Hebb: error of the {title} over its law at the end", float(hebb[-1]) / law, 0.99, 1.01),
            Claim("Hebb: SGD's over its law", float(sgd[-1]) / law, 0.95, 1.05),
            Claim(
                "Hebb: samples per dimension from which on SGD is below the perceptron's floor",
                float(below[0]) if below.size else np.nan,
                3.0,
                10.0,
            ),
            Claim(
                f"AdaTron: error of the {title} over its floor",
                _end(of(data, "AdaTron", title)) / adatron_floor(_FLIP),
                0.999,
                1.001,
            ),
            Claim(
                "AdaTron: SGD's over its floor", _end(of(data, "AdaTron", "chain")) / adatron_floor(_FLIP), 0.96, 1.04
            ),
            Claim("AdaTron: error over Hebb's law without flips", quiet / float(hebb_law(1e3, 0.0)), 0.0, 0.2),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Errors against samples, and the floors against flips."""
        figure.set_size_inches(10.5, 4.2)
        errors, floors = figure.subplots(1, 2, width_ratios=(1.3, 1.0))
        for name, (colour, marker) in _DRAWN.items():
            theory, chain = (of(data, name, one)["clean_error"] for one in (self.theory.title, "chain"))
            rate = 2.0 if name == "AdaTron" else _PERCEPTRONS.get(name, (1.0, _FLIP))[0]
            alpha = theory["time"].values / rate
            mean, bar = mean_and_error(chain)
            errors.plot(alpha, theory.mean("replica"), "-", color=colour)
            errors.errorbar(alpha[::2], mean[::2], bar[::2], fmt=marker, color=colour, mfc="white", label=name)
        for floor in (perceptron_floor(_FLIP), adatron_floor(_FLIP)):
            errors.axhline(floor, color="grey", ls=":")
        alpha = np.geomspace(1, 1e3, 50)
        errors.plot(alpha, hebb_law(alpha, _FLIP), ":", color="grey")
        errors.set(
            xscale="log",
            yscale="log",
            xlabel=r"samples per dimension $\alpha$",
            ylabel="error against the teacher's sign",
        )
        errors.set_title(f"{100 * _FLIP:.0f} % flips: SGD (symbols), {self.theory.title}, laws (dotted)")
        errors.legend()
        flips = np.linspace(0, 0.3, 100)
        floors.plot(
            flips, perceptron_floor(flips), "-", color="#d95f02", label=r"perceptron: $\arccos(1-2\epsilon)/\pi$"
        )
        floors.plot(flips, [adatron_floor(x) for x in flips], "--", color="#7570b3", label="AdaTron, rate 2")
        floors.plot(flips, hebb_law(1e3, flips), "-.", color="#1b9e77", label=r"Hebb, $\alpha=1000$")
        for name, (_, flip) in _PERCEPTRONS.items():
            floors.plot(flip, _end(of(data, name, "chain")), "s", color="#d95f02", mfc="white")
        floors.plot(_FLIP, _end(of(data, "AdaTron", "chain")), "^", color="#7570b3", mfc="white")
        floors.plot(
            _FLIP, float(of(data, "Hebb", "chain")["clean_error"][-1].mean()), "o", color="#1b9e77", mfc="white"
        )
        floors.set(
            xlabel=r"flips $\epsilon$", ylabel="error against the teacher's sign", title="at the end, SGD as symbols"
        )
        floors.set_ylim(0, 0.55)
        floors.legend(loc="upper left")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Count all runs; cases of one loss share their programs, which are compiled once."""
        return price(self.cases(full)) - 7 * _COMPILING


def perceptron_floor(flip: float | np.ndarray) -> float | np.ndarray:
    """The error at which the perceptron rule stays."""
    found: float | np.ndarray = np.arccos(1 - 2 * np.asarray(flip)) / pi
    return found


def adatron_floor(flip: float) -> float:
    """The error at which the AdaTron rule stays at a learning rate of 2."""
    rest = lambda x: flip * np.cos(x) - (1 - 2 * flip) * (np.sin(x) - x * np.cos(x)) / pi  # noqa: E731
    return brentq(rest, 0.0, pi / 2) / pi if flip else 0.0


def hebb_law(alpha: float | np.ndarray, flip: float | np.ndarray) -> float | np.ndarray:
    """The error of the Hebb rule after many samples."""
    found: float | np.ndarray = 1 / ((1 - 2 * np.asarray(flip)) * sqrt(2 * pi) * np.sqrt(alpha))
    return found


def _end(run: xr.Dataset) -> float:
    """The mean over the last decade of samples."""
    return float(run["clean_error"][-_LATE:].mean())


def _farthest(ends: dict[str, float]) -> float:
    ratios = np.array([end / perceptron_floor(_PERCEPTRONS[name][1]) for name, end in ends.items()])
    return float(ratios[np.argmax(np.abs(ratios - 1))])
