"""Multi-pass SGD on Gaussian clusters beside dynamical mean-field theory (docs/theory/dmft.md, sections 1 to 3).

Two clusters with the logistic loss at alpha = 2, Delta = 0.5, eta = 0.2, without weight decay: vanilla batches of several
sizes, then batches that persist. Three clusters at alpha = 3, Delta = 0.05 with the threshold |h| > 0.7, a loss that is not
convex. The gradient is summed over the batch, so that a batch that holds a share b of all samples descends about 1/b times
more slowly.
"""

from abc import abstractmethod
from itertools import pairwise
from typing import Any, ClassVar, Literal

import equinox as eqx
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import AlignedStart, DataSetProblem, MultiPass, ThreeClusters, TwoClusters
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import AnyDescription
from dimfree.gallery.agreement import COLOURS, OBSERVABLES, draw_pair, largest, observed
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.run import Run
from dimfree.progress import PartWatcher

_NAMES = tuple(OBSERVABLES)
_INF = float("inf")
_SIGMAS = 3.5


class Mixture(Entry[xr.DataTree]):
    """Real SGD and DMFT, one case per batch fraction."""

    theory: eqx.AbstractVar[AnyDescription]
    fractions: eqx.AbstractVar[tuple[float, ...]]
    dimension: eqx.AbstractVar[int]
    seeds: eqx.AbstractVar[int]

    @abstractmethod
    def problem(self, fraction: float) -> DataSetProblem:
        """The problem of one batch fraction, without dimension and number of seeds."""

    def cases(self, full: bool) -> dict[str, Case]:
        """`full` has dimension 1000 and 40 seeds."""
        size = {"dimension": 1000 if full else self.dimension, "run.replicas": 40 if full else self.seeds}
        runs = (MultiPassSGD(), self.theory)
        return {f"{b:g}": Case(self.problem(b).replace(**size), runs) for b in self.fractions}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all observables along all runs."""
        return run_cases(self.cases(full), watch)

    def agreement(self, data: xr.DataTree) -> Claim:
        """The claim that the theory is right about every observable."""
        worst = largest(data, self.names, self.theory.title, _NAMES)
        return Claim(
            "largest difference of any observable at any time, in combined standard errors", worst, 0.0, _SIGMAS
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The cases."""
        return tuple(f"{b:g}" for b in self.fractions)

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Four observables against time; colour, line and marker are those of a batch fraction."""
        figure.set_size_inches(10, 6.4)
        for axes, (name, quantity) in zip(figure.subplots(2, 2).flat, OBSERVABLES.items(), strict=True):
            for number, (case, colour) in enumerate(zip(self.names, COLOURS, strict=False)):
                label = "full batch" if case == "1" else f"batch fraction {case}"
                draw_pair(axes, *self.pair(data, case), name, colour, label, number)
            axes.set(xlabel="time $t$ = steps × rate", ylabel=quantity)
        figure.axes[0].legend(title=f"lines: {self.theory.title}; markers: SGD ± 2 s.e.", handlelength=4)
        figure.suptitle(self.title)

    def pair(self, data: xr.DataTree, case: str) -> tuple[xr.Dataset, xr.Dataset]:
        """SGD and theory of one case."""
        return data[f"{case}/multi-pass"].to_dataset(), data[f"{case}/{self.theory.title}"].to_dataset()

    def seconds(self, full: bool) -> float:
        return price(self.cases(full))


class MixtureVanilla(Mixture):
    """Batches drawn anew at every step."""

    name: ClassVar[str] = "mixture-vanilla"
    title: ClassVar[str] = "Two clusters, vanilla mini-batches: multi-pass SGD follows dynamical mean-field theory"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    theory: AnyDescription = DMFT()
    fractions: tuple[float, ...] = (1.0, 0.6, 0.3, 0.1)
    dimension: int = 700
    seeds: int = 20
    gradient: Literal["sum", "mean"] = "sum"
    level: float = 0.2  # of the error on fresh samples, which all batches reach

    def problem(self, fraction: float) -> DataSetProblem:
        return two_clusters(batch_fraction=fraction, gradient=self.gradient)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The theory holds; summed gradients of small batches are slow in proportion."""
        smallest, whole = (self.pair(data, case)[0] for case in (self.names[-1], self.names[0]))
        slower = _reaches(smallest, self.level) / _reaches(whole, self.level)
        losses = [float(observed(self.pair(data, case)[0], "train_loss")[-1].mean()) for case in self.names]
        return (
            self.agreement(data),
            Claim(
                f"time to error {self.level:g}: batch fraction {self.names[-1]} over full batch, times {self.names[-1]}",
                slower * self.fractions[-1],
                0.85,
                1.25,
            ),
            Claim("final training loss grows as the batch shrinks: smallest ratio", _smallest_ratio(losses), 1.1, _INF),
        )


