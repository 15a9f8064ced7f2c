"""Why one start is not enough: an optimum for one start relies on its time of escape, and other starts escape later.

docs/theory/schedules.md, section 5, "open loop". A schedule optimised for the average start (whose overlap squared is the mean
1/d of drawn starts) and one for the mean over 32 drawn starts are judged on fresh starts, by the ODE and by real SGD with
the same samples: runs that escape early gain from the former, and those that escape late pay for a rate that is low already.
Every run of SGD has a start and samples of its own, so that runs are independent, and every claim is made three standard
errors away from what was measured. A median has the errors of the sign test, whatever the law of the runs is.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Key
from matplotlib.figure import Figure

from dimfree.comparison.run import starts_of
from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.sections import OnePass, OverlapStart, SphereStart, TwoLayer
from dimfree.onepass.start import Start
from dimfree.problem import Run
from dimfree.programs.compiled import program
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.optimise import optimise
from dimfree.questions.schedules.runs import looks, table
from dimfree.readings.landmarks import crossing_times

Vector = Float[np.ndarray, " _"]
_ONE, _MANY = "average start", "mean of 32"
_COLOURS = {"constant": ("black", ":"), _ONE: ("#7570b3", "--"), _MANY: ("#d95f02", "-")}
_EARLY, _LATE = 0.5, 0.75  # of the runs in order of escape: the first half, and the last quarter
_SURE = 3.0  # standard errors


class ScheduleQuenched(Entry[xr.Dataset]):
    """Final risks from fresh starts under three schedules."""

    name: ClassVar[str] = "schedule-quenched"
    title: ClassVar[str] = "Schedules for one start and for many: late escapers pay for a rate that is low already"
    cites: ClassVar[tuple[str, ...]] = ("saad1997globally",)
    knots: int = 25
    until: float = 60.0
    overlap: float = 1.0  # of the one start, in units of d^(-1/2)
    seen: int = 32  # starts that the mean is over
    fresh: int = 512  # starts that no search has seen, all for the ODE, and the first of them for SGD
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
        watch(_ONE, 0.0)
        alone = self._best(problem.replace(start=one), 1)
        watch(_MANY, 0.2)
        many = self._best(problem, self.seen)
        grid = many.hunt.course.grid
        tried = {"constant": many.schedules["constant"].written, _ONE: alone.schedule, _MANY: many.schedule}
        others = {"run.seed": 2 * self.seed + 1, "run.starts": self.fresh, "run.replicas": self.fresh}
        drawn = [one for one in starts_of(problem.replace(**others), (OverlapChain(),)) if isinstance(one, Start)]
        unseen = jax.tree.map(lambda *leaves: jnp.stack(leaves), *drawn)
        first = jax.tree.map(lambda leaf: leaf[: self._runs(full)], unseen)
        keys, times = jax.random.split(jax.random.key(2 + self.seed), self.fresh), jax.device_put(looks(grid))
        ode, chain = [], []
        for number, written in enumerate(tried.values()):
            watch("fresh starts", 0.55 + 0.15 * number)
            model = teacher_model(problem.replace(**{"training.schedule": table(written, grid)}))
            ode.append(np.asarray(_from_each(HighDimensional(), model, unseen, times, keys))[:, -1])
            chain.append(np.asarray(_from_each(OverlapChain(), model, first, times, keys[: self._runs(full)])))
        course = xr.DataArray(chain[-1].T, dims=("time", "run"), coords={"time": many.samples})
        return xr.Dataset(
            {
                "overlap": ("start", np.abs(np.asarray(unseen.overlaps.M)[:, 0, 0])),
                "ode": (("schedule", "start"), np.stack(ode)),
                "chain": (("schedule", "run"), np.stack([one[:, -1] for one in chain])),
                "escape": crossing_times(course / course[0], 0.5),
                "rate": (("schedule", "samples"), [many.rates("constant"), alone.rates(), many.rates()]),
            },
            {"schedule": list(tried), "samples": many.samples},
        )

    def _best(self, problem: OnePassProblem, starts: int) -> Schedules:
        return optimise(problem, knots=self.knots, starts=starts, against=(), confirm="none", budget=np.inf)

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """Averaging over starts costs early escapers something, and spares the late ones."""
        log_ratios = np.log(_ratios(data["ode"], _ONE))[np.argsort(-data["overlap"].values)]
        paid = np.log(_paid(data))
        return (
            Claim("constant over mean of 32, ODE, less 3 s.e.", _least(_ratios(data["ode"], "constant")), 1.0, np.inf),
            Claim(
                "constant over mean of 32, SGD, less 3 s.e.", _least(_ratios(data["chain"], "constant")), 1.0, np.inf
            ),
            Claim(
                "average start over mean of 32, ODE, early: median + 3 s.e.", _median(_early(log_ratios), +1), 0.0, 1.0
            ),
            Claim(
                "average start over mean of 32, ODE, late: median - 3 s.e.", _median(_late(log_ratios), -1), 1.0, np.inf
            ),
            Claim("the same, SGD, first half to escape: median + 3 s.e.", _median(_early(paid), +1), 0.0, 1.0),
            Claim("the same, SGD, last quarter to escape: median - 3 s.e.", _median(_late(paid), -1), 1.0, np.inf),
            Claim("rank correlation of a run's escape with that ratio, less 3 s.e.", _order(paid), 0.8, 1.0),
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
        apart, escape = _paid(data), np.sort(_escape(data))
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
        right.set_ylabel(f"final risk, {_ONE} over {_MANY}")
        right.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
        right.legend(frameon=False)
        figure.suptitle(self.title)

    def seconds(self, full: bool) -> float:
        """Count two searches, one with many starts, and three schedules on fresh starts."""
        return 23.0 + 0.08 * self._runs(full)

    def _runs(self, full: bool) -> int:
        """Runs of SGD, each from its own start."""
        return 512 if full else 128


@program
def _from_each(
    one: HighDimensional | OverlapChain,
    model: TeacherModel,
    starts: Start,
    times: Float[Array, " t"],
    keys: Key[Array, " start"],
) -> Float[Array, "start t"]:
    """The risk of a run from every start, with samples of its own."""
    return jax.vmap(lambda start, key: one.run(model, start, times, key)["risk"][:, 0])(starts, keys)


def _escape(data: xr.Dataset) -> Vector:
    """When each run has lost half of its risk under the mean of 32; infinite for those that never do."""
    return np.asarray(data["escape"].fillna(np.inf).values)


def _ratios(found: xr.DataArray, one: str) -> Vector:
    """Final risks under a schedule over those under the mean of 32, from the same starts and with the same samples."""
    return np.asarray(found.sel(schedule=one).values / found.sel(schedule=_MANY).values)


def _paid(data: xr.Dataset) -> Vector:
    """How much higher the risk of each run is with the schedule for the average start, in order of escape."""
    return _ratios(data["chain"], _ONE)[np.argsort(_escape(data), kind="stable")]


def _early(ordered: Vector) -> Vector:
    return ordered[: int(_EARLY * ordered.size)]


def _late(ordered: Vector) -> Vector:
    return ordered[int(_LATE * ordered.size) :]


def _least(ratios: Vector) -> float:
    """The geometric mean, less its errors."""
    logs = np.log(ratios)
    return float(np.exp(logs.mean() - _SURE * logs.std(ddof=1) / np.sqrt(logs.size)))


def _median(logs: Vector, side: int) -> float:
    """The end of the interval of the median's ratio on one side: the sign test says how many ranks it is away."""
    rank = (logs.size - 1) / 2 + side * _SURE * np.sqrt(logs.size) / 2
    return float(np.exp(np.sort(logs)[int(np.ceil(rank) if side > 0 else np.floor(rank))]))


def _order(ordered: Vector) -> float:
    """Spearman's rank correlation with the order that the runs are in, less its errors, by Fisher's transformation."""
    ranks = np.argsort(np.argsort(ordered))
    found = np.corrcoef(np.arange(ranks.size), ranks)[0, 1]
    return float(np.tanh(np.arctanh(found) - _SURE * np.sqrt((1 + found**2 / 2) / (ranks.size - 3))))
