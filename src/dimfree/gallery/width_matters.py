"""Does width matter? Exit times of phase retrieval on the sphere against the width, from random starts.

docs/theory/committee.md, section 6: measured on the overlap chain, beside the exit of the average start (annealed, 6.3) and
the average exit (quenched, 6.2).
"""

from collections.abc import Callable
from typing import ClassVar

import jax
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from dimfree.gallery.entry import Claim, Entry
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.real.passages import draw_starts
from dimfree.onepass.sections import OnePass, SphereStart, TwoLayer
from dimfree.progress import PartWatcher
from dimfree.questions.exit_times import formulas as exit_times
from dimfree.questions.exit_times.first_passage import chain_exits
from dimfree.results.record import cost_of

_THRESHOLD, _NOISE, _RATE = 0.1, 0.01, 0.03
_SIZES = {1: 500, 2: 400, 4: 200, 10: 100}  # replicas by width
_MORE = {20: 80, 50: 40}  # with `full`
_PATIENCE = 10.0
_DRAWS = 4000

Formula = Callable[..., exit_times.Estimate]  # of threshold, learning rate, width, noise, dimension


def _quenched(threshold: float, rate: float, width: int, noise: float, dimension: int) -> exit_times.Estimate:
    return exit_times.quenched(threshold, rate, width, noise, dimension, draws=_DRAWS)


class WidthMatters(Entry[xr.Dataset]):
    """Measured, annealed and quenched exit times at several widths."""

    name: ClassVar[str] = "width-matters"
    title: ClassVar[str] = "Does width matter? Exit times of phase retrieval against the width"
    cites: ClassVar[tuple[str, ...]] = ("arnaboldi2023escaping",)
    quenched: Formula = _quenched
    sizes: tuple[tuple[int, int], ...] = tuple(_SIZES.items())  # width, replicas
    dimension: int = 1000

    def cases(self, full: bool) -> dict[int, int]:
        """Replicas by width."""
        return dict(self.sizes) | (_MORE if full else {})

    def measure(self, full: bool, watch: PartWatcher) -> xr.Dataset:
        """Mean exit and its error by width, and the two formulas."""
        rows, prices, done = [], self._prices(full), 0.0
        for width, replicas in self.cases(full).items():
            watch(f"width {width}", done / sum(prices.values()))
            rows.append(self._row(width, replicas))
            done += prices[width]
        columns = dict(zip(("measured", "error", "stayed", "annealed", "quenched"), np.array(rows).T, strict=True))
        return xr.Dataset(
            {name: ("width", values) for name, values in columns.items()},
            coords={"width": list(self.cases(full))},
            attrs={"dimension": self.dimension, "learning_rate": _RATE, "noise": _NOISE, "threshold": _THRESHOLD},
        )

    def claims(self, data: xr.Dataset) -> tuple[Claim, ...]:
        """The quenched time is right, the annealed too short, and the more so the narrower the network."""
        quenched, annealed = (data[name] / data["measured"] for name in ("quenched", "annealed"))
        gap = (data["quenched"] - data["annealed"]) / data["quenched"]
        worst = quenched.values[np.argmax(np.abs(quenched.values - 1))]
        last = int(data["width"][-1])
        return (
            Claim("replicas that did not leave", float(data["stayed"].sum()), 0.0, 0.0),
            Claim("quenched over measured, at the width where it is worst", float(worst), 0.9, 1.1),
            Claim("annealed over measured at width 1", float(annealed.sel(width=1)), 0.6, 0.87),
            Claim("annealed over quenched at its largest, over all widths", float(1 - gap.min()), 0.0, 1.0),
            Claim(f"gap between the two at width {last} over that at width 1", float(gap[-1] / gap[0]), 0.0, 0.35),
            Claim(
                f"measured exit at width {last} over that at width 1",
                float(data["measured"][-1] / data["measured"][0]),
                0.4,
                0.8,
            ),
        )

    def draw(self, data: xr.Dataset, figure: Figure) -> None:
        """Times on the left; samples per dimension, which grow with the width, on the right."""
        figure.set_size_inches(9.5, 3.8)
        width = data["width"].values
        time, samples = figure.subplots(1, 2)
        for axes, scale in ((time, np.ones_like(width)), (samples, width / data.attrs["learning_rate"])):
            axes.plot(width, scale * data["quenched"], "-.", color="#e7298a", label="quenched: the average exit")
            axes.plot(
                width, scale * data["annealed"], ":", color="#7570b3", label="annealed: exit of the average start"
            )
            axes.errorbar(
                width, scale * data["measured"], scale * data["error"], fmt="o", ms=5, mfc="white", color="black",
                capsize=3, label="SGD (chain), mean and standard error",
            )  # fmt: skip
            axes.set(xscale="log", xlabel="width $p$", xticks=width)
            axes.xaxis.set_major_formatter(ScalarFormatter())
            axes.xaxis.set_minor_formatter(NullFormatter())
        time.set(ylabel="exit time $t$ = steps × rate / (width × dimension)", ylim=(0, None))
        samples.set(ylabel="samples per dimension to exit", yscale="log")
        samples.yaxis.set_major_formatter(ScalarFormatter())
        samples.yaxis.set_minor_formatter(ScalarFormatter())
        time.legend(frameon=False, loc="lower left")
        figure.suptitle(
            f"{self.title}\ndimension {data.attrs['dimension']:,}, learning rate {data.attrs['learning_rate']:g}, "
            f"{100 * data.attrs['threshold']:g} % of the risk to be lost"
        )

    def seconds(self, full: bool) -> float:
        """The chain until the last replica has left, and compilation."""
        return sum(self._prices(full).values())

    def _prices(self, full: bool) -> dict[int, float]:
        return {
            width: 12.0 + cost_of(OverlapChain(), self._problem(width, replicas)).seconds
            for width, replicas in self.cases(full).items()
        }

    def _row(self, width: int, replicas: int) -> tuple[float, ...]:
        problem, key = self._problem(width, replicas), jax.random.key(width)
        quenched = float(self.quenched(*_rule(problem)).value)
        starts = draw_starts(problem, jax.random.fold_in(key, 0), replicas)
        times = chain_exits(
            problem, starts, _THRESHOLD, _PATIENCE * quenched, quenched / 100, key, lambda name, reached: None
        )
        left = times[np.isfinite(times)]
        return (
            float(left.mean()),
            float(left.std(ddof=1) / np.sqrt(len(left))),
            float(len(times) - len(left)),
            exit_times.annealed(*_rule(problem)),
            quenched,
        )

    def _problem(self, width: int, replicas: int) -> OnePassProblem:
        problem = OnePassProblem(
            dimension=self.dimension,
            data=Teacher(units=1, activation="square", noise=_NOISE),
            network=TwoLayer(width=width, activation="square"),
            training=OnePass(learning_rate=_RATE, spherical=True),
            start=SphereStart(),
        )
        slowest = exit_times.annealed(*_rule(problem)) * (1 + 3 / width)
        return problem.replace(**{"run.until": slowest, "run.replicas": replicas})


def _rule(problem: OnePassProblem) -> tuple[float, float, int, float, int]:
    return _THRESHOLD, problem.training.learning_rate, problem.network.width, _NOISE, problem.dimension
