"""A decaying rate as a growing batch: per sample only rate/batch matters (docs/theory/schedules.md, section 2)."""

from typing import NamedTuple

import numpy as np

from dimfree.onepass.problem import OnePassProblem
from dimfree.questions.schedules.grid import Vector
from dimfree.questions.schedules.runs import factors_at

_POINTS = 2001


class BatchSchedule(NamedTuple):
    """Whole batches along the run whose trajectory in samples is that of the rates, and how many steps they take."""

    samples: Vector  # per dimension
    batch: Vector  # the batch at each of these samples
    rate: Vector  # with that batch
    steps: float  # sequential steps with growing batches
    plain_steps: float  # steps with decaying rates at the batch of the problem

    def one_by_one(self, dimension: int) -> tuple[Vector, Vector]:
        """The rate and the batch of every step."""
        last, taken, chosen = round(dimension * self.samples[-1]), 0, list[int]()
        while taken < last:
            chosen.append(int(np.searchsorted(self.samples, taken / dimension, side="right")) - 1)
            taken += round(self.batch[chosen[-1]])
        return self.rate[chosen], self.batch[chosen]


def batches(problem: OnePassProblem) -> BatchSchedule:
    """n_b(alpha) = largest rate / rate, times the batch of the problem; rounded, and the rate makes up for that."""
    training = problem.training
    assert training.schedule is not None
    times = np.linspace(0, problem.run.until, _POINTS)
    rates = training.learning_rate * factors_at(training.schedule, times)
    samples = times * problem.network.width * training.batch / training.effective_rate
    batch = np.maximum(1.0, np.rint(training.batch * rates.max() / np.maximum(rates, np.finfo(float).tiny)))
    steps = problem.dimension * float(np.trapezoid(1 / batch, samples))
    return BatchSchedule(
        samples, batch, rates * batch / training.batch, steps, problem.dimension * samples[-1] / training.batch
    )
