"""Linear networks on a data set, exactly: training on too long, and a second layer that learns.

docs/theory/committee-dmft.md, sections 4 and 5.6. Theories are exact at infinite dimension, but for two erf units, whose
theory is solved by paths; markers are real training.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.committee.problem import DataSetTeacher, NetworkMultiPass, NetworkProblem
from dimfree.dataset.committee.problem_model import network_model
from dimfree.dataset.committee.spectral import solve_spectral
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.gallery.agreement import COLOURS, LINES, draw_pair, largest, values_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.network import TwoLayer
from dimfree.problem.run import Run
from dimfree.problem.start import OverlapStart
from dimfree.progress import PartWatcher

_STEP = "step"
ERF_STEPS = 40
_LONG, _NEAR_ONE = 400, (0.8, 1.0, 1.25)  # steps, and samples per dimension for which so many are taken


def linear_units(samples: float, noise: float, norm: float, steps: int, rate: float, **training: Any) -> NetworkProblem:
    """Two linear units and one linear teacher; units begin with this squared norm and no overlap."""
    return NetworkProblem(
        data=DataSetTeacher(units=1, activation="linear", samples=samples, noise=noise),
        network=TwoLayer(width=2, activation="linear"),
        training=NetworkMultiPass(learning_rate=rate, **training),
        start=OverlapStart(Q=((norm, 0.0), (0.0, norm)), M=((0.0,), (0.0,))),
        run=Run(until=steps * rate, points=steps + 1, spacing="linear"),
    )


def erf_units(noise: float, rate: float, **training: Any) -> NetworkProblem:
    """Two erf units and one erf teacher, with two samples per dimension."""
    return NetworkProblem(
        data=DataSetTeacher(units=1, samples=2.0, noise=noise),
        network=TwoLayer(width=2),
        training=NetworkMultiPass(learning_rate=rate, **training),
        start=OverlapStart(Q=((1.0, 0.0), (0.0, 1.0)), M=((0.3,), (-0.1,))),
        run=Run(until=ERF_STEPS * rate, points=ERF_STEPS + 1, spacing="linear"),
    )


class OverfittingInTime(Entry[xr.DataTree]):
    """Risk and training loss against time, for several sizes of the data set."""

    name: ClassVar[str] = "overfitting-in-time"
    title: ClassVar[str] = (
        "When to stop: the best time hardly depends on the data, what is lost by going on peaks at α = 1"
    )
    cites: ClassVar[tuple[str, ...]] = ("gerbelot2024",)
    noise: float = 0.5
    dimension: int = 400
    seeds: int = 12
    samples: tuple[float, ...] = (0.5, 0.8, 1.0, 1.25, 2.0, 4.0, 8.0)

    def cases(self, full: bool) -> dict[str, Case]:
        """The exact theory of each, and real training at as many samples as dimensions; `full` has four times the data sets."""
        cases = {}
        for alpha in self.samples:
            rate = {4.0: 0.267, 8.0: 0.164}.get(alpha, 0.3)
            problem = linear_units(alpha, self.noise, 0.1, 200, rate)
            real = {"dimension": self.dimension, "run.replicas": self.seeds * (4 if full else 1)}
            runs = (MultiPassSGD(), DMFT()) if alpha == 1 else (DMFT(),)
            cases[str(alpha)] = Case(problem.replace(**real), runs)
        for alpha in _NEAR_ONE:
            longer = linear_units(alpha, self.noise, 0.1, _LONG, 0.3).replace(**{"run.points": 3})
            cases[f"long {alpha}"] = Case(longer, (DMFT(),))
        return cases | {"erf": Case(erf_units(self.noise / 10, 1.5), (DMFT(),))}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The table of section 5.6."""
        risks = {alpha: self._theory(data, alpha)["risk"].values[:, 0] for alpha in self.samples}
        best = {alpha: int(np.argmin(risk)) for alpha, risk in risks.items()}
        lost = {alpha: float(risk[-1] - risk.min()) for alpha, risk in risks.items()}
        longest = [float(values_of(data, f"long {alpha}/dmft", "risk")[-1, 0]) for alpha in _NEAR_ONE]
        return (
            Claim("the earliest of all best times, in steps", min(best.values()), 5, 9),
            Claim("the latest", max(best.values()), 5, 9),
            Claim("lowest risk with as many samples as dimensions", float(risks[1.0].min()), 0.2643, 0.2653),
            Claim(
                "samples per dimension at which most is lost by training on",
                max(lost, key=lambda one: lost[one]),
                1.0,
                1.0,
            ),
            Claim(f"risk after {_LONG} steps with as many samples as dimensions", longest[1], 1.1853, 1.1863),
            Claim(
                "the same over the larger one of 0.8 and 1.25 times as many", longest[1] / max(longest[::2]), 1.30, 1.32
            ),
            Claim("risk at the end with 2 samples per dimension, noise/2", float(risks[2.0][-1]), 0.2495, 0.2505),
            Claim(
                "training loss at the end with 2 samples per dimension, noise/4",
                float(self._theory(data, 2.0)["train_loss"].values[-1, 0]),
                0.1245,
                0.1255,
            ),
            Claim(
                "real training against the theory, in standard errors: largest",
                largest(data, ("1.0",), "dmft", ("risk", "train_loss")),
                0.0,
                4.0,
            ),
            *self._erf_claims(data),
        )

    def _erf_claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The last line of section 5.6."""
        risk, loss = (values_of(data, "erf/dmft", name).mean(axis=1) for name in ("risk", "train_loss"))
        return (
            Claim("best time of two erf units, in steps", int(risk.argmin()), 15, 23),
            Claim("lowest risk of two erf units", float(risk.min()), 0.0296, 0.0310),
            Claim("risk of two erf units after 40 steps", float(risk[-1]), 0.0325, 0.0340),
            Claim("their training loss then, a fourth of the noise floor", float(loss[-1]), 0.0064, 0.0070),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks against time, and how much is lost by training past the best time."""
        figure.set_size_inches(10.5, 4.2)
        curves, lost = figure.subplots(1, 2)
        for number, alpha in enumerate((0.5, 1.0, 2.0, 4.0)):
            risk = self._theory(data, alpha)["risk"].values[:, 0]
            colour = COLOURS[number]
            curves.plot(
                np.arange(1, len(risk)), risk[1:], LINES[number], color=colour, label=f"{alpha:g} samples per dimension"
            )
            curves.plot([np.argmin(risk)], [risk.min()], "v", color=colour, ms=6)
        real = values_of(data, "1.0/multi-pass", "risk").mean(axis=1)
        at = np.unique(np.geomspace(1, len(real) - 1, 14).astype(int))
        curves.plot(at, real[at], "o", mfc="none", color="black", label="real training")
        risk = values_of(data, "erf/dmft", "risk").mean(axis=1)
        curves.plot(np.arange(1, len(risk)), risk[1:], color="black", label="2, two erf units and less noise")
        curves.plot([np.argmin(risk)], [risk.min()], "v", color="black", ms=6)
        curves.set(xscale="log", yscale="log", xlabel=_STEP, ylabel="risk on fresh samples", ylim=(0.009, 1))
        curves.legend(loc="lower center", ncols=2, fontsize=8)
        risks = [self._theory(data, alpha)["risk"].values[:, 0] for alpha in self.samples]
        lost.plot(self.samples, [risk[-1] for risk in risks], "o-", color=COLOURS[0], label="after 200 steps")
        lost.plot(
            self.samples, [risk.min() for risk in risks], "s--", color=COLOURS[1], label="stopped at the best time"
        )
        lost.set(xscale="log", xlabel="samples per dimension", ylabel="risk on fresh samples", ylim=(0, None))
        lost.set_xticks(self.samples, [f"{alpha:g}" for alpha in self.samples])
        lost.set_xticks([], minor=True)
        lost.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs."""
        return price(self.cases(full))

    def _theory(self, data: xr.DataTree, alpha: float) -> xr.Dataset:
        return data[f"{alpha}/dmft"].to_dataset()


class DeepLinear(Entry[xr.DataTree]):
    """Both layers of a linear network learn: theory, spectrum of the data and real training, and what is conserved."""

    name: ClassVar[str] = "deep-linear"
    title: ClassVar[str] = (
        "Two linear layers on a data set: theory, spectrum and experiment, and what both layers share"
    )
    cites: ClassVar[tuple[str, ...]] = ("gerbelot2024",)
    weight_decay: float = 0.0
    second_layer_rate: float = 0.5
    dimension: int = 600
    seeds: int = 16
    rates: tuple[float, ...] = (0.04, 0.02, 0.01)

    def problem(self, rate: float, steps: int, samples: float) -> NetworkProblem:
        """Units of different signs, of which one has an overlap with the teacher."""
        made = linear_units(samples, 0.2, 1.0, steps, rate, weight_decay=self.weight_decay)
        return made.replace(
            **{
                "network.second_layer": "trained",
                "network.second_layer_start": [1.0, 0.5],
                "training.second_layer_rate": self.second_layer_rate,
                "start.M": [[0.2], [0.1]],
            }
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Fewer and more samples than dimensions with real training, and slow training of theory alone."""
        real = {"dimension": self.dimension, "run.replicas": self.seeds * (4 if full else 1)}
        cases = {
            f"{alpha:g}": Case(self.problem(0.5, 60, alpha).replace(**real), (MultiPassSGD(), DMFT()))
            for alpha in (0.6, 2.0)
        }
        return cases | {
            f"rate {rate:g}": Case(self.problem(rate, round(2 / rate), 0.6), (DMFT(),)) for rate in self.rates
        }

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs, and the spectral route beside them."""
        tree = run_cases(self.cases(full), watch)
        for alpha in (0.6, 2.0):
            problem = self.problem(0.5, 60, alpha)
            start = CommitteeStart(np.array([[0.2], [0.1]]), np.eye(2), np.array([1.0, 0.5]))
            found = solve_spectral(network_model(problem), start, 60)
            tree[f"spectrum {alpha:g}"] = xr.DataTree(
                xr.Dataset({"M": (("time", "unit", "teacher"), found.M), "Q": (("time", "unit", "unit_"), found.Q)})
            )
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Both routes give the same numbers, and Q_ii - a_i²/eta_a is conserved up to an error of the order of the rate."""
        off = max(
            float(np.abs(values_of(data, f"{case}/dmft", name)[:, 0] - values_of(data, f"spectrum {case}", name)).max())
            for case in ("0.6", "2")
            for name in ("M", "Q")
        )
        drifts = [self.drift(data, rate) for rate in self.rates]
        return (
            Claim("theory minus the spectral route: largest", off, 0.0, 1e-10),
            Claim(
                "real training against the theory, in standard errors: largest",
                largest(data, ("0.6", "2"), "dmft", ("risk", "train_loss")),
                0.0,
                4.0,
            ),
            Claim("drift of Q_ii - a_i²/rate_a, over that at half the learning rate", drifts[0] / drifts[1], 1.9, 2.1),
            Claim("the same once more", drifts[1] / drifts[2], 1.9, 2.1),
        )

    def drift(self, data: xr.DataTree, rate: float) -> float:
        """How far what gradient flow conserves has moved, largest over units."""
        run = data[f"rate {rate:g}/dmft"].to_dataset()
        kept = np.einsum("tii->ti", run["Q"].values[:, 0]) - run["a"].values[:, 0] ** 2 / self.second_layer_rate
        return float(np.abs(kept[-1] - kept[0]).max())

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Draw risks, second layers, and the drift of what is conserved."""
        figure.set_size_inches(12, 4.0)
        risks, layers, drift = figure.subplots(1, 3)
        for number, case in enumerate(("0.6", "2")):
            real, exact = (data[f"{case}/{name}"].to_dataset() for name in ("multi-pass", "dmft"))
            draw_pair(risks, real, exact, "risk", COLOURS[number], f"{case} samples per dimension", number)
            for unit in range(2):
                values = exact["a"].values[:, 0, unit]
                layers.plot(exact["time"], values, LINES[unit], color=COLOURS[number], label=f"{case}, unit {unit + 1}")
        risks.set(xlabel="time $t$ = steps × rate", ylabel="risk on fresh samples")
        layers.set(xlabel="time $t$ = steps × rate", ylabel="second layer $a_i$")
        drift.loglog(self.rates, [self.drift(data, rate) for rate in self.rates], "o-", color=COLOURS[0])
        drift.set(xlabel="learning rate", ylabel=r"drift of $Q_{ii} - a_i^2/\eta_a$ at $t = 2$")
        drift.set_xticks(self.rates, [f"{rate:g}" for rate in self.rates])
        drift.set_xticks([], minor=True)
        risks.legend()
        layers.legend()
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs."""
        return price(self.cases(full)) + 2.0
