"""Batches and momenta: the same problem at the same rate per sample in the end, so that time, samples and horizon stay.

A sample moves weights by learning_rate/(batch (1 - momentum)) times its gradient in the end. The equations of the limit know no
more than that, unless 1 - momentum is of the order 1/d; the exact mean of linear networks knows the rest.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.table import Table

from dimfree.onepass.problem import OnePassProblem
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.knobs import Knobs
from dimfree.questions.schedules.optimum import Hunt
from dimfree.questions.schedules.search import search

_KNOTS, _SCANNED, _CALLS = 7, 9, 60
_AS_GOOD = 1.01  # risks that differ by less count as equal: then larger batches, which take fewer steps, are better


class Look(NamedTuple):
    """The best that a few knots reach at one batch and momentum."""

    batch: int
    momentum: float
    steps: int
    risk: float


def variants(problem: OnePassProblem, turned: Knobs) -> list[OnePassProblem]:
    """The problem at all batches and momenta; itself where neither is a knob."""
    training = problem.training
    pairs = product(turned.batches or (training.batch,), turned.momenta or (training.momentum,))
    per_sample = training.effective_rate / training.batch
    return [
        problem.replace(
            **{
                "training.batch": batch,
                "training.momentum": momentum,
                "training.learning_rate": per_sample * batch * (1 - momentum),
            }
        )
        if (batch, momentum) != (training.batch, training.momentum)
        else problem
        for batch, momentum in pairs
    ]


def chosen(
    problems: Sequence[OnePassProblem], hunt_of: Callable[[OnePassProblem], Hunt], watch: PartWatcher
) -> tuple[Hunt, tuple[Look, ...]]:
    """The hunt with the batch and momentum that reach the lowest risk; of those as good as that, in the fewest steps."""
    if len(problems) == 1:
        return hunt_of(problems[0]), ()
    found = []
    for done, one in enumerate(problems):
        training = one.training
        watch(f"batch {training.batch}, momentum {training.momentum:g}", done / len(problems))
        hunt = hunt_of(one)
        risk = float(np.exp(_roughly(hunt)))
        found.append((hunt, Look(training.batch, training.momentum, one.steps(one.run.until), risk)))
    lowest = min(look.risk for _, look in found)
    good = [(hunt, look) for hunt, look in found if look.risk <= _AS_GOOD * lowest]
    best = min(good, key=lambda one: (one[1].steps, one[1].momentum))
    return best[0], tuple(look for _, look in found)


def _roughly(hunt: Hunt) -> float:
    """The objective at the best of a few knots."""
    course, points = hunt.course, len(hunt.course.grid.points)
    rates = np.geomspace(max(hunt.box[0], 1e-3 * hunt.box[1]), hunt.box[1], _SCANNED)
    values = [course.value(np.full(points, rate)) for rate in rates]
    knots = course.grid.knots(_KNOTS)
    return search(course, hunt.space(knots), np.full(_KNOTS, rates[int(np.argmin(values))]), _CALLS).value


def table_of(looks: Sequence[Look]) -> Table:
    """A row per batch and momentum."""
    table = Table(title=f"Batches and momenta, {_KNOTS} knots each")
    for heading in ("batch", "momentum", "steps", "final risk"):
        table.add_column(heading, justify="right")
    for look in looks:
        table.add_row(f"{look.batch}", f"{look.momentum:.4g}", f"{look.steps}", f"{look.risk:.4g}")
    return table
