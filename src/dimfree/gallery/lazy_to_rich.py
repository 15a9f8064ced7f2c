"""From lazy to rich: one network on one data set, with the scale of its output from 1/N to far beyond 1/sqrt(N).

docs/theory/mean-field.md, section h: for large scales gamma the weights move by 1/gamma, and the network differs from its
linearisation by gamma^-2. As units start in pairs of opposite output, the first order of the kernel's change cancels in
every pair, and the change falls like gamma^-2 as well.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.lazy.flow import NetworkFlow
from dimfree.lazy.linear import Linearised
from dimfree.lazy.problem import LazyProblem
from dimfree.progress import PartWatcher
from dimfree.questions.laziness.answer import Laziness, laziness
from dimfree.questions.laziness.figure import draw_scales
from dimfree.questions.laziness.question import QUESTION
from dimfree.readings.power_laws import power
from dimfree.results.record import cost_of

_COMPILING = 3.0  # seconds, which only the first scale takes


class LazyToRich(Entry[xr.Dataset]):
    """Movement, kernel change, distance to the linearised flow and error against the output scale."""

    name: ClassVar[str] = "lazy-to-rich"
    title: ClassVar[str] = "From lazy to rich: the output scale decides whether a network learns features"
    cites: ClassVar[tuple[str, ...]] = ("chizat2019", "jacot2018")
    flow: AnyDescription = NetworkFlow()
    linear: AnyDescription = Linearised()
    decades: float = 4.0

    def problem(self, full: bool) -> LazyProblem:
        """The problem of the question `laziness`; with `full` five times as wide, in more dimensions."""
        found: LazyProblem = QUESTION.example()
        return found.replace(**{"network.width": 300, "dimension": 10, "data.samples": 40}) if full else found

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """The sweep, and what it found about the lemmas."""
        scales, networks = self._sizes(full)
        found = laziness(
            self.problem(full),
            decades=self.decades,
            scales=scales,
            networks=networks,
            flow=self.flow,
            linear=self.linear,
            budget=np.inf,
            watch=watch,
        )
        data = found.datasets()["laziness"]
        numbers = {
            "width": found.problem.network.width,
            "violated": _violated(found),
            "certain_from": found.certain_from,
        }
        return data.assign(numbers)

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Powers of gamma far out; at 1/N features are learned, and they help."""
        N = int(data["width"])
        mean = data.mean("network")
        far = mean.sel(scale=mean["scale"] * N > 99)
        slopes = {name: _slope(far, name) for name in ("movement", "kernel_change", "gap")}
        rich, lazy = mean.isel(scale=0), mean.isel(scale=-1)
        return (
            Claim("slope of the movement in gamma, from gamma N = 100 on", slopes["movement"], -1.1, -0.95),
            Claim("slope of the distance to the linearised flow", slopes["gap"], -2.1, -1.9),
            Claim("slope of the kernel change", slopes["kernel_change"], -2.1, -1.9),
            Claim("relative kernel change at gamma = 1/N", float(rich["kernel_change"]), 3.0, np.inf),
            Claim("lazy error over error at gamma = 1/N", float(lazy["risk"] / rich["risk"]), 4.0, np.inf),
            Claim(
                "error of the laziest network over that of its linearisation",
                float(lazy["risk"] / lazy["linear_risk"]),
                0.999,
                1.001,
            ),
            Claim("runs that violate one of lemmas 1 to 3", float(data["violated"]), 0.0, 0.0),
            Claim("least room in lemma 1, right side over left", _room(data, 1), 1.0 - 1e-7, np.inf),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Draw the figure of the question `laziness`."""
        measured = {str(name): data[name].values for name in data.data_vars}
        draw_scales(figure, int(data["width"]), data["scale"].values, measured)
        N, networks = int(data["width"]), data.sizes["network"]
        figure.suptitle(f"{self.title} (N = {N}; bars: 2 s.e. of {networks} networks)")

    def seconds(self, full: bool) -> float:
        scales, networks = self._sizes(full)
        runs = self.problem(full).replace(**{"run.replicas": networks})
        return scales * sum(cost_of(one, runs).seconds - _COMPILING for one in (self.flow, self.linear)) + 20.0

    def _sizes(self, full: bool) -> tuple[int, int]:
        """Output scales and networks."""
        return (17, 8) if full else (9, 4)


def _slope(data: xr.Dataset, name: str) -> float:
    return power(data["scale"].values, data[name].values)


def _violated(found: Laziness) -> int:
    return sum(not one.holds for row in found.lemmas for one in row)


def _room(data: xr.Dataset, lemma: int) -> float:
    return float((data[f"lemma_{lemma}_right"] / data[f"lemma_{lemma}_left"]).min())
