"""What beats SGD: vectors and matrices of preprocessed labels find He_2, He_3 and He_4 from O(d) samples.

docs/theory/spectral.md: the generative exponents are 2, 1 and 2, the information exponents 2, 3 and 4, so that one-pass SGD takes
d log d, d² and d³ samples (docs/theory/committee.md, section 7).
"""

from collections.abc import Callable
from math import inf
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.information_exponent import escape_dataset
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.progress import PartWatcher
from dimfree.questions.escape.scaling import escape_scaling
from dimfree.questions.spectral.answer import Spectral, spectral

_THRESHOLD = 0.5
_SAMPLES = (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
_FROM = 1.5  # samples per dimension from which on finite size does not matter
_BEST = {2: "spectral", 3: "linear-filter", 4: "spectral"}  # which estimator is compared with SGD
_COLOURS = ("#7570b3", "#d95f02", "#1b9e77")
Cases = dict[int, dict[str, xr.Dataset]]
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Sizes(NamedTuple):
    """Where SGD is measured on one link; starts are far enough from m = 0 that noise does not hide the direction."""

    learning_rate: float  # at the first dimension
    dimensions: tuple[int, ...]
    more: tuple[int, ...]  # with `full`
    start: float = 1.0  # overlap at the start, in units of d^(-1/2)


SIZES = (
    Sizes(0.08, (100, 400, 1600), (6400,)),
    Sizes(8e-4, (50, 100, 200), (400,), 2.0),
    Sizes(1.2e-5, (16, 24, 36), (50,), 2.0),
)


class SpectralVersusSGD(Entry[xr.DataTree]):
    """Three links: estimators against samples, and SGD against the dimension."""

    name: ClassVar[str] = "spectral-vs-sgd"
    title: ClassVar[str] = "Beyond SGD: preprocessed labels find He₂, He₃, He₄ from O(d) samples"
    cites: ClassVar[tuple[str, ...]] = ("mondelli2019", "damian2024")
    links: tuple[str, str, str] = ("he2", "he3", "he4")
    sizes: tuple[Sizes, Sizes, Sizes] = SIZES
    dimension: int = 500
    seeds: int = 8
    replicas: int = 24
    answer: Callable[..., Spectral] = spectral

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Per link: what `dimfree spectral` finds, and the escape of SGD."""
        found: dict[str, xr.Dataset] = {}
        for number, (link, sizes) in enumerate(zip(self.links, self.sizes, strict=True)):
            watch(f"{link}: estimators", number / 3)
            seeds = 4 * self.seeds if full else self.seeds
            estimated = self.answer(_problem(link, 1.0, self.dimension), samples=_SAMPLES, seeds=seeds)
            watch(f"{link}: SGD", (number + 0.3) / 3)
            problem, dimensions = _problem(link, sizes.learning_rate, sizes.dimensions[0]), _dimensions(sizes, full)
            escaped = escape_scaling(problem, dimensions, self.replicas, _THRESHOLD, sizes.start)
            sgd = escape_dataset(escaped).assign(sample_slope=escaped.sample_fit().value)
            parts = {**estimated.datasets(), "sgd": sgd}
            found |= {f"case-{number + 2}/{name}": data for name, data in parts.items()}
        return xr.DataTree.from_dict(found)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Overlaps against theory, the number of samples that SGD takes, and by how much it loses."""
        cases = _cases(data)
        stayed = float(sum(int(case["sgd"]["stayed"].sum()) for case in cases.values()))
        slope = {n: float(case["sgd"]["sample_slope"]) for n, case in cases.items()}
        generative = {n: float(case["exponents"]["generative_exponent"]) for n, case in cases.items()}
        lost = {n: float(case["exponents"]["sgd_samples"] / case[_BEST[n]]["half"]) for n, case in cases.items()}
        return (
            *(
                Claim(
                    f"He{n}: largest distance of overlaps from theory, in s.e. + 0.01",
                    _distance(case[_BEST[n]]),
                    0.0,
                    3.0,
                )
                for n, case in cases.items()
            ),
            Claim("He2: threshold of the spectral estimator", float(cases[2]["spectral"]["threshold"]), 0.4999, 0.5001),
            Claim("He4: threshold of the spectral estimator", float(cases[4]["spectral"]["threshold"]), 0.6448, 0.6449),
            Claim("below the threshold the spectral overlap is small: the larger", _below(cases), 0.0, 0.1),
            *(Claim(f"He{n}: generative exponent", generative[n], k, k) for n, k in ((2, 2), (3, 1), (4, 2))),
            Claim("runs of SGD that did not escape", stayed, 0.0, 3.0),
            Claim("He2: samples of SGD over log d grow like d^x, x", slope[2], 0.8, 1.2),
            Claim("He3: samples of SGD grow like d^x, x", slope[3], 1.6, 2.4),
            Claim("He4: samples of SGD grow like d^x, x", slope[4], 2.4, 3.6),
            *(
                Claim(f"He{n}: samples of SGD (ODE) over those for a squared overlap of 1/2", lost[n], least, inf)
                for n, least in ((2, 5.0), (3, 1e3), (4, 1e6))
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Overlaps of the best estimator on the left; samples against the dimension on the right."""
        figure.set_size_inches(10.0, 4.4)
        left, right = figure.subplots(1, 2)
        for (n, case), colour in zip(_cases(data).items(), _COLOURS, strict=True):
            best, sgd, link = case[_BEST[n]], case["sgd"], f"He$_{n}$"
            mean, error = _mean(best)
            left.plot(
                best["finely"], best["curve"], "-", color=colour, lw=1.5, label=f"{link}: {_BEST[n].replace('-', ' ')}"
            )
            left.errorbar(best["samples"], mean, 2 * error, fmt="o", color=colour, mfc="white", ms=4.5, capsize=2)
            d, scale = sgd["dimension"].values, sgd["dimension"].values / sgd["learning_rate"].values
            label = f"{link}: SGD, slope {float(sgd['sample_slope']):.2f}" + (" of $n/\\log d$" if n == 2 else "")
            right.errorbar(
                d, scale * sgd["mean"], 2 * scale * sgd["error"], fmt="o", color=colour, mfc="white", label=label
            )
            right.plot(d, scale * sgd["predicted"], "-", color=colour, lw=1.2)
            axis = np.array([16.0, 2000.0])
            right.plot(axis, float(best["half"]) * axis, "--", color=colour, lw=1.2)
        left.set(xlabel="samples per dimension $n/d$", ylabel="squared overlap", ylim=(-0.03, 1.0))
        right.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="samples $n$")
        left.legend(loc="lower right")
        right.legend()
        left.set_title(f"markers: estimators at $d$ = {self.dimension} (2 s.e.); lines: theory")
        right.set_title(
            "markers: SGD until half of the risk is lost; full lines: its ODE;\ndashed: best estimator, overlap² 1/2"
        )
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """As measured, and for the sizes of the documents as planned: making a plan takes ten seconds itself."""
        return 220.0 if full else 60.0


def _problem(link: str, rate: float, dimension: int) -> OnePassProblem:
    return OnePassProblem(
        dimension=dimension,
        data=Teacher(units=1, activation=link, noise=0.0),
        network=TwoLayer(width=1, activation=link),
        training=OnePass(learning_rate=rate, spherical=True),
    )


def _dimensions(sizes: Sizes, full: bool) -> tuple[int, ...]:
    return sizes.dimensions + (sizes.more if full else ())


def _cases(data: xr.DataTree) -> Cases:
    """By the degree of the link, what is known of it."""
    return {
        n: {part: data[f"case-{n}/{part}"].to_dataset() for part in {"exponents", "spectral", "sgd", best}}
        for n, best in _BEST.items()
    }


def _mean(data: xr.Dataset) -> tuple[Values, Values]:
    """Measured overlaps and their standard errors."""
    measured = data["measured"].values
    return measured.mean(axis=1), measured.std(axis=1, ddof=1) / np.sqrt(measured.shape[1])


def _distance(data: xr.Dataset) -> float:
    """From the theory, well above the threshold."""
    far = data["samples"].values >= _FROM
    mean, error = _mean(data)
    return float((np.abs(mean - data["predicted"].values) / (error + 0.01))[far].max())


def _below(cases: Cases) -> float:
    """The overlap at the fewest samples, where both spectral estimators are blind."""
    return max(float(_mean(cases[n]["spectral"])[0][0]) for n in (2, 4))
