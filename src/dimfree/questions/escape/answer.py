"""How the time to find a direction grows with the dimension: measured on the overlap chain, beside what the theory says.

docs/theory/committee.md, section 7. A single-index problem of information exponent l is started at the overlap
m = start d^(-1/2) (1 is typical; odd links need more, because noise that carries m below 0 hides the direction for long)
and followed until its risk has lost the part `threshold`. Beyond l = 2 the learning rate shrinks like
d^(-(l-2)/2) from its value at the dimension of the problem; then times grow like 1, log d, d^((l-2)/2) and samples
n = t d/gamma like d, d log d, d^(l-1).
"""

from collections.abc import Callable, Sequence
from math import factorial, log, sqrt
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dimfree.comparison.budget import machine_factor
from dimfree.questions.exit_times.answer import link_of
from dimfree.questions.exit_times.first_passage import chain_exits
from dimfree.errors import ProblemError
from dimfree.functions import activation
from dimfree.onepass.model import model
from dimfree.functions.leap import coordinate_leap, subspace_leap
from dimfree.onepass.model import second_layer
from dimfree.gaussian.links import hermite_coefficients, information_exponent
from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.start import Start
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import MultiIndex
from dimfree.onepass.real.chain import OverlapChain
from dimfree.questions.exit_times.event import check_threshold, exit_events
from dimfree.onepass.limits.ode import GradientFlow, HighDimensional, OverlapFlow

Watcher = Callable[[str, float], None]  # is told what is being done, and which fraction of all work is done

_PATIENCE = 10.0  # the chain is followed for so many times the exit of the ODE
_HIGHEST = 8  # degree up to which a teacher's link is expanded for its leap


class Point(NamedTuple):
    """One dimension: what is predicted before anything runs."""

    dimension: int
    learning_rate: float
    predicted: float  # exit time of the ODE from m = d^(-1/2)
    steps: float
    seconds: float  # CPU, on this machine, for all replicas


class Fit(NamedTuple):
    """A slope and its standard error, and the slope that the sheet's table says."""

    value: float
    standard_error: float
    expected: float


