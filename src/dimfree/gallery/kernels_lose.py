"""Kernels lose: a ReLU of one direction, learned by a network at the mean-field scale and by its tangent kernel.

docs/theory/mean-field.md, section h: a kernel that treats all directions alike learns polynomials of degree k of the inputs
from about d^k points, whatever direction they depend on; the network finds the direction from a few d. The kernel is that
of infinite width, stopped when its error on the held-out points is least, which is not known in practice.
"""

from itertools import product
from typing import ClassVar, Literal

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.lazy.flow import NetworkFlow
from dimfree.lazy.linear import InfiniteWidth, Linearised
from dimfree.lazy.model import lazy_model
from dimfree.lazy.problem import DrawnPoints, LazyProblem, PairedStart, ScaledTwoLayer
from dimfree.problem.run import Run
from dimfree.progress import PartWatcher
from dimfree.readings.power_laws import power

_LATE = 1e5  # a time by which the kernel interpolates the points
_DIMENSIONS = (10, 14, 20, 28)  # in which the points that the kernel needs are counted
_SHARES = (0.5, 1.0)  # numbers of points, as shares of d²
_LEFT = 0.06  # of the error of saying 0; without the part of degree 2 of a ReLU it is 0.18


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
    first_seed: int = 0

    def problem(self, n: int, seed: int, dimension: int | None = None) -> LazyProblem:
        """A data set, and a network that starts small."""
        return LazyProblem(
            dimension=dimension or self.dimension,
            data=DrawnPoints(samples=n, held_out=1000, link=self.link, seed=seed),
            network=ScaledTwoLayer(width=60, activation="relu", output_scale=self.output_scale),
            start=PairedStart(scale=0.1, second_layer_scale=0.5),
            run=Run(until=5.0, replicas=1, points=9, seed=seed),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Network and kernel on every data set, and a lazy network on one; `full` has twice the points and seeds."""
        cases = {}
        for n in self._samples(full):
            for seed in self._seeds(full):
                rich = self.problem(n, seed)
                cases[f"network {n} {seed}"] = Case(rich, (self.flow,))
                cases[f"kernel {n} {seed}"] = Case(_late(rich), (self.kernel,))
        for d, share, seed in product(_DIMENSIONS, _SHARES, self._seeds(full)):
            cases[f"kernel {d} {share} {seed}"] = Case(
                _late(self.problem(round(share * d**2), seed, d)), (self.kernel,)
            )
        for seed in self._seeds(full):
            lazy = self.problem(self._between(full), seed).replace(**{"network.output_scale": 10.0, "run.until": 20.0})
            cases[f"lazy {seed}"] = Case(lazy, (self.flow, Linearised()))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """The last error of the network, the least of the kernel, and that of saying 0."""
        cases, samples, seeds = self.cases(full), self._samples(full), self._seeds(full)
        tree = run_cases(cases, watch)

        def left(d: int, share: float, seed: int) -> float:
            silent = np.mean(lazy_model(self.problem(round(share * d**2), seed, d)).y_held ** 2) / 2
            return float(_risk(tree, f"kernel {d} {share} {seed}/{self.kernel.title}").min() / silent)

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
        by_dimension = np.array([[[left(d, share, s) for s in seeds] for share in _SHARES] for d in _DIMENSIONS])
        predicted = {
            "between": self._between(full),
            "d": self.dimension,
            "kernel_left": (("dimension", "share", "seed"), by_dimension),
        }
        return xr.Dataset(
            data | lazy | predicted, {"samples": list(samples), "dimension": list(_DIMENSIONS), "share": list(_SHARES)}
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Few d points are enough for the network; the kernel needs d² of them; laziness alone makes the difference."""
        mean, between = data.mean("seed"), int(data["between"])
        exponent = power(data["dimension"].values, _needed(data))
        share = {name: mean[name] / mean["silent"] for name in ("network", "kernel")}
        lost = data["kernel"].sel(samples=between) / data["network"].sel(samples=between)
        lazy = mean["lazy_network"] / mean["network"].sel(samples=between)
        return (
            Claim("error of the network over that of saying 0, most points", float(share["network"][-1]), 0.0, 0.01),
            Claim("the same of the kernel at its best", float(share["kernel"][-1]), 0.03, 1.0),
            Claim(f"kernel over network at n = {between}, least of all data sets", float(lost.min()), 5.0, np.inf),
            Claim("points that the kernel needs grow like d^x, x", exponent, 1.6, 2.4),
            Claim(f"lazy over rich network at n = {between}", float(lazy), 5.0, np.inf),
            Claim(
                "lazy network over its linearisation", float(mean["lazy_network"] / mean["lazy_linearised"]), 0.9, 1.1
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Means over the data sets, and every data set as a dot; and how many points the kernel needs in other dimensions."""
        figure.set_size_inches(10.4, 4.6)
        (axes, needed), n = figure.subplots(1, 2, width_ratios=(3, 2)), data["samples"].values
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
        d, points = data["dimension"].values, _needed(data)
        needed.plot(
            d, points, "s", color="#d95f02", mfc="white", ms=5, label=f"kernel, {100 * _LEFT:g} % of the error left"
        )
        line = d**2 * np.exp(np.mean(np.log(points / d**2)))
        needed.plot(d, line, "--", color="grey", lw=1, label=r"proportional to $d^2$")
        needed.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel="number of points")
        needed.set_xticks(d, [str(one) for one in d])
        needed.set_yticks([100, 200, 400], ["100", "200", "400"])
        needed.minorticks_off()
        needed.legend(fontsize=8)
        axes.set_title(f"d = {int(data['d'])}")
        figure.suptitle(f"{self.title}: $y$ = {self.link}($\\sqrt{{d}}\\,x_1$)")

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))

    def _samples(self, full: bool) -> tuple[int, ...]:
        return (*self.samples, 2 * self.samples[-1]) if full else self.samples

    def _seeds(self, full: bool) -> range:
        return range(self.first_seed, self.first_seed + (2 if full else 1) * self.seeds)

    def _between(self, full: bool) -> int:
        """The number of points on which the lazy network is trained: one in the middle of the others."""
        return self.samples[len(self.samples) // 2]


def _late(problem: LazyProblem) -> LazyProblem:
    """The same problem until a time by which the kernel interpolates the points."""
    return problem.replace(**{"run.until": _LATE, "run.points": 61})


def _needed(data: xr.Dataset) -> Float[np.ndarray, " d"]:
    """How many points in every dimension leave this share of the error, by a power law between (and near) two numbers."""
    few, many = np.moveaxis(np.log(data["kernel_left"].mean("seed").values), 1, 0)
    shares = np.log(data["share"].values)
    at = shares[0] + (shares[1] - shares[0]) * (few - np.log(_LEFT)) / (few - many)
    return np.asarray(data["dimension"].values ** 2 * np.exp(at))


def _risk(tree: xr.DataTree, path: str) -> Float[np.ndarray, " t"]:
    return tree[path].to_dataset()["risk"].values[:, 0]
