"""Which part of the risk is target energy that the projection smears over small eigenvalues (docs/theory/scaling.md, section 3).

Of every mode h the share h/(h + kappa) can be reached; without smearing it would be learnt along the eigenvalue h + kappa. What
the mean of SGD has not learnt beyond that is the embedding. It is 0 at the start, and later falls as F_ac of (3.1) does.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num

from dimfree.onepass.projected.companion import capacity
from dimfree.onepass.projected.in_blocks import Rule, shares, walked
from dimfree.onepass.projected.mean_risk import decay
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.population import Population

Vector = Float[np.ndarray, " _"]


class Parts(NamedTuple):
    """Twice the risk in parts: what nothing reaches, modes not yet learnt, what the projection smears, noise of the steps."""

    capacity: Vector
    unlearnt: Vector
    embedding: Vector
    step_noise: Vector

    @property
    def shares(self) -> dict[str, Vector]:
        """The share of every part in the risk, by its name."""
        return {name: part / sum(self) for name, part in zip(self._fields, self, strict=True)}


def parts(
    measures: Measures,
    population: Population,
    d: float,
    rule: Rule,
    Delta: float,
    steps: Num[np.ndarray, " t"],
) -> Parts:
    """The parts of the mean risk of a deterministic equivalent after the given numbers of steps."""
    kappa, _ = capacity(population, d)
    found, at = shares(measures, rule, Delta, steps), population.h + kappa
    reached = population.e * population.h / at
    if rule.at_once:
        speed = np.log1p(-decay(at, rule.gamma, rule.batch))
        own = np.exp(np.asarray(steps, dtype=float)[:, None] * speed) @ reached
    else:
        own = walked(measures, rule, Delta, steps, (at, reached)).watched.sum(axis=1)
    return Parts(found.capacity, own, found.unlearnt - own, found.step_noise)
