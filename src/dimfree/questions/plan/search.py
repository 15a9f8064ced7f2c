"""Which width, rate, batch and schedule theory finds best for a number of samples, by the equations of every eigenvalue.

In the limit that `ode` describes, batches of m at rate m g do what single samples do at rate g: the search is over g, and the
batch is then as large as the limit of stability of the rows allows (docs/theory/structured.md, sections 1.1 and 1.6).
"""

from collections.abc import Mapping, Sequence
from math import pi
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dimfree.description import AnyDescription, Ask
from dimfree.errors import DivergenceError
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.linear_mean import critical_rate, learning_rate_of_unit_rate
from dimfree.onepass.pool import pool_critical_rate
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import LinearKnots
from dimfree.problem.loss import loss_name
from dimfree.progress import PartWatcher
from dimfree.results.record import joined
from dimfree.setting import model_of, speaking

SHARE = 0.6  # of the limit of stability, up to which rates are searched
_CALM = 0.25  # the same, for the rate of a batch
BATCHES = (32, 16, 8, 4, 2, 1)
RATES = SHARE * 2.0 ** -np.arange(6.0)  # shares of the limit that are tried
_KNOTS = np.array([0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.64, 0.82, 1.0])  # shares of the run
FAMILIES = {
    "constant": np.ones_like(_KNOTS),
    "linear to 0": 1 - _KNOTS,
    "hold half, then linear to 0": np.minimum(1.0, 2 - 2 * _KNOTS),
    "1/(1 + 10 u)": 1 / (1 + 10 * _KNOTS),
    "1/(1 + 40 u)": 1 / (1 + 40 * _KNOTS),
}
RISK, TEST_ERROR = "risk", "test_error"
_CURVED = {"logistic": 0.25}  # the largest second derivative of a loss, where it is not 1
_AFFORDABLE = 1e9  # multiplications of one look at the rows whose limit is computed
_ERF_SLOPE = 2 / pi  # the largest squared derivative of erf, by which a step is smaller than a linear network's

Vector = Float[np.ndarray, " n"]


class Choice(NamedTuple):
    """One way to train: the peak of the rate in a step of so many samples, and the shape of its schedule."""

    width: int
    rate: float
    batch: int
    family: str

    def steps(self, samples: int) -> int:
        """How many steps so many samples make."""
        return max(1, round(samples / self.batch))

    def of(self, problem: OnePassProblem, samples: int) -> OnePassProblem:
        """The problem that trains in this way."""
        until = self.steps(samples) * self.rate / (self.width * problem.dimension)
        knots = LinearKnots(times=tuple((_KNOTS * until).tolist()), factors=tuple(FAMILIES[self.family].tolist()))
        changes = {"network.width": self.width, "training.learning_rate": self.rate, "training.batch": self.batch}
        return problem.replace(**changes, **{"training.schedule": knots, "run.until": until})

    def said(self, dimension: int) -> str:
        """In words."""
        return (
            f"width {self.width}, batch {self.batch}, learning_rate {self.rate:.3g} ({self.rate / dimension:.3g} for inputs of "
            f"variance 1), {self.family}"
        )


class Found(NamedTuple):
    """The choice of theory, its predicted excess risk, and all others that were looked at."""

    best: Choice
    risk: float
    looked_at: dict[Choice, float]
    limits: tuple[float, float]  # of stability for single samples: on the rows, and on Gaussians


def limit(problem: OnePassProblem, batch: int) -> tuple[float, float]:
    """The largest stable learning_rate of a network of this width, on the rows and on Gaussians of their covariance.

    A linear network's limit, over the largest squared derivative of the activation and the largest curvature of the loss. Of very
    many rows a part is looked at, which errs to the side of caution.
    """
    found = problem.spectrum
    assert found.pool is not None
    rows = found.pool.rows[: max(found.dimension, int(_AFFORDABLE / found.dimension**2))]
    slope = 1.0 if problem.network.activation == "linear" else _ERF_SLOPE
    unit = learning_rate_of_unit_rate(problem) / slope / _CURVED.get(loss_name(problem.training.loss), 1.0)
    gaussian = critical_rate(found.values, found.multiplicities, batch)
    return unit * pool_critical_rate(rows, batch, 1e-3), unit * gaussian


def with_batch(problem: OnePassProblem, single: Choice, asked: int | None) -> Choice:
    """The same in batches: as many samples a step as are asked for, or as leave the rate well below its limit."""
    for batch in BATCHES if asked is None else (asked,):
        if asked is not None or batch == 1 or batch * single.rate <= _CALM * min(limit(problem, batch)):
            return single._replace(batch=batch, rate=batch * single.rate)
    raise AssertionError("a batch of one is always taken")


def observed(
    problem: OnePassProblem,
    one: AnyDescription,
    starts: Sequence[object],
    times: Vector,
    key: jax.Array,
    names: Sequence[str] = (RISK,),
) -> dict[str, Float[np.ndarray, "t starts"]]:
    """The risk, or what else is asked for, at these times from every start; infinite where training blows up."""
    model, found = model_of(problem), []
    for number, start in enumerate(starts):
        ask = Ask(times, 1, jax.random.fold_in(key, number))
        try:
            seen = joined(list(speaking(one).account(model, start, ask)))
            found.append([seen[name][:, 0] for name in names])
        except DivergenceError:
            found.append([np.full(len(times), np.inf)] * len(names))
    each = np.nan_to_num(np.stack(found, axis=-1), nan=np.inf, posinf=np.inf)
    return dict(zip(names, each, strict=True))


def risks(
    problem: OnePassProblem, one: AnyDescription, starts: Sequence[object], times: Vector, key: jax.Array
) -> Float[np.ndarray, "t starts"]:
    """The risk alone."""
    return observed(problem, one, starts, times, key)[RISK]


def searched(
    problems: Mapping[int, tuple[OnePassProblem, Sequence[object]]], samples: Mapping[int, int], watch: PartWatcher
) -> Found:
    """The best choice: the width by linear decays at all rates, then the family.

    A width comes with its problem and starts, and with the samples that the budget allows it.
    """
    looked_at: dict[Choice, float] = {}
    limits = {width: limit(problem, 1) for width, (problem, _) in problems.items()}

    def look(width: int, family: str) -> None:
        problem, starts = problems[width]
        for share in RATES:
            choice = Choice(width, share * min(limits[width]), 1, family)
            asked = choice.of(problem, samples[width])
            end = np.array([asked.run.until])
            looked_at[choice] = float(risks(asked, HighDimensional(1e-5, 1e-7), starts, end, jax.random.key(0)).mean())

    for number, width in enumerate(problems):
        watch(f"theory at width {width}", number / (len(problems) + 1))
        look(width, "linear to 0")
    width = min(looked_at, key=lambda one: looked_at[one]).width
    for family in FAMILIES:
        watch(f"theory: {family}", len(problems) / (len(problems) + 1))
        if family != "linear to 0":
            look(width, family)
    best = min(looked_at, key=lambda one: looked_at[one])
    return Found(best, looked_at[best], looked_at, limits[best.width])
