"""Sign retrieval: |w*.x| is known and its sign is not. Persistent SGD recovers w*, other batches mostly get stuck.

docs/theory/dmft.md, section 1.3: on the sphere, warm start m = 0.15, alpha = 3.4, eta = 0.06, loss (y² - h²)²/4, batches of
60 % of all samples; in persistent batches a sample stays outside for a mean time of 2. The noise of the batches anneals
itself: two runs on the same data with different batches separate, and meet again at w*, where every gradient vanishes. DMFT
is compared at early times and, in full size, followed through the recovery.
"""

from typing import Any, ClassVar

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.dataset.dataset_model import descent_model
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import AlignedStart, DataSetProblem, MultiPass, PhaseRetrieval
from dimfree.dataset.real.descent import replica_overlap
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import AnyDescription
from dimfree.gallery.agreement import draw_pair, largest, mean_and_error, observed
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.run import Run
from dimfree.progress import PartWatcher

PROTOCOLS = {"full batch": "#7570b3", "vanilla": "#1b9e77", "persistent": "#d95f02"}
_RATE, _START, _BATCH = 0.06, 0.15, 0.6
_RECOVERED, _MET = 0.97, 0.05


class SignRetrieval(Entry[xr.DataTree]):
    """Long runs of three protocols on the same data, pairs of persistent runs, and the theory at early times."""

    name: ClassVar[str] = "sign-retrieval"
    title: ClassVar[str] = "Sign retrieval: persistent SGD recovers the signal where other batches mostly get stuck"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2021",)
    theory: AnyDescription = DMFT(
        paths=16_000, ensembles=24
    )  # forces are heavy-tailed: few ensembles know their own error badly
    late_theory: AnyDescription = DMFT(paths=12_000, ensembles=3)
    persistence: float | None = 2.0
    samples: float = 3.4
    dimension: int = 500
    seeds: int = 12
    steps: int = 3500
    early: int = 60  # steps, with the theory
    late: int = 1800  # steps of the theory in full size
    sizes: tuple[int, int] = (250, 1000)  # of the early runs

    def problem(self, protocol: str) -> DataSetProblem:
        """The problem with one of the protocols."""
        training = {"batch_fraction": 1.0 if protocol == "full batch" else _BATCH}
        lasting = self.persistence if protocol == "persistent" else None
        return DataSetProblem(
            dimension=self.dimension,
            data=PhaseRetrieval(samples=self.samples, scale=0.25),
            training=MultiPass(learning_rate=_RATE, spherical=True, persistence=lasting, **training),
            start=AlignedStart(overlap=_START, variance=1 - _START**2),
            run=Run(until=self.steps * _RATE, replicas=self.seeds, points=40, spacing="log"),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """`full` doubles the dimension of the long runs and follows the theory through the recovery."""
        cases = {}
        soon = {"run.until": self.early * _RATE, "run.spacing": "linear", "run.replicas": 48}
        late = {"run.until": self.late * _RATE, "run.points": 60}
        for protocol in PROTOCOLS:
            problem = self.problem(protocol).replace(dimension=self.dimension * (2 if full else 1))
            cases[f"long {protocol}"] = Case(problem, (MultiPassSGD(),))
            small, large = (problem.replace(dimension=size, **soon) for size in self.sizes)
            cases[f"small {protocol}"] = Case(small, (MultiPassSGD(),))
            cases[f"early {protocol}"] = Case(large, (MultiPassSGD(), self.theory))
            if full:
                cases[f"late {protocol}"] = Case(problem.replace(**late), (self.late_theory,))
        return cases

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Measure all runs, and the squared distance of persistent pairs."""
        cases = self.cases(full)
        share = price(cases) / self.seconds(full)
        tree = run_cases(cases, lambda text, fraction: watch(text, share * fraction))
        problem = cases["long persistent"].problem
        limit, times = descent_model(problem).limit, problem.times
        steps = np.rint(times / _RATE).astype(int).tolist()
        overlap = replica_overlap(limit, problem.dimension, steps, jax.random.key(1), self.seeds)
        distance = 2 * (1 - np.abs(np.einsum("stt->ts", overlap)))
        tree["pairs"] = xr.DataTree(
            xr.Dataset({"distance": (("time", "replica"), distance)}, {"time": times}, {"dimension": problem.dimension})
        )
        watch("pairs", 1.0)
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """Which runs recover, what happens to the noise, and that the theory holds at early times."""
        found = {protocol: _final(data, protocol) for protocol in PROTOCOLS}
        recovered = {protocol: float((m > _RECOVERED).mean()) for protocol, m in found.items()}
        gain = float(found["persistent"].mean() - max(found["full batch"].mean(), found["vanilla"].mean()))
        distance = data["pairs"].to_dataset()["distance"]
        early = tuple(f"early {protocol}" for protocol in PROTOCOLS)
        spread = [observed(_run(data, f"{size} persistent"), "m")[-1].std(ddof=1) for size in ("small", "early")]
        expected = np.sqrt(self.sizes[1] / self.sizes[0])
        best = max(recovered["full batch"], recovered["vanilla"])
        return (
            Claim(f"part of the persistent runs that end at |m| > {_RECOVERED}", recovered["persistent"], 0.7, 1.0),
            Claim("the same with the full batch", recovered["full batch"], 0.0, 0.45),
            Claim("the same with vanilla batches", recovered["vanilla"], 0.0, 0.45),
            Claim("part that only persistent batches recover", recovered["persistent"] - best, 0.35, 1.0),
            Claim("mean final |m|, persistent minus the better of the others", gain, 0.15, 0.8),
            Claim(
                "mean squared distance of two persistent runs, largest", float(distance.mean("replica").max()), 0.5, 2.0
            ),
            Claim(f"part of these pairs that end closer than {_MET}", float((distance[-1] < _MET).mean()), 0.4, 1.0),
            Claim(
                "theory at early times: largest difference of overlap and loss, in combined standard errors",
                largest(data, early, self.theory.title, ("m", "train_loss")),
                0.0,
                3.5,
            ),
            Claim(
                "runs scatter like N^(-1/2) at early times: measured over expected",
                float(spread[0] / spread[1] / expected),
                0.6,
                1.6,
            ),
            *self._late_claims(data),
        )

    def _late_claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """What the theory says about recovery; only checked in full size."""
        if "late persistent" not in data:
            return ()
        found = {p: float(_late(data, p, self.late_theory)["m"].values[-1].mean()) for p in PROTOCOLS}
        gain = found["persistent"] - max(found["full batch"], found["vanilla"])
        return (
            Claim("final overlap in the theory, persistent: mean over ensembles", found["persistent"], 0.8, 1.0),
            Claim("the same, minus the better of the other batches", gain, 0.15, 0.8),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Overlap and loss of all long runs, the distance of pairs, and the theory."""
        figure.set_size_inches(10.5, 7)
        overlap, loss, pairs, early = figure.subplots(2, 2).flat
        for protocol, colour in PROTOCOLS.items():
            run = _run(data, f"long {protocol}").isel(time=slice(1, None))
            _draw_runs(overlap, run["time"].values, np.abs(run["m"].values), colour, protocol)
            _draw_runs(loss, run["time"].values, run["train_loss"].values, colour, protocol)
            sgd, theory = _run(data, f"early {protocol}"), data[f"early {protocol}/{self.theory.title}"].to_dataset()
            draw_pair(early, sgd, theory, "m", colour, protocol)
        N = data["pairs"].attrs["dimension"]
        if "late persistent" in data:
            self._draw_late(overlap, data)
        overlap.set(xscale="log", ylabel="overlap $|m|$", title=f"single runs (thin) and their mean, $N$ = {N}")
        overlap.legend()
        loss.set(xscale="log", yscale="log", ylim=(1e-6, None), ylabel="loss on the data set")
        distance = data["pairs"].to_dataset()["distance"].isel(time=slice(1, None))
        _draw_runs(pairs, distance["time"].values, distance.values, PROTOCOLS["persistent"], "persistent")
        pairs.set(xscale="log", ylabel="squared distance $2(1 - |C_{12}|)$", title="two runs, same data, other batches")
        early.set(ylabel="overlap $m$", title=f"lines: {self.theory.title}; dots: SGD ± 2 s.e., $N$ = {self.sizes[1]}")
        early.legend()
        for axes in figure.axes:
            axes.set_xlabel("time $t$ = steps × rate")
        figure.suptitle(self.title)

    def _draw_late(self, axes: Axes, data: xr.DataTree) -> None:
        for protocol, colour in PROTOCOLS.items():
            late = _late(data, protocol, self.late_theory).isel(time=slice(1, None))
            axes.plot(late["time"], late["m"].mean("replica"), color=colour, ls="--", lw=1.5)
        axes.plot([], [], color="0.4", ls="--", lw=1.5, label=f"{self.late_theory.title}")

    def seconds(self, full: bool) -> float:
        """The sum over all runs; pairs cost two of them."""
        cases = self.cases(full)
        return price(cases) + 2 * cases["long persistent"].seconds


def _run(data: xr.DataTree, case: str) -> xr.Dataset:
    return data[f"{case}/multi-pass"].to_dataset()


def _late(data: xr.DataTree, protocol: str, theory: AnyDescription) -> xr.Dataset:
    return data[f"late {protocol}/{theory.title}"].to_dataset()


def _final(data: xr.DataTree, protocol: str) -> Float64[np.ndarray, " seed"]:
    """|m| at the end: the mirror image of the signal explains the data as well."""
    return np.abs(observed(_run(data, f"long {protocol}"), "m")[-1])


def _draw_runs(axes: Axes, time: Any, values: Float64[np.ndarray, "time seed"], colour: str, label: str) -> None:
    axes.plot(time, values, color=colour, lw=0.5, alpha=0.4)
    axes.plot(time, mean_and_error(values)[0], color=colour, lw=2, label=label)
