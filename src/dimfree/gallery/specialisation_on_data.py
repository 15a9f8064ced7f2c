"""How much data it takes for two units to learn two teachers (docs/theory/committee-dmft.md, the last table of section 7).

Full batches, at rates for which learning_rate * samples = 8, so that all samples together pull equally hard at every size.
With infinitely many samples this is descent on the risk itself, and each unit finds a teacher. With few samples, training fits
the noise instead.
"""

from typing import ClassVar

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.dataset.committee.fresh import solve_fresh
from dimfree.dataset.committee.problem import DataSetTeacher, NetworkMultiPass, NetworkProblem
from dimfree.dataset.committee.problem_model import network_model
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import risks
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.real.multi_pass import MultiPassSGD
from dimfree.gallery.agreement import COLOURS, draw_pair, mean_and_error, values_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.runs import Case, price, run_cases
from dimfree.problem.network import TwoLayer
from dimfree.problem.run import Run
from dimfree.problem.start import OverlapStart
from dimfree.progress import PartWatcher

_PULL = 8.0  # learning_rate * samples
_MANY = 1e9  # samples per dimension: descent on the risk, up to 1e-8
_Q = ((0.2, 0.0), (0.0, 0.2))
_DIMENSIONS = {1.0: 1000, 2.0: 1000, 8.0: 600, 32.0: 300}
_GAPS = {1.0: (0.25, 0.29), 2.0: (0.33, 0.38), 8.0: (0.63, 0.72), 32.0: (0.985, 1.005)}  # M_11 - M_12 after 60 steps


class SpecialisationOnData(Entry[xr.DataTree]):
    """Overlaps and risks in time for several sizes of the data set, beside descent on the risk."""

    name: ClassVar[str] = "specialisation-finite-data"
    title: ClassVar[str] = "How much data specialisation takes: with few samples two units overfit instead"
    cites: ClassVar[tuple[str, ...]] = ("gerbelot2024",)
    head_start: float = 0.05  # overlap of a unit with its own teacher at the start, in addition to 0.1 with both
    weight_decay: float = 0.0
    steps: int = 60
    samples: tuple[float, ...] = tuple(_DIMENSIONS)
    seeds: int = 16

    def problem(self, samples: float) -> NetworkProblem:
        """Two erf units and two teachers."""
        near, far, rate = 0.1 + self.head_start, 0.1 - self.head_start, _PULL / samples
        return NetworkProblem(
            dimension=_DIMENSIONS.get(samples, 300),
            data=DataSetTeacher(units=2, samples=samples, noise=0.01),
            network=TwoLayer(width=2),
            training=NetworkMultiPass(learning_rate=rate, weight_decay=self.weight_decay),
            start=OverlapStart(Q=_Q, M=((near, far), (far, near))),
            run=Run(until=self.steps * rate, points=self.steps + 1, spacing="linear", replicas=self.seeds),
        )

    def cases(self, full: bool) -> dict[str, Case]:
        """Theory and experiment for every size; `full` has four times the data sets."""
        more = {"run.replicas": self.seeds * (4 if full else 1)}
        return {f"{one:g}": Case(self.problem(one).replace(**more), (MultiPassSGD(), DMFT())) for one in self.samples}

    def measure(self, full: bool, watch: PartWatcher) -> xr.DataTree:
        """Runs, and descent on the risk, which needs none."""
        tree, model = run_cases(self.cases(full), watch), network_model(self.problem(_MANY))
        M = np.array([[0.1 + self.head_start, 0.1 - self.head_start], [0.1 - self.head_start, 0.1 + self.head_start]])
        found = solve_fresh(model, CommitteeStart(M, np.array(_Q), np.ones(2)), self.steps)
        risk = risks(model, found.M, found.Q, np.ones((self.steps + 1, 2)))
        curves = {"gap": ("step", found.M[:, 0, 0] - found.M[:, 0, 1]), "risk": ("step", risk)}
        tree["infinite"] = xr.DataTree(xr.Dataset(curves))
        return tree

    def claims(self, data: xr.DataTree) -> tuple[Claim, ...]:
        """The table, and when the risk is lowest."""
        found = []
        for one in self.samples:
            (mean, error), (real, own) = (self._gap(data, one, name) for name in ("dmft", "multi-pass"))
            off = np.abs(mean - real)[1:] / np.hypot(error, own)[1:]
            found += [
                Claim(f"M_11 - M_12 at the end with {one:g} samples per dimension", float(mean[-1]), *_GAPS[one]),
                Claim(
                    f"real training against dmft with {one:g}, in standard errors: largest", float(off.max()), 0.0, 4.0
                ),
            ]
        risk = {one: values_of(data, f"{one:g}/dmft", "risk").mean(axis=1) for one in self.samples}
        return (
            *found,
            Claim("the same on infinitely many samples", float(values_of(data, "infinite", "gap")[-1]), 0.986, 0.988),
            *(
                Claim(f"risk at the end over its lowest with {one:g}", float(values[-1] / values.min()), low, high)
                for one, values in risk.items()
                for low, high in ((1.05, 2.0) if one < 4 else (1.0, 1.0),)
            ),
        )

    def draw(self, data: xr.DataTree, figure: Figure) -> None:
        """What tells the teachers apart, and risks, against the step."""
        figure.set_size_inches(10.5, 4.2)
        gaps, risk = figure.subplots(1, 2)
        for number, one in enumerate(self.samples):
            pair = (data[f"{one:g}/{name}"].to_dataset() for name in ("multi-pass", "dmft"))
            real, limit = (_with_gap(run) for run in pair)
            for axes, name in ((gaps, "gap"), (risk, "risk")):
                draw_pair(axes, real, limit, name, COLOURS[number], f"{one:g} per dimension", number)
        for axes, name in ((gaps, "gap"), (risk, "risk")):
            axes.plot(values_of(data, "infinite", name), color="black", lw=1, label="infinitely many")
            axes.set(xlabel="step")
        gaps.set(ylabel="$M_{11} - M_{12}$ (± 2 s.e.)")
        risk.set(ylabel="risk on fresh samples (± 2 s.e.)", yscale="log", ylim=(2e-4, 0.2))
        gaps.legend(loc="upper left")
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """The sum over all runs, and descent on the risk."""
        return price(self.cases(full)) + 3.0

    def _gap(self, data: xr.DataTree, samples: float, account: str) -> tuple[np.ndarray, np.ndarray]:
        mean, error = mean_and_error(_with_gap(data[f"{samples:g}/{account}"].to_dataset())["gap"].values)
        return mean, np.maximum(error, 1e-12)


def _with_gap(run: xr.Dataset) -> xr.Dataset:
    """M_11 - M_12 and the risk against the number of steps."""
    M, steps = run["M"], np.arange(run.sizes["time"])
    return xr.Dataset({"gap": M[:, :, 0, 0] - M[:, :, 0, 1], "risk": run["risk"]}).assign_coords(time=steps)
