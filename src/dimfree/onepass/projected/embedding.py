"""Which part of the risk is target energy that the projection smears over small eigenvalues (docs/theory/scaling.md, section 3).

Of every mode h the share h/(h + kappa) can be reached; without smearing it would be learnt along the eigenvalue h + kappa. What
the mean of SGD has not learnt beyond that is the embedding. It is 0 at the start, and later falls as F_ac of (3.1) does.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Num

from dimfree.onepass.projected.companion import capacity
from dimfree.onepass.projected.mean_risk import decay, mean_shares
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
        """Of the risk, by their names."""
        return {name: part / sum(self) for name, part in zip(self._fields, self, strict=True)}


def parts(
    measures: Measures,
    population: Population,
    d: float,
    gamma: float,
    batch: float,
    Delta: float,
    steps: Num[np.ndarray, " t"],
) -> Parts:
    """Of the mean risk of a deterministic equivalent after so many steps."""
    kappa, _ = capacity(population, d)
    found = mean_shares(measures, gamma, batch, Delta, steps)
    speed = np.log1p(-decay(population.h + kappa, gamma, batch))
    own = np.exp(np.asarray(steps, dtype=float)[:, None] * speed) @ (
        population.e * population.h / (population.h + kappa)
    )
    return Parts(found.capacity, own, found.unlearnt - own, found.step_noise)
