"""Four clusters at the corners of XOR: what networks learn that lines and random features do not.

docs/theory/losses.md, section 3. Clusters at distance s = 2 from the origin with variance 1/2, for which no rule has an
error below 4.45 %. SGD of 8 ReLU units with the logistic loss, both layers learning, simulated in overlap space, gets near
that error from most starts (from 2 of 64 starts the error stays at 20 %); a linear network stays at chance. Random squares
of the inputs, twice as many as there are dimensions and with the best linear readout, tell the classes apart less and less
as the dimension grows (equation 3.5). The ODE follows two square units on clusters of different variances: it weights the
squares of the steps by the variance of each cluster.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.description import AnyDescription
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.onepass.kinds.clusters.section import Clusters
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, OverlapStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher

_SEPARATION, _VARIANCE = 2.0, 0.5
_UNEVEN = (0.792, 0.792, 0.521, 0.521)  # variances of the clusters for which the ODE is solved
_COLOURS = {"network": "#1f78b4", "linear": "#d95f02", "limit": "#1b9e77"}
_INF = float("inf")


class XorMixture(Entry[xr.DataTree]):
    """Networks, lines and random features on XOR, and the ODE beside SGD."""

    name: ClassVar[str] = "xor-mixture"
    title: ClassVar[str] = "XOR in many dimensions: networks learn it, lines and random features do not"
    cites: ClassVar[tuple[str, ...]] = ("refinetti2021", "saad1995")
    theory: AnyDescription = HighDimensional()
    activation: str = "relu"  # of the network that learns
    seed: int = 0
    dimensions: tuple[int, ...] = (50, 100, 200, 400)  # of random features; with `full` twice the last one, too
    draws: int = 6  # of random features

    def cases(self, full: bool) -> dict[str, Case]:
        """A network and a line on XOR, and two units for which there is an ODE."""
        return {
            "network": Case(_xor(self.activation, 8, 4.0, 20.0, self.seed, 32 if full else 16), (OverlapChain(),)),
            "linear": Case(_xor("linear", 8, 1.0, 10.0, self.seed, 4), (OverlapChain(),)),
            "limit": Case(_two_squares(2000 if full else 1000, self.seed), (OverlapChain(), self.theory)),
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Test errors of all runs, and of random features at several dimensions."""
        tree = run_cases(self.cases(full), watch)
        sizes = (*self.dimensions, 2 * self.dimensions[-1]) if full else self.dimensions
        rng = np.random.default_rng(self.seed)
        near, far = (
            [[readout_error(d, s(d), _VARIANCE, rng) for _ in range(self.draws)] for d in sizes]
            for s in (lambda d: _SEPARATION, lambda d: _SEPARATION * (d / sizes[0]) ** 0.25)
        )
        axes = {"dimension": list(sizes)}
        features = {"fixed": (("dimension", "draw"), np.array(near)), "growing": (("dimension", "draw"), np.array(far))}
        tree["features"] = xr.DataTree(xr.Dataset(features, coords=axes))
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Who learns, who does not, and that the ODE is right about the variance of the steps."""
        network, linear = (_of(data, case, "chain") for case in ("network", "linear"))
        best = float(network["bayes_error"][0, 0])
        end = float(network["test_error"][-1].median())
        features = data["features"].to_dataset().mean("draw")
        fixed, growing = features["fixed"].values, features["growing"].values
        chain, theory = (_of(data, "limit", one)["test_error"][-1].values for one in ("chain", self.theory.title))
        return (
            Claim(
                "8 units: median over starts of the test error at the end, minus the lowest one", end - best, 0.0, 0.015
            ),
            Claim("linear network: test error at the end", float(linear["test_error"][-1].mean()), 0.49, 0.51),
            Claim(
                "random features: least rise of the error as the dimension doubles",
                float(np.diff(fixed).min()),
                0.005,
                _INF,
            ),
            Claim(f"random features: error at dimension {int(features['dimension'][-1])}", float(fixed[-1]), 0.33, 0.5),
            Claim("random features: the same for clusters that move apart like d^(1/4)", float(growing[-1]), 0.0, 0.23),
            Claim(
                f"two units: test error of the {self.theory.title} minus SGD's at the end",
                float(theory[0] - chain.mean()),
                -0.005,
                0.005,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Errors in per cent: against time, against dimension, and of SGD beside the ODE."""
        figure.set_size_inches(12.5, 4.0)
        runs, features, limit = figure.subplots(1, 3)
        for case, label in (("network", f"8 {self.activation} units"), ("linear", "linear network")):
            error = 100 * _of(data, case, "chain")["test_error"]
            low, high = error.min("replica"), error.max("replica")
            runs.fill_between(error["time"], low, high, color=_COLOURS[case], alpha=0.2, lw=0)
            style = "-" if case == "network" else "--"
            runs.plot(error["time"], error.median("replica"), style, color=_COLOURS[case], label=label)
        best = 100 * float(_of(data, "network", "chain")["bayes_error"][0, 0])
        runs.axhline(best, color="grey", ls=":", label=f"lowest, {best:.3g} %")
        runs.set(
            xlabel="time $t$ = steps × rate / (width × dimension)",
            ylabel="test error in per cent",
            title="SGD, median and all starts",
        )
        seen = 100 * data["features"].to_dataset()
        for name, (marker, label) in {
            "fixed": ("o-", "clusters stay"),
            "growing": ("s--", "move apart like $d^{1/4}$"),
        }.items():
            mean, spread = seen[name].mean("draw"), seen[name].std("draw")
            features.errorbar(seen["dimension"], mean, spread, fmt=marker, capsize=2, label=label)
        features.axhline(50, color="grey", ls=":", label="chance")
        features.set(
            xscale="log",
            xlabel="dimension $d$",
            ylabel="test error in per cent",
            title="best readout of $2d$ random squares",
        )
        features.set_xticks(seen["dimension"].values, [str(d) for d in seen["dimension"].values], minor=False)
        features.minorticks_off()
        for one, style in (("chain", "o"), (self.theory.title, "-")):
            error = 100 * _of(data, "limit", one)["test_error"].mean("replica")
            limit.plot(
                error["time"],
                error,
                style,
                color=_COLOURS["limit"],
                mfc="white",
                label="SGD" if one == "chain" else one,
            )
        limit.set(xlabel="time $t$", ylabel="test error in per cent", title="two square units, variances 0.79 and 0.52")
        for axes in (runs, features, limit):
            axes.set_ylim(0, 55)
            axes.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Count all runs, and the readouts, whose cost is that of solving p equations."""
        return price(self.cases(full)) + self.draws * (60 if full else 10) / 6


def readout_error(d: int, s: float, v: float, rng: np.random.Generator, tests: int = 20_000) -> float:
    """The test error of the best linear readout of 2 d random squares (w.x)², by moments of the population.

    Given the cluster fields are Gaussian with mean mu and covariance v Q, so that the squares have covariance 2 (v Q_ij)² +
    4 v mu_i mu_j Q_ij; the best readout is that of the classes' means and the mean covariance within them.
    """
    W = rng.normal(size=(2 * d, d))
    Q = W @ W.T / d
    means = s * np.array([W[:, 0], -W[:, 0], W[:, 1], -W[:, 1]]) / np.sqrt(d)  # directions are axes, times sqrt(d)
    shifts = means[[0, 2]] ** 2
    delta = shifts[0] - shifts[1]
    within = 2 * (v * Q) ** 2 + 4 * v * Q * np.mean([np.outer(m, m) for m in means], axis=0)
    beta = np.linalg.solve(within, delta)
    middle = beta @ (v * np.diag(Q) + shifts.mean(axis=0))
    c = rng.integers(4, size=tests)
    fields = means[c] + np.sqrt(v / d) * rng.normal(size=(tests, d)) @ W.T
    return float(np.mean(((fields**2) @ beta > middle) != (c < 2)))


def _xor(activation: str, width: int, rate: float, until: float, seed: int, replicas: int) -> OnePassProblem:
    return OnePassProblem(
        dimension=200,
        data=Clusters(separation=_SEPARATION, variance=_VARIANCE),
        network=TwoLayer(
            width=width,
            activation=activation,
            trained=("first-layer", "second-layer"),
            second_layer_start=tuple(2.0 * (-1.0) ** i for i in range(width)),
        ),
        training=OnePass(learning_rate=rate, loss="logistic"),
        run=Run(until=until, replicas=replicas, starts=replicas, points=21, spacing="linear", seed=seed),
    )


def _two_squares(dimension: int, seed: int) -> OnePassProblem:
    means = ((1.28, 0.0), (-1.28, 0.0), (0.0, 1.28), (0.0, -1.28))
    return OnePassProblem(
        dimension=dimension,
        data=Clusters(weights=(0.25,) * 4, means=means, variances=_UNEVEN, classes=(1, 1, -1, -1)),
        network=TwoLayer(width=2, activation="square", second_layer_start=(2.0, -2.0)),
        training=OnePass(learning_rate=0.2, loss="logistic"),
        start=OverlapStart(Q=((0.215, 0.02), (0.02, 0.265)), M=((0.123, 0.03), (-0.02, 0.19))),
        run=Run(until=5.0, replicas=16, points=21, spacing="linear", seed=seed),
    )


def _of(data: xr.DataTree, case: str, one: str) -> xr.Dataset:
    return data[f"{case}/{one}"].to_dataset()
