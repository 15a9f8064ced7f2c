"""Five ways to draw batches from one data set (docs/theory/committee-dmft.md, section 1.2).

Two erf units learn a teacher of one unit. The gradient of a batch is divided by the batch's share of the data set, so that all
protocols have the same mean gradient and differ only in the order in which they see samples. Lines are path DMFT, markers are
real training.
"""

from typing import Any, ClassVar

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dimfree.dataset.committee.problem import DataSetTeacher, NetworkMultiPass, NetworkProblem
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.gallery.agreement import COLOURS, draw_pair, largest, mean_and_error, values_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.network import TwoLayer
from dimfree.problem.run import Run
from dimfree.problem.start import OverlapStart
from dimfree.progress import PartWatcher

_RATE, _STEPS, _EARLY = 2.0, 40, 20
_PERSISTENCE = 6 * _RATE
_LABELS = {
    "full": "full batch",
    "cyclic": "epochs in fixed order",
    "reshuffle": "reshuffled epochs",
    "vanilla": "drawn anew",
    "persistent": "persistent",
}
_RATIOS = {"cyclic": (1.58, 1.70), "reshuffle": (1.72, 1.84), "vanilla": (1.97, 2.13), "persistent": (2.33, 2.52)}


class BatchProtocols(Entry[xr.DataTree]):
    """Loss on the data set and risk on fresh samples, for five protocols of batches."""

    name: ClassVar[str] = "batch-protocols"
    title: ClassVar[str] = (
        "How batches are drawn: epochs fit the data set soonest; the risk on fresh samples hardly notices"
    )
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020", "gerbelot2024")
    batch_fraction: float = 0.25
    dimension: int = 1000
    seeds: int = 24

    def problem(self, protocol: str) -> NetworkProblem:
        """One unit of the network begins nearer to the teacher than the other."""
        batches: dict[str, Any] = {"batch_fraction": 1.0 if protocol == "full" else self.batch_fraction}
        if protocol in ("cyclic", "reshuffle"):
            batches["batches"] = protocol
        if protocol == "persistent":
            batches["persistence"] = _PERSISTENCE
        return NetworkProblem(
            dimension=self.dimension,
            data=DataSetTeacher(units=1, samples=2.0, noise=0.1),
            network=TwoLayer(width=2),
            training=NetworkMultiPass(learning_rate=_RATE, gradient="mean", **batches),
            start=OverlapStart(Q=((1.0, 0.0), (0.0, 1.0)), M=((0.3,), (0.1,))),
            run=Run(
                until=_STEPS * _RATE,
                points=_STEPS + 1,
                spacing="linear",
                replicas=self.seeds,
                seed=[*_LABELS].index(protocol),
            ),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Theory and real training for every protocol; `full` has four times as many data sets."""
        more = {"run.replicas": self.seeds * (4 if full else 1)}
        return {one: Case(self.problem(one).replace(**more), (MultiPassSGD(), DMFT())) for one in _LABELS}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """All of them."""
        return run_cases(self.cases(full), watch)

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """How much more slowly each protocol fits the data set, and that real training agrees."""
        loss = {one: values_of(data, f"{one}/dmft", "train_loss")[_EARLY].mean() for one in _LABELS}
        last = {one: mean_and_error(values_of(data, f"{one}/dmft", "risk")[-1:]) for one in _LABELS}
        (soon, first), (late, second) = last["cyclic"], last["persistent"]
        risks = [float(last[one][0][0]) for one in _RATIOS]
        return (
            *(
                Claim(f"loss on the data set after {_EARLY} steps, {_LABELS[one]}, over full batch", ratio, low, high)
                for one, (low, high) in _RATIOS.items()
                for ratio in (float(loss[one] / loss["full"]),)
            ),
            Claim(
                "risk after the last step: epochs in fixed order minus persistent, in standard errors",
                float(((soon - late) / np.hypot(first, second))[0]),
                5.0,
                np.inf,
            ),
            Claim("largest of these risks over the smallest", max(risks) / min(risks), 1.02, 1.06),
            Claim(
                "real training against dmft, in standard errors: largest of risk and loss",
                largest(data, tuple(_LABELS), "dmft", ("risk", "train_loss")),
                0.0,
                4.5,
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """Both losses against the step."""
        figure.set_size_inches(10.5, 4.2)
        loss, risk = figure.subplots(1, 2)
        for axes, name in ((loss, "train_loss"), (risk, "risk")):
            self._draw(data, axes, name)
        loss.set(yscale="log", ylabel="loss on the data set, mean (± 2 s.e.)")
        risk.set(ylabel="risk on fresh samples (± 2 s.e.)", ylim=(0.04, 0.14))
        loss.legend()
        figure.suptitle(self.title)

    def _draw(self, data: xr.DataTree, axes: Axes, name: str) -> None:
        for number, (one, label) in enumerate(_LABELS.items()):
            pair = (data[f"{one}/{account}"].to_dataset() for account in ("multi-pass", "dmft"))
            real, limit = (run.assign_coords(time=np.rint(run["time"].values / _RATE)) for run in pair)
            draw_pair(axes, real, limit, name, ("black", *COLOURS)[number], label, number)
        axes.set(xlabel="step", xlim=(1, _STEPS))

    def seconds(self, full: bool) -> float:
        """The sum over all runs."""
        return price(self.cases(full))
