"""Risks of many sizes against compute by the deterministic equivalent, and the best (docs/theory/scaling.md, section 4)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.power_law import PerSize, PowerLaw
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.embedding import Parts, parts
from dimfree.onepass.projected.in_blocks import Rule, shares
from dimfree.onepass.projected.measures import Measures, equivalent
from dimfree.onepass.projected.population import Population
from dimfree.readings.frontier import Frontier, lowest

Numbers = Float[np.ndarray, " _"]
_SPACING = 2**0.5  # of sizes
_SMALLEST, _SMALLEST_OF_TABLES = 8.0, 4.0
_BELOW_INPUTS = 0.95  # of all inputs, the largest size
_STEEPEST = 0.62  # p is not above it in any phase, and sizes go on for a decade


class Law(NamedTuple):
    """What decides the risk at every size: the data, and the training rule, whose rate is a share of 1/trace.

    Along a `schedule` that falls every budget is a run of its own, which ends with it.
    """

    data: ProjectedData
    rate: float
    batch: int
    momentum: float = 0.0
    schedule: str = "constant"

    def population(self, size: float) -> Population:
        """What is projected to this size."""
        return self.data.population(size)

    def gamma(self, size: float) -> float:
        """The learning rate at this size."""
        return self.rate / self.population(size).trace

    def limit(self, size: float) -> float:
        """The learning rate from which on the mean risk grows."""
        return critical_rate(self.population(size), size, self.batch, self.momentum)

    def at_share(self, size: float, share: float) -> "Law":
        """With this share of the limit at this size."""
        return self._replace(rate=share * self.limit(size) * self.population(size).trace)

    def rule(self, size: float) -> Rule:
        """How weights move."""
        return Rule(self.gamma(size), self.batch, self.momentum, self.schedule)

    def measures(self, size: float) -> Measures:
        """The deterministic equivalent."""
        return equivalent(self.population(size), size)

    def risks(self, size: float, steps: Numbers, measures: Measures | None = None) -> Numbers:
        """The mean risk after so many steps, of the equivalent unless other measures are given."""
        found = self.measures(size) if measures is None else measures
        return shares(found, self.rule(size), self.data.label_noise, steps).risk

    def parts(self, size: float, compute: float) -> Parts:
        """Parts of the risk at the end of a budget."""
        steps = np.array([compute / (size * self.batch)])
        return parts(self.measures(size), self.population(size), size, self.rule(size), self.data.label_noise, steps)

    def check_stable(self, sizes: Numbers) -> None:
        """Refuse a rate at which the mean risk of some size grows."""
        for size in sizes:
            limit, gamma = self.limit(size), self.gamma(size)
            if gamma >= limit:
                raise ProblemError(
                    f"learning_rate {gamma:.3g} is above the limit of stability {limit:.3g} of size {size:g}: choose below "
                    f"{limit / 2:.2g} for a margin."
                )


class Curves(NamedTuple):
    """Risks of all sizes at all budgets, nan where a budget is less than a step, and the frontier below them."""

    sizes: Numbers
    risks: Float[np.ndarray, "d c"]
    frontier: Frontier
    sum_rule_error: float


def sizes_for(data: ProjectedData, most_compute: float, largest: float | None) -> Numbers:
    """Sizes spaced by sqrt 2, up to what the largest budget may need; below a number of inputs, from the largest one down."""
    smallest = _SMALLEST if isinstance(data, PowerLaw) else _SMALLEST_OF_TABLES
    wanted, most = min(largest or np.inf, 10 * most_compute**_STEEPEST), np.inf
    if not isinstance(data, PowerLaw) or not isinstance(data.inputs, PerSize):
        inputs = data.inputs_of(1)
        most = np.floor(_BELOW_INPUTS * inputs)
        if largest is not None and largest >= inputs:
            raise ProblemError(
                f"size {largest:g} is not below inputs {inputs}: nothing is hidden; choose a largest size below, or "
                "use linear-mean."
            )
    top = min(wanted, most)
    count = int(np.log(max(top / smallest, 1.0)) / np.log(_SPACING) + 1e-9)
    if count < 3:
        raise ProblemError(
            f"sizes from {smallest:g} to {top:g} are too few for a minimum; raise the largest size, data.inputs or the compute."
        )
    steps = _SPACING ** np.arange(count + 1.0)
    return np.unique(np.round(most / steps if most < wanted else smallest * steps))


def curves(law: Law, sizes: Numbers, compute: Numbers) -> Curves:
    """One equivalent for every size; along a schedule, runs of the sizes around the best one alone."""
    law.check_stable(sizes)
    found = [law.measures(size) for size in sizes]
    steps = compute / (sizes[:, None] * law.batch)
    plain = law._replace(schedule="constant")
    rows = [plain.risks(*one) for one in zip(sizes, np.maximum(steps, 1.0), found, strict=True)]
    risks = np.where(steps >= 1, rows, np.nan)
    if law.schedule != "constant":
        risks = _ends(law, found, sizes, steps, risks)
    error = max(one.sum_rule_error for one in found)
    return Curves(sizes, risks, lowest(sizes, risks, compute), error)


def _ends(
    law: Law, measures: list[Measures], sizes: Numbers, steps: Float[np.ndarray, "d c"], guide: Float[np.ndarray, "d c"]
) -> Float[np.ndarray, "d c"]:
    """Risks at the end of a schedule for the best size of every budget and two on both sides, found from constant rates."""
    ends = np.full(steps.shape, np.nan)
    for column in np.flatnonzero(np.isfinite(guide).any(axis=0)):
        best, before = int(np.nanargmin(guide[:, column])), -1
        while best != before:
            for row in range(max(best - 2, 0), min(best + 3, len(sizes))):
                if np.isnan(ends[row, column]) and steps[row, column] >= 1:
                    ends[row, column] = law.risks(sizes[row], steps[row, column, None], measures[row])[0]
            best, before = int(np.nanargmin(ends[:, column])), best
    return ends
