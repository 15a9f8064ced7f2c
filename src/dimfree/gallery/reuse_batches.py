"""A batch that is used twice finds what fresh batches never see (docs/theory/committee-dmft.md, section 5.5).

One unit learns He3 of one direction, from a start without any overlap. The gradient of the first step says nothing of the
direction, nor does that of any step on fresh samples. A second step on the same samples does: their fields contain their labels.
For an even link, He2, symmetry forbids it.
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.problem import DataSetTeacher, NetworkMultiPass, NetworkProblem
from dimfree.dataset.committee.problem_model import network_model
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.two_steps import two_steps
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.description import AnyDescription
from dimfree.gallery.agreement import COLOURS, draw_pair, mean_and_error, values_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.network import TwoLayer
from dimfree.problem.run import Run
from dimfree.problem.start import OverlapStart
from dimfree.progress import PartWatcher

_START = CommitteeStart(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1))
_LAW = 30.86  # |M(2)|/(alpha eta³) of erf units as eta goes to 0
_RATES = (0.04, 0.02, 0.01, 0.005)
_QUADRATURES = 8.0  # CPU seconds
_SAMPLES, _RATE = 3.0, 0.3
_LABELS = {"reused": "one batch, used again", "fresh": "a fresh batch at every step", "even": "He2, one batch"}


class ReuseBatches(Entry[xr.DataTree]):
    """Overlaps with the teacher after a few steps on one batch and on fresh ones."""

    name: ClassVar[str] = "reuse-batches"
    title: ClassVar[str] = "A batch used twice finds what fresh batches never see: He3"
    cites: ClassVar[tuple[str, ...]] = ("dandi2024", "gerbelot2024")
    theory: AnyDescription = DMFT(paths=32_000, ensembles=24)
    link: str = "he3"
    fresh_too: bool = False  # if true, wrong on purpose: the batch that should be reused is drawn anew, too
    dimension: int = 500
    seeds: int = 30
    steps: int = 6

    def problem(self, case: str) -> NetworkProblem:
        """He3 or He2, on one batch or on as many fresh ones as there are steps."""
        fresh = case == "fresh" or self.fresh_too
        batches = {"batches": "one-pass", "batch_fraction": 1 / self.steps} if fresh else {}
        return NetworkProblem(
            dimension=self.dimension,
            data=DataSetTeacher(
                units=1,
                activation="he2" if case == "even" else self.link,
                samples=_SAMPLES * (self.steps if fresh else 1),
                noise=0.0,
            ),
            network=TwoLayer(width=1, activation="tanh"),
            training=NetworkMultiPass(learning_rate=_RATE, **batches),
            start=OverlapStart(Q=((1.0,),), M=((0.0,),)),
            run=Run(until=self.steps * _RATE, points=self.steps + 1, spacing="linear", replicas=self.seeds),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Theory and experiment of each; `full` has four times as many data sets."""
        more = {"run.replicas": self.seeds * (4 if full else 1)}
        return {name: Case(self.problem(name).replace(**more), (MultiPassSGD(), self.theory)) for name in _LABELS}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs, and two steps by quadrature."""
        tree = run_cases(self.cases(full), watch)
        model = network_model(self.problem("reused"))
        reused, fresh = (two_steps(model, _START, reused=same and not self.fresh_too).M[2] for same in (True, False))
        even = two_steps(network_model(self.problem("even")), _START, reused=True).M[2]
        erf = self.problem("reused").replace(**{"network.activation": "erf"})
        law = [_second(network_model(erf), rate) / (_LAW * _SAMPLES * rate**3) for rate in _RATES]
        exact = {"M2": ("batch", [reused, fresh, even]), "law": ("rate", law)}
        tree["exact"] = xr.DataTree(xr.Dataset(exact, {"batch": [*_LABELS], "rate": [*_RATES]}))
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The numbers of section 5.5."""
        reused, fresh, even = np.abs(values_of(data, "exact", "M2"))
        sizes = {case: self._overlap(data, case, "multi-pass") for case in _LABELS}
        away = {case: np.max(np.abs(mean[1:]) / error[1:]) for case, (mean, error) in sizes.items()}
        theory, own = self._overlap(data, "reused", self.theory.title)
        mean, error = sizes["reused"]
        off = np.abs(mean - theory)[2:] / np.hypot(error, own)[2:]
        return (
            Claim("|M(2)| with He3 on a reused batch, by quadrature", reused, 0.2155, 0.2163),
            Claim("|M(2)| on fresh batches, by quadrature", fresh, 0.0, 1e-6),
            Claim("|M(2)| with He2 on a reused batch, by quadrature", even, 0.0, 1e-6),
            Claim(
                "|M(2)|/(30.86 alpha rate³) of erf units at the smallest rate",
                values_of(data, "exact", "law")[-1],
                0.99,
                1.0,
            ),
            Claim(
                "real |M| on a reused batch after the last step, in standard errors",
                abs(mean[-1] / error[-1]),
                10.0,
                1e9,
            ),
            Claim("real |M| on fresh batches, in standard errors: largest", away["fresh"], 0.0, 4.0),
            Claim(
                "real training against dmft on a reused batch, in standard errors: largest", float(off.max()), 0.0, 4.0
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Overlaps against the step, and the law of small rates."""
        figure.set_size_inches(10.5, 4.0)
        runs, law = figure.subplots(1, 2)
        for number, (case, label) in enumerate(_LABELS.items()):
            real, limit = (_alone(data[f"{case}/{name}"].to_dataset()) for name in ("multi-pass", self.theory.title))
            draw_pair(runs, real, limit, "m", COLOURS[number], label, number)
        exact = values_of(data, "exact", "M2")[0]
        runs.plot([2], [exact], "*", color="black", ms=11, label="two steps by quadrature")
        runs.set(xlabel="step", ylabel="overlap $M$ with the teacher (± 2 s.e.)")
        runs.legend()
        law.plot(_RATES, values_of(data, "exact", "law"), "o-", color=COLOURS[0])
        law.axhline(1, color="0.4", ls="--", lw=1)
        law.set(xscale="log", xlabel=r"learning rate $\eta$", ylabel=r"$|M(2)| / (30.86\,\alpha\,\eta^3)$, erf unit")
        law.set_xticks(_RATES, [str(rate) for rate in _RATES])
        law.set_xticks([], minor=True)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs, and the quadratures."""
        return price(self.cases(full)) + _QUADRATURES

    def _overlap(self, data: xr.DataTree, case: str, name: str) -> tuple[np.ndarray, np.ndarray]:
        mean, error = mean_and_error(values_of(data, f"{case}/{name}", "M")[:, :, 0, 0])
        return mean, np.maximum(error, 1e-12)


def _second(model: CommitteeModel, rate: float) -> float:
    """|M(2)| on a reused batch at another rate."""
    slower = eqx.tree_at(lambda one: one.eta, model, jnp.asarray(rate))
    return abs(two_steps(slower, _START, reused=True).M[2])


def _alone(run: xr.Dataset) -> xr.Dataset:
    """The single overlap as m, against the number of steps."""
    return xr.Dataset({"m": run["M"].isel(unit=0, teacher=0)}).assign_coords(time=np.rint(run["time"].values / _RATE))
