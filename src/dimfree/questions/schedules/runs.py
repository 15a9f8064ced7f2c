"""Risks along a run under a schedule, by the adaptive solver or by real SGD; one compiled program each serves all schedules.

Every schedule is written as a table of the same number of knots. Inserting knots on its lines does not change a schedule.
"""

from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np
from jaxtyping import Float

from dimfree.description import AnyDescription, Ask
from dimfree.errors import DivergenceError
from dimfree.functions.schedule import Written, schedule
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import LinearKnots
from dimfree.questions.schedules.grid import Grid, Vector
from dimfree.results.record import joined
from dimfree.setting import model_of, speaking

_KNOTS = 161  # knots of every table
_LOOKS = 81  # times at which risks are looked at
S = TypeVar("S")


def looks(grid: Grid) -> Vector:
    """Times from 0 to the end at which risks are computed, spread like the grid."""
    return grid.times[grid.chosen(_LOOKS)]


def factors_at(written: Written, times: Vector) -> Vector:
    """The factors of a schedule at these times."""
    return np.asarray(schedule(written)(jax.device_put(times)))


def table(written: Written, grid: Grid) -> LinearKnots:
    """A schedule as a table: its own knots with others on the lines between them, or its values along the grid."""
    own = np.asarray(written.times) if isinstance(written, LinearKnots) else np.zeros(0)
    others = np.setdiff1d(grid.times[grid.chosen(2 * _KNOTS)], own)
    kept = np.linspace(0, len(others) - 1, _KNOTS - len(own)).round().astype(int)
    times = np.sort(np.concatenate([own, others[kept]]))
    return LinearKnots(times=tuple(times.tolist()), factors=tuple(factors_at(written, times).tolist()))


def risks(
    problem: OnePassProblem,
    one: AnyDescription,
    starts: Sequence[object],
    grid: Grid,
    written: Written,
    key: jax.Array,
    replicas: int = 1,
) -> Float[np.ndarray, "t starts r"]:
    """The risk under a schedule at all looks, from every start; not finite where it diverges."""
    model = model_of(problem.replace(**{"training.schedule": table(written, grid)}))
    found = []
    for number, start in enumerate(starts):
        ask = Ask(looks(grid), replicas, jax.random.fold_in(key, number))
        try:
            found.append(joined(list(speaking(one).account(model, start, ask)))["risk"])
        except DivergenceError:
            found.append(np.full((_LOOKS, replicas), np.nan))
    return np.stack(found, axis=1)


def judged(
    problem: OnePassProblem, theory: AnyDescription, starts: Sequence[object], grid: Grid, written: Written
) -> Float[np.ndarray, "t s"]:
    """The risk by a theory, from every start."""
    return risks(problem, theory, starts, grid, written, jax.random.key(0))[:, :, 0]
