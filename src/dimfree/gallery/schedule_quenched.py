"""Why one start is not enough: an optimum for one start relies on its time of escape, and other starts escape later.

docs/theory/schedules.md, section 5, "open loop". A schedule optimised for the average start (whose overlap squared is the mean
1/d of drawn starts) and one for the mean over eight drawn starts are judged on fresh starts, by the ODE and by real SGD with
the same samples: runs that escape early gain from the former, and those that escape late pay for a rate that is low already.
"""

from typing import ClassVar

import jax
import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from dimfree.comparison.run import starts_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.optimal_schedule import geometric_mean
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, OverlapStart, SphereStart, TwoLayer
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.optimise import optimise
from dimfree.questions.schedules.runs import judged, risks
from dimfree.readings.landmarks import crossing_times

Vector = Float[np.ndarray, " run"]
_COLOURS = {"constant": ("black", ":"), "average start": ("#7570b3", "--"), "mean of 8": ("#d95f02", "-")}
_EARLY, _LATE = 0.5, 0.75  # of the runs in order of escape: the first half, and the last quarter


class ScheduleQuenched(Entry[xr.Dataset]):
    """Final risks from fresh starts under three schedules."""

    name: ClassVar[str] = "schedule-quenched"
    title: ClassVar[str] = "Schedules for one start and for many: late escapers pay for a rate that is low already"
    cites: ClassVar[tuple[str, ...]] = ("saad1997globally",)
    knots: int = 25
    until: float = 60.0
    overlap: float = 1.0  # of the one start, in units of d^(-1/2)
    fresh: int = 16  # starts
    seed: int = 0

    def problem(self) -> OnePassProblem:
        """Phase retrieval on the sphere with label noise: the first overlap, of order d^(-1/2), decides when a start escapes."""
        return OnePassProblem(
            dimension=1000,
            data=Teacher(units=1, activation="square", scaling="sum", noise=0.1),
            network=TwoLayer(width=1, activation="square", scaling="sum"),
            training=OnePass(learning_rate=1.0, spherical=True),
            start=SphereStart(),
            run=Run(until=self.until, seed=2 * self.seed),
        )

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Optimise twice, judge all on fresh starts."""
        problem = self.problem()
        one = OverlapStart(Q=((1.0,),), M=((self.overlap * problem.dimension**-0.5,),))
        watch("average start", 0.0)
        alone = self._best(problem.replace(start=one), 1)
        watch("mean of 8", 0.25)
        many = self._best(problem, 8)
        grid, constant = many.hunt.course.grid, many.schedules["constant"].written
        tried = {"constant": constant, "average start": alone.schedule, "mean of 8": many.schedule}
        others = {"run.seed": 2 * self.seed + 1, "run.starts": self.fresh, "run.replicas": self.fresh}
        unseen, ode, chain = starts_of(problem.replace(**others), (OverlapChain(),)), [], []
        for number, written in enumerate(tried.values()):
            watch("fresh starts", 0.45 + 0.18 * number)
            ode.append(judged(problem, unseen, grid, written)[-1])
            key = jax.random.key(2 + self.seed)
            chain.append(risks(problem, OverlapChain(), unseen, grid, written, key, self._replicas(full)))
        course = xr.DataArray(chain[-1], dims=("time", "start", "replica"), coords={"time": many.samples})
        return xr.Dataset(
            {
                "ode": (("schedule", "start"), np.stack(ode)),
                "chain": (("schedule", "start", "replica"), np.stack([one[-1] for one in chain])),
                "escape": crossing_times(course / course[0], 0.5),
                "rate": (("schedule", "samples"), [many.rates("constant"), alone.rates(), many.rates()]),
            },
            {"schedule": list(tried), "samples": many.samples},
        )

    def _best(self, problem: OnePassProblem, starts: int) -> Schedules:
        return optimise(problem, knots=self.knots, starts=starts, against="hold-power", confirm="none", budget=np.inf)

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Averaging over starts costs early escapers little, and spares the late ones."""
        ode, real = geometric_mean(data["ode"], ["start"]), geometric_mean(data["chain"], ["start", "replica"])
        apart, latest = _apart(data), data["ode"].max("start")
        early, late = apart[: int(_EARLY * apart.size)], apart[int(_LATE * apart.size) :]
        order = np.corrcoef(np.arange(apart.size), np.argsort(np.argsort(apart)))[0, 1]
        return (
            Claim("constant over mean of 8, ODE on fresh starts", _ratio(ode, "constant", "mean of 8"), 1.5, np.inf),
            Claim("constant over mean of 8, SGD on fresh starts", _ratio(real, "constant", "mean of 8"), 1.5, np.inf),
            Claim(
                "average start over mean of 8, ODE, latest", _ratio(latest, "average start", "mean of 8"), 1.2, np.inf
            ),
            Claim("the same, SGD, median of the first half to escape", float(np.exp(np.median(early))), 0.0, 0.95),
            Claim("the same, SGD, median of the last quarter to escape", float(np.exp(np.median(late))), 1.15, np.inf),
            Claim("rank correlation of a run's escape with that ratio", float(order), 0.8, 1.0),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Rates; and what every run of SGD loses by a schedule for another start, against its escape."""
        figure.set_size_inches(9.6, 4.2)
        left, right = figure.subplots(1, 2)
        for name, (colour, line) in _COLOURS.items():
            one = data.sel(schedule=name)
            label = "best constant" if name == "constant" else f"optimised for the {name}"
            left.plot(one["samples"], one["rate"], line, color=colour, label=label)
        left.set(xlabel="samples per dimension", ylabel="learning rate")
        left.legend(frameon=False)
        apart, escape = np.exp(_apart(data)), np.sort(_escape(data))
        left_it = np.isfinite(escape)
        right.plot(
            escape[left_it], apart[left_it], "o", color="black", mfc="white", ms=3, alpha=0.7, label="runs of SGD"
        )
        for quarter in np.array_split(np.arange(apart.size), 4):
            there = quarter[left_it[quarter]]
            ends, middle = escape[there[[0, -1]]], np.median(apart[quarter])
            right.plot(
                ends, [middle] * 2, color="#d95f02", lw=2, label="median of a quarter" if quarter[0] == 0 else ""
            )
        right.axhline(1.0, color="grey", lw=1, ls=":")
        right.set(yscale="log", xlabel="samples per dimension until half of the risk is lost")
        right.set_ylabel("final risk, average start over mean of 8")
        right.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
        right.legend(frameon=False)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Two searches, one with eight starts, and three schedules on fresh starts."""
        return 24.0 + self.fresh * (0.6 + 0.08 * self._replicas(full))

    def _replicas(self, full: bool) -> int:
        """Of every fresh start."""
        return 32 if full else 8


def _escape(data: xr.Dataset) -> Vector:
    """When each run has lost half of its risk under the mean of 8; infinite for those that never do."""
    return np.asarray(data["escape"].fillna(np.inf).values.ravel())


def _apart(data: xr.Dataset) -> Vector:
    """By how much the log-risk of each run is higher with the schedule for the average start, in order of escape."""
    one, other = (data["chain"].sel(schedule=name).values.ravel() for name in ("average start", "mean of 8"))
    return np.log(one / other)[np.argsort(_escape(data), kind="stable")]


def _ratio(found: xr.DataArray, one: str, other: str) -> float:
    return float(found.sel(schedule=one) / found.sel(schedule=other))