class MixturePersistent(Mixture):
    """Samples that stay in the batch, and out of it, for a while."""

    name: ClassVar[str] = "mixture-persistent"
    title: ClassVar[str] = "Two clusters, persistent mini-batches (1/τ = 0.6): SGD follows dynamical mean-field theory"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    theory: AnyDescription = DMFT()
    fractions: tuple[float, ...] = (1.0, 0.6, 0.3)  # 0.1 would need probabilities above one
    dimension: int = 700
    seeds: int = 20
    persistence: float | None = 1 / 0.6
    other: AnyDescription = DMFT()  # a theory that ignores persistence

    def problem(self, fraction: float) -> DataSetProblem:
        return two_clusters(batch_fraction=fraction, persistence=self.persistence)

    def cases(self, full: bool) -> dict[str, Case]:
        """The cases of the parent class, and the theory of vanilla SGD for the smallest batch."""
        vanilla = two_clusters(batch_fraction=self.fractions[-1])
        return super().cases(full) | {"vanilla": Case(vanilla, (self.other,))}

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The theory holds, and persistence makes a difference that the error bars see."""
        sgd = self.pair(data, self.names[-1])[0]
        without = data[f"vanilla/{self.other.title}"].to_dataset()
        tree = xr.DataTree.from_dict({"case/multi-pass": sgd, f"case/{self.other.title}": without})
        missed = largest(tree, ("case",), self.other.title, _NAMES)
        worse = np.max(observed(sgd, "risk").mean(axis=1) / observed(without, "risk").mean(axis=1))
        return (
            self.agreement(data),
            Claim(f"the same for the theory of vanilla SGD at batch fraction {self.names[-1]}", missed, 5.0, _INF),
            Claim("error of persistent SGD over that of vanilla SGD, largest over time", float(worse), 1.02, 1.2),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw the same figure, with the theory of vanilla SGD added."""
        super().draw(data, figure)
        without = data[f"vanilla/{self.other.title}"].to_dataset()
        for axes, name in zip(figure.axes, OBSERVABLES, strict=True):
            mean = observed(without, name).mean(axis=1)
            vanilla = f"vanilla, fraction {self.names[-1]}"
            axes.plot(without["time"], mean, ls=(0, (6, 1.5, 1, 1.5, 1, 1.5)), color="black", lw=1, label=vanilla)
        figure.axes[0].legend(title=f"lines: {self.theory.title}; markers: SGD ± 2 s.e.", handlelength=4)


class ThreeClustersEntry(Mixture):
    """The middle cluster has one label and both outer ones the other: no convex loss."""

    name: ClassVar[str] = "three-clusters"
    title: ClassVar[str] = (
        "Three clusters behind a door, a loss that is not convex: SGD follows dynamical mean-field theory"
    )
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    theory: AnyDescription = DMFT(ensembles=8)
    fractions: tuple[float, ...] = (1.0, 0.5)
    dimension: int = 700
    seeds: int = 20
    steps: int = 50

    def problem(self, fraction: float) -> DataSetProblem:
        """Training starts from an overlap of 0.3."""
        return DataSetProblem(
            data=ThreeClusters(samples=3.0, variance=0.05, threshold=0.7),
            training=MultiPass(learning_rate=0.2, batch_fraction=fraction),
            start=AlignedStart(overlap=0.3),
            run=Run(until=0.2 * self.steps, points=self.steps + 1, spacing="linear"),
        )

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The theory holds; the outer clusters are found, and forgotten a little when training goes on."""
        errors = [observed(self.pair(data, case)[0], "risk").mean(axis=1) for case in self.names]
        return (
            self.agreement(data),
            Claim(
                "least error on fresh samples over that at the start", float(errors[0].min() / errors[0][0]), 0.0, 0.2
            ),
            Claim("error at the end over the least one, full batch", float(errors[0][-1] / errors[0].min()), 1.4, 2.5),
        )


def two_clusters(**training: Any) -> DataSetProblem:
    """The setting of both figures of two clusters; 80 steps."""
    return DataSetProblem(
        data=TwoClusters(samples=2.0, variance=0.5),
        training=MultiPass(learning_rate=0.2, loss="logistic", **training),
        run=Run(until=16.0, points=81, spacing="linear"),
    )


def _reaches(run: xr.Dataset, level: float) -> float:
    """The first time at which the mean error is below the level, interpolated; infinite if never."""
    mean, time = observed(run, "risk").mean(axis=1), run["time"].values
    below = np.flatnonzero(mean <= level)
    if not len(below) or not below[0]:
        return float(time[0]) if len(below) else _INF
    at = below[0]
    return float(np.interp(level, [mean[at], mean[at - 1]], [time[at], time[at - 1]]))


def _smallest_ratio(values: list[float]) -> float:
    return min(later / earlier for earlier, later in pairwise(values))
