"""A linear network followed step by step by its exact mean: what any rates lead to.

docs/theory/structured.md, sections 1.6 and 4.2; behind a random projection docs/theory/scaling.md, section 1.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from dimfree.description import AnyDescription
from dimfree.onepass.limits.linear import LinearNetwork
from dimfree.onepass.limits.projected import Equivalent, ProjectedMean
from dimfree.onepass.linear_steps import Nodes, Slopes, end_in_batches, end_slopes, greedy_rates
from dimfree.programs.compiled import program
from dimfree.questions.schedules.certificate import Conditions
from dimfree.questions.schedules.grid import Bounds, Vector
from dimfree.questions.schedules.parts import Objective, over_starts
from dimfree.questions.schedules.search import Course


class Ended(NamedTuple):
    """The value at the end and its derivatives."""

    value: Float[Array, ""]
    by_factor: Vector
    by_number: Vector


@dataclass
class Steps(Course):
    """Every step of SGD, at the rate of the time at which it begins; on the grid the rate is linear from point to point."""

    nodes: Nodes
    D: Float[np.ndarray, "s b"]  # mean squares of the error at the start
    base: float  # the rate of one linear unit at the factor 1
    time_step: float

    theory: ClassVar[AnyDescription] = LinearNetwork()
    said: ClassVar[str] = "the exact mean"
    where: ClassVar[str] = "On average"
    conserves: ClassVar[bool] = False

    @property
    def _times(self) -> Vector:
        return np.arange(round(self.grid.until / self.time_step)) * self.time_step

    @property
    def _between(self) -> tuple[Int[np.ndarray, " r"], Vector]:
        """The point of the grid before every step, and how far the step is on the way to the next one."""
        points, times = self.grid.points, self._times
        before = np.clip(np.searchsorted(points, times, side="right") - 1, 0, len(points) - 2)
        return before, (times - points[before]) / np.diff(points)[before]

    def _slopes(self, factors: Vector) -> tuple[Slopes, Vector]:
        before, share = self._between
        rates = self.base * (factors[before] * (1 - share) + factors[before + 1] * share)
        D, given = jax.device_put((self.D, rates))
        return _end_slopes(self.nodes, D, given, self.kind), rates

    def seen(self, factors: Vector, numbers: Vector | None = None) -> Ended:
        """By one pass forwards and one backwards through all steps."""
        (value, _, first, second), rates = self._slopes(factors)
        slopes, (before, share) = self.base * (np.asarray(first) + 2 * rates * np.asarray(second)), self._between
        count = len(factors)
        by_factor = np.bincount(before, slopes * (1 - share), count) + np.bincount(before + 1, slopes * share, count)
        return Ended(value, by_factor, np.zeros(2))

    def conditions(self, factors: Vector, numbers: Vector) -> Conditions:
        """Ratio and H in the steps at the beginnings of the grid's steps."""
        slopes, rates = self._slopes(factors)
        kept, first, second = (np.asarray(one) for one in slopes[1:])
        at = np.minimum((self.grid.times[:-1] / self.time_step).round().astype(int), len(rates) - 1)
        hamiltonian, ratio = kept + rates * first + rates**2 * second, -first / (2 * second) / rates
        return Conditions(self.grid.times[:-1], ratio[at], hamiltonian[at], bool((second > 0).all()))

    def greedy(self, box: Bounds) -> Vector:
        """The rates that lower the risk most in every step."""
        rates, _ = self._greedy(box)
        return np.interp(self.grid.points, self._times, np.asarray(rates) / self.base)

    def critical(self) -> float:
        """The factor at which the first step leaves the risk as it is; velocities add up to 1/(1 - momentum) of it."""
        return float(self._greedy((0.0, np.inf))[1]) / self.base * (1 - float(self.nodes.momentum))

    def in_batches(self, factors: Vector, batches: Vector) -> Vector:
        """By all steps."""
        return np.asarray(end_in_batches(self.nodes, *jax.device_put((self.D, self.base * factors, batches))))

    def unresolved(self, risks: Vector) -> bool:
        """Never: sums of positive numbers lose nothing."""
        return False

    def _greedy(self, box: Bounds) -> tuple[Array, Array]:
        D, bounds = jax.device_put((self.D, self.base * np.asarray(box)))
        return _greedy_rates(self.nodes, D, bounds, len(self._times), self.kind)


class BehindProjection(Steps):
    """The same for the random projection that is drawn."""

    theory: ClassVar[AnyDescription] = ProjectedMean()


class BehindAny(Steps):
    """The same on the nodes of the deterministic equivalent, which stand for any projection."""

    theory: ClassVar[AnyDescription] = Equivalent()
    said: ClassVar[str] = "the equivalent"


@program
def _end_slopes(nodes: Nodes, D: Float[Array, "s b"], rates: Float[Array, " r"], kind: Objective) -> Slopes:
    return end_slopes(nodes, D, rates, lambda risks: over_starts(risks, kind))


@program
def _greedy_rates(
    nodes: Nodes, D: Float[Array, "s b"], bounds: Float[Array, "2"], count: int, kind: Objective
) -> tuple[Float[Array, " r"], Float[Array, ""]]:
    return greedy_rates(nodes, D, count, bounds, lambda risks: over_starts(risks, kind))
