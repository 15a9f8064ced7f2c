"""Risks of many sizes against compute by the deterministic equivalent, and the best (docs/theory/scaling.md, section 4)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.kinds.projection.section.power_law import PerSize, PowerLaw
from dimfree.onepass.projected.companion import critical_rate
from dimfree.onepass.projected.embedding import Parts, parts
from dimfree.onepass.projected.frontier import Frontier, lowest
from dimfree.onepass.projected.mean_risk import mean_risks
from dimfree.onepass.projected.measures import Measures, equivalent
from dimfree.onepass.projected.population import Population

Numbers = Float[np.ndarray, " _"]
_SPACING = 2**0.5  # of sizes
_SMALLEST, _SMALLEST_OF_TABLES = 8.0, 4.0
_BELOW_INPUTS = 0.95  # of all inputs, the largest size
_STEEPEST = 0.62  # p is not above it in any phase, and sizes go on for a decade


class Law(NamedTuple):
    """What decides the risk at every size: the data, and the training rule, whose rate is a share of 1/trace."""

    data: ProjectedData
    rate: float
    batch: int

    def population(self, size: float) -> Population:
        """What is projected to this size."""
        return self.data.population(size)

    def gamma(self, size: float) -> float:
        """The learning rate at this size."""
        return self.rate / self.population(size).trace

    def measures(self, size: float) -> Measures:
        """The deterministic equivalent."""
        return equivalent(self.population(size), size)

    def risks(self, size: float, steps: Numbers) -> Numbers:
        """The mean risk after so many steps."""
        return mean_risks(self.measures(size), self.gamma(size), self.batch, self.data.label_noise, steps)

    def parts(self, size: float, compute: float) -> Parts:
        """Parts of the risk at the end of a budget."""
        steps = np.array([compute / (size * self.batch)])
        of = (self.gamma(size), self.batch, self.data.label_noise)
        return parts(self.measures(size), self.population(size), size, *of, steps)

    def check_stable(self, sizes: Numbers) -> None:
        """Refuse a rate at which the mean risk of some size grows."""
        for size in sizes:
            limit, gamma = critical_rate(self.population(size), size, self.batch), self.gamma(size)
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
        most = np.floor(_BELOW_INPUTS * data.inputs_of(1))
    top = min(wanted, most)
    count = int(np.log(max(top / smallest, 1.0)) / np.log(_SPACING) + 1e-9)
    if count < 3:
        raise ProblemError(
            f"sizes from {smallest:g} to {top:g} are too few for a minimum; raise the largest size, data.inputs or the compute."
        )
    steps = _SPACING ** np.arange(count + 1.0)
    return np.unique(np.round(most / steps if most < wanted else smallest * steps))


def curves(law: Law, sizes: Numbers, compute: Numbers) -> Curves:
    """One equivalent for every size."""
    law.check_stable(sizes)
    rows, error = [], 0.0
    for size in sizes:
        found, steps = law.measures(size), compute / (size * law.batch)
        risk = mean_risks(found, law.gamma(size), law.batch, law.data.label_noise, np.maximum(steps, 1.0))
        rows.append(np.where(steps >= 1, risk, np.nan))
        error = max(error, found.sum_rule_error)
    risks = np.array(rows)
    return Curves(sizes, risks, lowest(sizes, risks, compute), error)
