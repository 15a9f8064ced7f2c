"""Kernels lose: a ReLU of one direction, learned by a network at the mean-field scale and by its tangent kernel.

docs/theory/mean-field.md, section h: a kernel that knows no direction learns polynomials of degree k of the inputs from about
d^k points, whatever direction they depend on; the network finds the direction from a few d. The kernel is that of infinite
width, stopped when its error on the held-out points is least, which nobody could know.
"""

from typing import ClassVar, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.lazy.flow import NetworkFlow
from dimfree.lazy.linear import InfiniteWidth, Linearised
from dimfree.lazy.model import lazy_model
from dimfree.lazy.problem import DrawnPoints, LazyProblem, PairedStart, ScaledTwoLayer
from dimfree.problem.run import Run

_LATE = 1e5  # when the kernel has long interpolated


class KernelsLose(Entry[xr.Dataset]):
    """Error on held-out points against the number of points."""

    name: ClassVar[str] = "kernels-lose"
    title: ClassVar[str] = "Kernels lose: learning one direction from few points"
    cites: ClassVar[tuple[str, ...]] = ("jacot2018", "chizat2019")
    flow: AnyDescription = NetworkFlow(rtol=1e-5, atol=1e-7)
    kernel: AnyDescription = InfiniteWidth()
    link: str = "relu"
    output_scale: float | Literal["mean-field", "lazy"] = "mean-field"
    dimension: int = 20
    samples: tuple[int, ...] = (25, 50, 100, 200)
    seeds: int = 3

    def problem(self, n: int, seed: int) -> LazyProblem:
        """A data set, and a network that starts small."""
        return LazyProblem(
            dimension=self.dimension,
            data=DrawnPoints(samples=n, held_out=1000, link=self.link, seed=seed),
            network=ScaledTwoLayer(width=60, activation="relu", output_scale=self.output_scale),
            start=PairedStart(scale=0.1, second_layer_scale=0.5),
            run=Run(until=5.0, replicas=1, points=9, seed=seed),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Network and kernel on every data set, and a lazy network on one; `full` has twice the points and seeds."""
        cases = {}
        for n in self._samples(full):
            for seed in range(self._seeds(full)):
                rich = self.problem(n, seed)
                late = rich.replace(**{"run.until": _LATE, "run.points": 61})
                cases[f"network {n} {seed}"] = Case(rich, (self.flow,))
                cases[f"kernel {n} {seed}"] = Case(late, (self.kernel,))
        for seed in range(self._seeds(full)):
            lazy = self.problem(self._between(full), seed).replace(**{"network.output_scale": 10.0, "run.until": 20.0})
            cases[f"lazy {seed}"] = Case(lazy, (self.flow, Linearised()))
        return cases

    def measure(self, full: bool, watch: Watcher) -> xr.Dataset:
        """The last error of the network, the least of the kernel, and that of saying 0."""
        cases, samples, seeds = self.cases(full), self._samples(full), range(self._seeds(full))
        tree = run_cases(cases, watch)

        def table(kind: str, title: str) -> list[list[float]]:
            runs = [[_risk(tree, f"{kind} {n} {seed}/{title}") for seed in seeds] for n in samples]
            return [[float(risk[-1] if kind == "network" else risk.min()) for risk in row] for row in runs]

        silent = [[float(np.mean(lazy_model(self.problem(n, s)).y_held ** 2) / 2) for s in seeds] for n in samples]
        found = {
            "network": table("network", self.flow.title),
            "kernel": table("kernel", self.kernel.title),
            "silent": silent,
        }
        data = {name: (("samples", "seed"), np.array(values)) for name, values in found.items()}
        lazy = {
            f"lazy_{name}": ("seed", np.array([float(_risk(tree, f"lazy {seed}/{title}")[-1]) for seed in seeds]))
            for name, title in (("network", self.flow.title), ("linearised", Linearised().title))
        }
        told = {"between": self._between(full), "d": self.dimension}
        return xr.Dataset(data | lazy | told, {"samples": list(samples)})

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Few d points are enough for the network; the kernel is far from done; laziness alone makes the difference."""
        mean, between, d = data.mean("seed"), int(data["between"]), int(data["d"])
        share = {name: mean[name] / mean["silent"] for name in ("network", "kernel")}
        lost = data["kernel"].sel(samples=between) / data["network"].sel(samples=between)
        slope = np.polyfit(np.log(data["samples"] / d), np.log(share["kernel"]), 1)[0]
        lazy = mean["lazy_network"] / mean["network"].sel(samples=between)
        return (
            Claim("error of the network over that of saying 0, most points", float(share["network"][-1]), 0.0, 0.01),
            Claim("the same of the kernel at its best", float(share["kernel"][-1]), 0.03, 1.0),
            Claim(f"kernel over network at n = {between}, least of all data sets", float(lost.min()), 5.0, np.inf),
            Claim("slope of the kernel's error in the number of points", float(slope), -1.3, 0.0),
            Claim(f"lazy over rich network at n = {between}", float(lazy), 5.0, np.inf),
            Claim(
                "lazy network over its linearisation", float(mean["lazy_network"] / mean["lazy_linearised"]), 0.9, 1.1
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Means over the data sets, and every data set as a dot."""
        figure.set_size_inches(6.6, 4.6)
        axes, n = figure.subplots(), data["samples"].values
        looks = {
            "silent": ("saying 0", "grey", ":", ""),
            "kernel": ("tangent kernel of infinite width, stopped at its best", "#d95f02", "-", "s"),
            "network": (r"network at the mean-field scale $\gamma=1/N$", "black", "-", "o"),
        }
        for name, (label, colour, line, marker) in looks.items():
            axes.plot(n, data[name].mean("seed"), line + marker, color=colour, mfc="white", ms=5, lw=1.3, label=label)
            if marker:
                axes.plot(
                    np.repeat(n, data.sizes["seed"]), data[name].values.ravel(), ".", color=colour, ms=3, alpha=0.6
                )
        between = np.full(data.sizes["seed"], int(data["between"]))
        axes.plot(
            between,
            data["lazy_network"],
            "^",
            color="#7570b3",
            ms=5,
            mfc="white",
            label=r"the same network at $\gamma=10$",
        )
        axes.set(xscale="log", yscale="log", xlabel="number of points $n$", ylabel="error on held-out points")
        axes.set_xticks(n, [f"{x:g}\n{x / int(data['d']):g} d" for x in n])
        axes.minorticks_off()
        axes.legend(fontsize=8, loc="lower left")
        figure.suptitle(f"{self.title}: $y$ = {self.link}($\\sqrt{{d}}\\,x_1$), d = {int(data['d'])}")

    def seconds(self, full: bool) -> float:
        """All runs."""
        return price(self.cases(full))

    def _samples(self, full: bool) -> tuple[int, ...]:
        return (*self.samples, 2 * self.samples[-1]) if full else self.samples

    def _seeds(self, full: bool) -> int:
        return 2 * self.seeds if full else self.seeds

    def _between(self, full: bool) -> int:
        """Where the lazy network is put beside the others."""
        return self.samples[len(self.samples) // 2]


def _risk(tree: xr.DataTree, path: str) -> Float[np.ndarray, " t"]:
    return tree[path].to_dataset()["risk"].values[:, 0]
