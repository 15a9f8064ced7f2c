"""How long a direction stays hidden: escape times against the dimension for links of information exponent 1, 2 and 3.

docs/theory/committee.md, section 7: times grow like 1, log d and d^(1/2), samples like d, d log d and d^2.
"""

from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import OnePass, TwoLayer
from dimfree.progress import PartWatcher
from dimfree.questions.escape.scaling import Scaling, escape_scaling, weighted_slope

_THRESHOLD = 0.5
_REFERENCE = 100  # the dimension for which the learning rates below are meant


class Sizes(NamedTuple):
    """Where one link is measured."""

    learning_rate: float
    dimensions: tuple[int, ...]
    more: tuple[int, ...]  # with `full`
    replicas: int
    start: float = 1.0  # overlap at the start, in units of d^(-1/2)


SIZES = {
    1: Sizes(0.5, (100, 1000, 10_000, 100_000), (1_000_000,), 32),
    2: Sizes(0.04, (200, 1000, 4000, 10_000), (100_000, 1_000_000), 48),
    3: Sizes(0.0004, (100, 200, 400), (800, 1600), 48, 3.0),
}


class InformationExponent(Entry[xr.DataTree]):
    """Three links, each at growing dimensions."""

    name: ClassVar[str] = "information-exponent"
    title: ClassVar[str] = "Information exponent: escape from m ~ 1/√d against the dimension"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023escaping",)
    links: tuple[str, str, str] = ("he1", "he2", "he3")  # of exponent 1, 2, 3
    sizes: tuple[Sizes, Sizes, Sizes] = (SIZES[1], SIZES[2], SIZES[3])

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Escape times, one dataset per link."""
        found = {}
        for n, (problem, dimensions, replicas, start) in self._cases(full).items():
            report = partial(_tell, watch, n - 1)
            found[f"exponent-{n}"] = escape_dataset(
                escape_scaling(problem, dimensions, replicas, _THRESHOLD, start, report)
            )
        return xr.DataTree.from_dict(found)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Fitted exponents against the table of the sheet."""
        one, two, three = (data[f"exponent-{n}"].to_dataset() for n in (1, 2, 3))
        log_d, error = np.log(two["dimension"].values), two["error"].values
        slope, theory = (weighted_slope(log_d, two[name].values, error)[0] for name in ("mean", "predicted"))
        return (
            Claim("every replica escaped: number that did not", _stayed(one, two, three), 0.0, 0.0),
            Claim("exponent 1: times grow like d^x, x", _power(one, "mean")[0], -0.05, 0.05),
            Claim("exponent 2: slope of the time in log d, over that of the ODE", slope / theory, 0.75, 1.25),
            Claim("exponent 2: times grow like d^x at these sizes, x", _power(two, "mean")[0], 0.05, 0.25),
            Claim("exponent 3: times grow like d^x, x", _power(three, "mean")[0], 0.35, 0.65),
            Claim("exponent 3: samples grow like d^x, x", _power(three, "samples")[0], 1.85, 2.15),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Times on the left, samples on the right; lines are the ODE."""
        figure.set_size_inches(9.5, 4.0)
        times, samples = figure.subplots(1, 2)
        for n, colour in ((1, "#1b9e77"), (2, "#7570b3"), (3, "#d95f02")):
            one = data[f"exponent-{n}"].to_dataset()
            d, rate = one["dimension"].values, one["learning_rate"].values
            power, error = _power(one, "mean")
            fit = f"t ~ d^({power:.2f} ± {error:.2f})"
            for axes, scale, label in ((times, np.ones_like(rate), fit), (samples, d / rate, f"exponent {n}")):
                axes.errorbar(
                    d, scale * one["mean"], scale * one["error"], fmt="o", ms=5, mfc="white", color=colour, capsize=3,
                    label=f"exponent {n}: {label}" if axes is times else label,
                )  # fmt: skip
                axes.plot(d, scale * one["predicted"], "-", lw=1.2, color=colour)
        times.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="time to lose half of the risk")
        samples.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="samples to lose half of the risk")
        times.legend(frameon=False)
        samples.legend(frameon=False)
        figure.suptitle(f"{self.title}\nmarkers: SGD (chain) with standard errors; lines: ODE")

    def seconds(self, full: bool) -> float:
        """A constant that earlier plans gave, because making a plan takes ten seconds itself."""
        return 2500.0 if full else 210.0

    def _cases(self, full: bool) -> dict[int, tuple[OnePassProblem, tuple[int, ...], int, float]]:
        return {
            n: (
                _problem(link, sizes.learning_rate),
                sizes.dimensions + (sizes.more if full else ()),
                sizes.replicas,
                sizes.start,
            )
            for n, (link, sizes) in enumerate(zip(self.links, self.sizes, strict=True), start=1)
        }


def _tell(watch: PartWatcher, before: int, text: str, part: float) -> None:
    """Report progress over three links, each of which counts as a third of the work."""
    watch(text, (before + part) / 3)


def _problem(link: str, rate: float) -> OnePassProblem:
    return OnePassProblem(
        dimension=_REFERENCE,
        data=Teacher(units=1, activation=link, noise=0.0),
        network=TwoLayer(width=1, activation=link),
        training=OnePass(learning_rate=rate, spherical=True),
    )


def escape_dataset(scaling: Scaling) -> xr.Dataset:
    """What is drawn of an escape: means, errors and predictions over the dimension."""
    rates, predicted = (
        np.array([getattr(point, name) for point in scaling.plan]) for name in ("learning_rate", "predicted")
    )
    left = np.isfinite(scaling.times)
    return xr.Dataset(
        {
            "mean": ("dimension", scaling.means),
            "error": ("dimension", scaling.errors),
            "predicted": ("dimension", predicted),
            "learning_rate": ("dimension", rates),
            "samples": ("dimension", scaling.means * scaling.dimensions / rates),
            "stayed": ("dimension", np.sum(~left, axis=1)),
        },
        coords={"dimension": scaling.dimensions},
        attrs={"information_exponent": scaling.exponent, "replicas": scaling.times.shape[1]},
    )


def _power(data: xr.Dataset, name: str) -> tuple[float, float]:
    """The slope of the logarithm against log d, and its standard error."""
    relative = data["error"].values / data["mean"].values
    return weighted_slope(np.log(data["dimension"].values), np.log(data[name].values), relative)


def _stayed(*datasets: xr.Dataset) -> float:
    return float(sum(int(one["stayed"].sum()) for one in datasets))
