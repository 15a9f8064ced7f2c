"""How the time to find a direction grows with the dimension: measured on the overlap chain, and predicted by theory.

docs/theory/committee.md, section 7. A single-index problem of information exponent l is started at the overlap
m = start d^(-1/2) (1 is typical; odd links need more, because noise that carries m below 0 hides the direction for long)
and followed until its risk has lost the part `threshold`. Beyond l = 2 the learning rate shrinks like
d^(-(l-2)/2) from its value at the dimension of the problem; then times grow like 1, log d, d^((l-2)/2) and samples
n = t d/gamma like d, d log d, d^(l-1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Float
from rich.table import Table

from dimfree.errors import ProblemError
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.chain import OverlapChain
from dimfree.onepass.start import Start
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.answer import Answer
from dimfree.questions.escape.single import admissible_rate, beginning, predicted_time, single_exponent
from dimfree.questions.exit_times.event import check_threshold
from dimfree.questions.exit_times.first_passage import chain_exits
from dimfree.results.record import price_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PATIENCE = 10.0  # the chain is followed for this many exit times of the ODE


class Point(NamedTuple):
    """One dimension of the sweep, and what is predicted for it before anything runs."""

    dimension: int
    learning_rate: float
    predicted: float  # exit time of the ODE from m = d^(-1/2)
    steps: float
    seconds: float  # CPU seconds on this machine, for all replicas


class Fit(NamedTuple):
    """A slope, its standard error, and the slope that the table of the theory sheet predicts."""

    value: float
    standard_error: float
    expected: float


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(Answer[OnePassProblem]):
    """Escape times over dimensions."""

    exponent: int
    plan: tuple[Point, ...]
    times: Float[np.ndarray, "dimension replica"]  # infinite for a run that did not escape

    @property
    def dimensions(self) -> Float[np.ndarray, " dimension"]:
        """The dimensions, as floats."""
        return np.array([float(point.dimension) for point in self.plan])

    @property
    def rates(self) -> Float[np.ndarray, " dimension"]:
        """The learning rates."""
        return np.array([point.learning_rate for point in self.plan])

    @property
    def means(self) -> Float[np.ndarray, " dimension"]:
        """Mean escape times of the runs that escaped."""
        return np.asarray(np.nanmean(self._left, axis=1))

    @property
    def errors(self) -> Float[np.ndarray, " dimension"]:
        """The standard errors of these means."""
        return np.asarray(np.nanstd(self._left, axis=1, ddof=1) / np.sqrt(np.isfinite(self.times).sum(axis=1)))

    @property
    def samples(self) -> Float[np.ndarray, " dimension"]:
        """n = t d/gamma."""
        return self.means * self.dimensions / self.rates

    @property
    def _left(self) -> Float[np.ndarray, "dimension replica"]:
        return np.where(np.isfinite(self.times), self.times, np.nan)

    def time_fit(self) -> Fit:
        """The slope of log t against log d; for exponent 2, where t is linear in log d, that of t against log d."""
        x, y, error = np.log(self.dimensions), self.means, self.errors
        if self.exponent == 2:
            return Fit(*weighted_slope(x, y, error), _logarithmic_rate(self.plan))
        return Fit(*weighted_slope(x, np.log(y), error / y), max(self.exponent - 2, 0) / 2)

    def sample_fit(self) -> Fit:
        """The slope of log n against log d; for exponent 2 of log(n/log d), because the table says d log d."""
        y = np.log(self.samples / np.log(self.dimensions) if self.exponent == 2 else self.samples)
        return Fit(*weighted_slope(np.log(self.dimensions), y, self.errors / self.means), max(self.exponent - 1, 1))

    def said(self) -> Iterator[Table | str]:
        """One row per dimension, and the slopes."""
        table = Table(title=f"Escape at information exponent {self.exponent}", title_justify="left")
        for heading in ("dimension", "learning rate", "time", "ODE", "samples", "did not leave"):
            table.add_column(heading, justify="right")
        stayed = np.sum(~np.isfinite(self.times), axis=1)
        for n, point in enumerate(self.plan):
            time = f"{self.means[n]:.4g} ± {self.errors[n]:.2g}"
            row = (f"{point.dimension:,}", f"{point.learning_rate:.3g}", time, f"{point.predicted:.4g}")
            table.add_row(*row, f"{self.samples[n]:.3g}", f"{stayed[n]} of {self.times.shape[1]}")
        yield table
        if len(self.plan) > 1:
            yield f"slope of {'t' if self.exponent == 2 else 'log t'} against log d: {_in_words(self.time_fit())}"
            yield f"slope of log {'(n/log d)' if self.exponent == 2 else 'n'} against log d: {_in_words(self.sample_fit())}"

    def values(self) -> dict[str, object]:
        """Means, predictions and slopes."""
        fits = {"time_fit": self.time_fit()._asdict(), "sample_fit": self.sample_fit()._asdict()}
        return {
            "exponent": self.exponent,
            "points": [point._asdict() for point in self.plan],
            "times": self.means.tolist(),
            "standard_errors": self.errors.tolist(),
            "stayed": np.sum(~np.isfinite(self.times), axis=1).tolist(),
        } | (fits if len(self.plan) > 1 else {})

    def datasets(self) -> dict[str, xr.Dataset]:
        """A dataset with every escape time."""
        columns = {name: ("dimension", [getattr(point, name) for point in self.plan]) for name in Point._fields[1:]}
        data = xr.Dataset(columns, {"dimension": self.dimensions}, {"information_exponent": self.exponent})
        return {"escape": data.assign(escape_time=(("dimension", "replica"), self.times))}

    def draw(self, figure: "Figure") -> None:
        """Times and samples against the dimension; lines are the ODE."""
        figure.set_size_inches(9.5, 4.0)
        axes = figure.subplots(1, 2)
        predicted = np.array([point.predicted for point in self.plan])
        for panel, scale, name in ((axes[0], 1.0, "time"), (axes[1], self.dimensions / self.rates, "samples")):
            values, errors = scale * self.means, scale * self.errors
            panel.errorbar(self.dimensions, values, errors, fmt="o", color="black", mfc="white", capsize=3, label="SGD")
            panel.plot(self.dimensions, scale * predicted, "-", color="#d95f02", lw=1.4, label="ODE")
            panel.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel=name)
            panel.legend(frameon=False)
        figure.suptitle(f"Escape at information exponent {self.exponent}")


def escape_plan(
    problem: OnePassProblem, dimensions: Sequence[int], replicas: int = 32, threshold: float = 0.5, start: float = 1.0
) -> tuple[int, tuple[Point, ...]]:
    """What a measurement would cost: the information exponent, and for every dimension rate, time, steps and CPU seconds."""
    check_threshold(threshold)
    exponent = single_exponent(problem)
    points = []
    for d in dimensions:
        here = at_dimension(problem, d, exponent)
        time = predicted_time(here, threshold, start)
        if not np.isfinite(time):
            raise ProblemError(
                f"learning rate {here.training.learning_rate:.4g} is too large to escape at dimension {d}: from "
                f"m = {start:g} d^(-1/2) the variance of the steps beats the drift; "
                f"stay below {admissible_rate(here, start):.4g}."
            )
        cost = price_of(OverlapChain(), here.replace(**{"run.until": time, "run.replicas": replicas}))
        points.append(Point(d, here.training.learning_rate, time, cost.steps, cost.seconds))
    return exponent, tuple(points)


def escape_scaling(
    problem: OnePassProblem,
    dimensions: Sequence[int],
    replicas: int = 32,
    threshold: float = 0.5,
    start: float = 1.0,
    watch: PartWatcher = nobody,
) -> Scaling:
    """Measure the escape from m = start d^(-1/2) with the overlap chain at each dimension.

    `watch` is called with the dimension that is being measured, and the share of all work that is done.
    """
    exponent, points = escape_plan(problem, dimensions, replicas, threshold, start)
    total, done, rows = sum(point.seconds for point in points), 0.0, []
    for point in points:
        watch(f"exponent {exponent}, d = {point.dimension}", done / total)
        here = at_dimension(problem, point.dimension, exponent)
        key = jax.random.fold_in(jax.random.key(problem.run.seed), point.dimension)
        starts = jax.vmap(lambda one: Start(one, None, jnp.zeros(1)))(beginning(here, start, replicas))
        end, fine = _PATIENCE * point.predicted, point.predicted / 100
        rows.append(chain_exits(here, starts, threshold, end, fine, key, lambda name, done: None))
        done += point.seconds
    return Scaling(problem, exponent, points, np.stack(rows))


def at_dimension(problem: OnePassProblem, dimension: int, exponent: int) -> OnePassProblem:
    """The problem at another dimension, with the rate of the sheet's table."""
    shrink = (dimension / problem.dimension) ** (-max(exponent - 2, 0) / 2)
    rate = problem.training.learning_rate * shrink
    return problem.replace(dimension=dimension, **{"training.learning_rate": rate})


def weighted_slope(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], error: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """The slope of a straight line through points with known errors, and its standard error."""
    weight = 1 / np.asarray(error) ** 2
    centre = np.average(x, weights=weight)
    spread = np.sum(weight * (x - centre) ** 2)
    return float(np.sum(weight * (x - centre) * y) / spread), float(1 / sqrt(spread))


def _logarithmic_rate(plan: tuple[Point, ...]) -> float:
    """The slope 1/(8 c), from the ODE at the two largest dimensions: exact for the logistic growth of m²."""
    last, before = plan[-1], plan[-2]
    return (last.predicted - before.predicted) / log(last.dimension / before.dimension)


def _in_words(fit: Fit) -> str:
    return f"{fit.value:.3g} ± {fit.standard_error:.2g}, by the theory {fit.expected:.3g}"