class Scaling(NamedTuple):
    """Escape times over dimensions."""

    exponent: int
    plan: tuple[Point, ...]
    times: "np.ndarray[tuple[int, int], np.dtype[np.float64]]"  # dimension, replica; infinite: did not leave

    @property
    def dimensions(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """As floats."""
        return np.array([float(point.dimension) for point in self.plan])

    @property
    def means(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """Mean escape times of those that left."""
        return np.asarray(np.nanmean(self._left, axis=1))

    @property
    def errors(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        """Their standard errors."""
        return np.asarray(np.nanstd(self._left, axis=1, ddof=1) / np.sqrt(np.isfinite(self.times).sum(axis=1)))

    @property
    def _left(self) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        return np.where(np.isfinite(self.times), self.times, np.nan)

    def time_fit(self) -> Fit:
        """The slope of log t against log d; for exponent 2, where t is linear in log d, that of t against log d."""
        x, y, error = np.log(self.dimensions), self.means, self.errors
        if self.exponent == 2:
            rate = _logarithmic_rate(self.plan)
            return Fit(*weighted_slope(x, y, error), rate)
        return Fit(*weighted_slope(x, np.log(y), error / y), max(self.exponent - 2, 0) / 2)

    def sample_fit(self) -> Fit:
        """The slope of log n against log d; for exponent 2 of log(n/log d), because the table says d log d."""
        rates = np.array([point.learning_rate for point in self.plan])
        samples = self.means * self.dimensions / rates
        y = np.log(samples / np.log(self.dimensions) if self.exponent == 2 else samples)
        return Fit(*weighted_slope(np.log(self.dimensions), y, self.errors / self.means), max(self.exponent - 1, 1))


class SampleComplexity(NamedTuple):
    """What it takes to find the directions of a target (section 7)."""

    exponent: int  # information exponent: lowest degree that target and activation share
    leap: int
    subspace_leap: int
    admissible_rate: float | None  # the largest at which m = d^(-1/2) grows; None beyond width 1 on the sphere
    order: str  # of the samples
    samples: float | None  # predicted by the ODE at this rate from m = d^(-1/2), infinite when it does not leave

    def summary(self) -> str:
        """One line per number."""
        lines = [
            f"information exponent   {self.exponent}",
            f"leap                   {self.leap} by coordinates, {self.subspace_leap} by subspaces",
            f"samples                {self.order}",
        ]
        if self.admissible_rate is not None:
            lines.append(f"learning rate below    {self.admissible_rate:.4g} for the overlap to grow from d^(-1/2)")
        if self.samples is not None:
            lines.append(f"predicted samples      {self.samples:.3g} at this learning rate and dimension")
        return "\n".join(lines)


def escape_plan(
    problem: OnePassProblem, dimensions: Sequence[int], replicas: int = 32, threshold: float = 0.5, start: float = 1.0
) -> tuple[int, tuple[Point, ...]]:
    """The information exponent, and per dimension the rate, the predicted time, steps and CPU seconds: before it starts."""
    check_threshold(threshold)
    exponent = _single_index_exponent(problem)
    points = []
    for d in dimensions:
        here = at_dimension(problem, d, exponent)
        time = _predicted(here, threshold, start)
        if not np.isfinite(time):
            raise ProblemError(
                f"learning rate {here.training.learning_rate:.4g} is too large to escape at dimension {d}: from "
                f"m = {start:g} d^(-1/2) the variance of the steps beats the drift; "
                f"stay below {admissible_rate(here, start):.4g}."
            )
        cost = OverlapChain().cost(here.replace(**{"run.until": time, "run.replicas": replicas}))
        points.append(Point(d, here.training.learning_rate, time, cost.steps, cost.seconds * machine_factor()))
    return exponent, tuple(points)


def escape_scaling(
    problem: OnePassProblem,
    dimensions: Sequence[int],
    replicas: int = 32,
    threshold: float = 0.5,
    start: float = 1.0,
    watch: Watcher = lambda text, fraction: None,
) -> Scaling:
    """Measure the escape from m = start d^(-1/2) with the overlap chain at each dimension."""
    exponent, points = escape_plan(problem, dimensions, replicas, threshold, start)
    total, done, rows = sum(point.seconds for point in points), 0.0, []
    for point in points:
        watch(f"exponent {exponent}, d = {point.dimension}", done / total)
        here = at_dimension(problem, point.dimension, exponent)
        key = jax.random.fold_in(jax.random.key(problem.run.seed), point.dimension)
        starts = Start(_beginning(here, start, replicas), None)
        end, fine = _PATIENCE * point.predicted, point.predicted / 100
        rows.append(chain_exits(here, starts, threshold, end, fine, key, lambda name, reached: None))
        done += point.seconds
    return Scaling(exponent, points, np.stack(rows))


def at_dimension(problem: OnePassProblem, dimension: int, exponent: int) -> OnePassProblem:
    """The problem at another dimension, with the rate of the sheet's table."""
    shrink = (dimension / problem.dimension) ** (-max(exponent - 2, 0) / 2)
    rate = problem.training.learning_rate * shrink
    return problem.replace(dimension=dimension, **{"training.learning_rate": rate})


def admissible_rate(problem: OnePassProblem, start: float = 1.0) -> float:
    """The learning rate at which the variance of the steps stops the growth of m at start d^(-1/2) (sphere, width 1)."""
    gamma, first = problem.training.learning_rate, jax.tree.map(lambda x: x[0], _beginning(problem, start, 1))
    drift, slowed = (
        float(_velocity(flow, model(problem), first).M[0, 0]) for flow in (GradientFlow(), HighDimensional())
    )
    return gamma * drift / (drift - slowed)


def sample_complexity(problem: OnePassProblem, threshold: float = 0.5) -> SampleComplexity:
    """Exponent, leaps, admissible rate and predicted samples of a target at this dimension."""
    check_threshold(threshold)
    terms, coefficients = _expansion(problem)
    single = problem.data.units == problem.network.width == 1 and problem.training.spherical
    exponent = (
        information_exponent(link_of(problem.data), activation(problem.network.activation))
        if problem.data.units == 1
        else min(sum(term) for term in terms if sum(term))
    )
    directions = subspace_leap(terms, coefficients)
    return SampleComplexity(
        exponent,
        coordinate_leap(terms, coefficients).leap,
        directions.leap,
        admissible_rate(problem) if single else None,
        f"d^{directions.sample_exponent}" if directions.leap != 2 else "d log d",
        _predicted(problem, threshold) * problem.dimension / problem.training.learning_rate if single else None,
    )


def weighted_slope(x: Any, y: Any, error: Any) -> tuple[float, float]:
    """The slope of a straight line through points with known errors, and its standard error."""
    weight = 1 / np.asarray(error) ** 2
    centre = np.average(x, weights=weight)
    spread = np.sum(weight * (x - centre) ** 2)
    return float(np.sum(weight * (x - centre) * y) / spread), float(1 / sqrt(spread))


def _single_index_exponent(problem: OnePassProblem) -> int:
    if problem.data.units == problem.network.width == 1 and problem.training.spherical:
        return information_exponent(link_of(problem.data), activation(problem.network.activation))
    raise ProblemError(
        f"width {problem.network.width}, {problem.data.units} directions and spherical = {problem.training.spherical} were "
        "given; the scaling is for one unit and one direction on the sphere."
    )


def _logarithmic_rate(plan: tuple[Point, ...]) -> float:
    """1/(8 c) as the ODE has it between the largest dimensions: exact for the logistic growth of m²."""
    last, before = plan[-1], plan[-2]
    return (last.predicted - before.predicted) / log(last.dimension / before.dimension)


def _beginning(problem: OnePassProblem, start: float, count: int) -> Overlaps:
    """The overlap start d^(-1/2), for so many replicas."""
    a = jnp.broadcast_to(second_layer(problem), (count, 1))
    return Overlaps(jnp.ones((count, 1, 1)), jnp.full((count, 1, 1), start * problem.dimension**-0.5), a)


@eqx.filter_jit
def _velocity(flow: OverlapFlow, rule: Any, start: Overlaps) -> Overlaps:
    return flow.velocity(rule, jnp.zeros(()), start)


def _predicted(problem: OnePassProblem, threshold: float, start: float = 1.0) -> float:
    flow = HighDimensional(rtol=1e-6, atol=1e-10)
    return float(exit_events(model(problem), _beginning(problem, start, 1), threshold, problem.run.until, flow)[0])


def _expansion(problem: OnePassProblem) -> tuple[tuple[tuple[int, ...], ...], tuple[float, ...]]:
    """The target in Hermite products of orthonormal directions."""
    data = problem.data
    if isinstance(data, MultiIndex):
        return data.expansion
    if (problem.teacher_overlap != np.eye(data.units)).any():
        raise ProblemError("the teacher's directions overlap; leaps are defined for orthonormal directions.")
    c = hermite_coefficients(data.activation, _HIGHEST + 1)
    weights = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,))
    found = {
        tuple(degree * (s == r) for s in range(data.units)): weights[r] * c[degree] / sqrt(factorial(degree))
        for r in range(data.units)
        for degree in range(1, _HIGHEST + 1)
        if abs(c[degree]) > 1e-9
    }
    return tuple(found), tuple(found.values())
