"""Why one start is not enough: an optimum for one start relies on its time of escape, and other starts escape later.

docs/theory/schedules.md, section 5, pitfall 3. Schedules optimised for one drawn start and for the mean over eight are judged
on eight others that neither has seen, by the ODE and by real SGD.
"""

from typing import ClassVar

import jax
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from dimfree.comparison.run import starts_of
from dimfree.gallery.entry import Claim, Entry, Watcher
from dimfree.gallery.optimal_schedule import geometric_mean
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, SphereStart, TwoLayer
from dimfree.problem import Run
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.optimise import optimise
from dimfree.questions.schedules.runs import judged, risks

_STARTS = 8
_COLOURS = {"constant": "black", "one start": "#7570b3", "mean of 8": "#d95f02"}


class ScheduleQuenched(Entry[xr.Dataset]):
    """Final risks from fresh starts under three schedules."""

    name: ClassVar[str] = "schedule-quenched"
    title: ClassVar[str] = "Schedules for one start and for many: late escapers pay for a rate that is low already"
    cites: ClassVar[tuple[str, ...]] = ("saad1997globally",)
    knots: int = 25
    until: float = 60.0

    def problem(self) -> OnePassProblem:
        """Phase retrieval on the sphere with label noise: the first overlap, of order d^(-1/2), decides when a start escapes."""
        return OnePassProblem(
            dimension=1000,
            data=Teacher(units=1, activation="square", scaling="sum", noise=0.1),
            network=TwoLayer(width=1, activation="square", scaling="sum"),
            training=OnePass(learning_rate=1.0, spherical=True),
            start=SphereStart(),
            run=Run(until=self.until),
        )

    def measure(self, full: bool, watch: Watcher) -> xr.Dataset:
        """Optimise twice, judge all on fresh starts."""
        problem, replicas = self.problem(), self._replicas(full)
        best: dict[str, Schedules] = {}
        for number, (name, starts) in enumerate((("one start", 1), ("mean of 8", _STARTS))):
            watch(name, 0.3 * number)
            best[name] = optimise(
                problem, knots=self.knots, starts=starts, against="hold-power", confirm="none", budget=np.inf
            )
        grid = best["mean of 8"].hunt.course.grid
        tried = {"constant": best["mean of 8"].schedules["constant"].written}
        tried |= {name: one.schedule for name, one in best.items()}
        fresh = problem.replace(**{"run.seed": 1, "run.starts": _STARTS, "run.replicas": _STARTS})
        unseen, ode, chain = starts_of(fresh, (OverlapChain(),)), [], []
        for number, written in enumerate(tried.values()):
            watch("fresh starts", 0.6 + 0.13 * number)
            ode.append(judged(problem, unseen, grid, written)[-1])
            chain.append(risks(problem, OverlapChain(), unseen, grid, written, jax.random.key(2), replicas)[-1])
        own = best["mean of 8"].schedules["optimal"].risks[-1]
        return xr.Dataset(
            {
                "ode": (("schedule", "start"), np.stack(ode)),
                "chain": (("schedule", "start", "replica"), np.stack(chain)),
                "own": ("start", own),
                "rate": (
                    ("schedule", "samples"),
                    [best["mean of 8"].rates("constant"), *(b.rates() for b in best.values())],
                ),
            },
            {"schedule": list(tried), "samples": best["mean of 8"].samples},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Averaging over starts costs little, and spares the late ones."""
        ode = geometric_mean(data["ode"], ["start"])
        real, mean = geometric_mean(data["chain"], ["start", "replica"]), data["chain"].mean(["start", "replica"])
        worst, latest = data["chain"].max(["start", "replica"]), data["ode"].max("start")
        return (
            Claim("constant over mean of 8, ODE on fresh starts", _ratio(ode, "constant", "mean of 8"), 1.5, np.inf),
            Claim("constant over mean of 8, SGD on fresh starts", _ratio(real, "constant", "mean of 8"), 1.5, np.inf),
            Claim("one start over mean of 8, ODE, worst start", _ratio(latest, "one start", "mean of 8"), 1.05, np.inf),
            Claim("one start over mean of 8, SGD, mean risk", _ratio(mean, "one start", "mean of 8"), 1.2, np.inf),
            Claim("one start over mean of 8, SGD, worst replica", _ratio(worst, "one start", "mean of 8"), 1.5, np.inf),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Rates; and final risks of single starts."""
        figure.set_size_inches(9.6, 4.2)
        left, right = figure.subplots(1, 2)
        order = np.argsort(data["ode"].sel(schedule="mean of 8").values)
        for number, (name, colour) in enumerate(_COLOURS.items()):
            one = data.sel(schedule=name)
            told = "best constant" if name == "constant" else f"optimised for {name}"
            left.plot(one["samples"], one["rate"], color=colour, label=told)
            x = np.arange(data.sizes["start"]) + 0.2 * (number - 1)
            right.plot(x, one["ode"].values[order], "_", color=colour, ms=12, mew=2)
            for place, replicas in zip(x, one["chain"].values[order], strict=True):
                right.plot(np.full(replicas.size, place), replicas, "o", color=colour, mfc="white", ms=2.5, alpha=0.7)
        left.set(xlabel="samples per dimension", ylabel="learning rate")
        left.legend(frameon=False)
        right.set(yscale="log", xlabel="fresh start, in order", ylabel="final risk (bars: ode; circles: SGD)")
        right.set_xticks([])
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Two searches, one with eight starts, and three chains."""
        return 16.0 + 2.0 * self._replicas(full)

    def _replicas(self, full: bool) -> int:
        """Of every fresh start."""
        return 32 if full else 4


def _ratio(found: xr.DataArray, one: str, other: str) -> float:
    return float(found.sel(schedule=one) / found.sel(schedule=other))
