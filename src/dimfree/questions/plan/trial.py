"""The plan for one way to part the rows, run for real beside a plain default, a validated constant rate and a validated decay."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.rows import RowsSGD
from dimfree.progress import PartWatcher
from dimfree.questions.plan.search import RATES, Choice, Found, risks, searched, with_batch
from dimfree.questions.plan.splits import Split
from dimfree.questions.plan.teacher import Fit, fitted

EPOCHS = (0.1, 0.3, 1.0, 2.5, 5.0)  # at which prediction and measurement are compared, as far as the budget goes
PLAN, DEFAULT, CONSTANT, LINEAR = "plan", "plain default", "validated constant", "validated linear decay"
FOLLOWED = (PLAN, CONSTANT)  # whose course is compared with theory, and not its end alone
_PLAIN = (0.01, 32)  # learning rate for inputs of variance 1, and batch
_VALIDATED = 2  # runs of every rate that is validated

Risks = Float[np.ndarray, " seeds"]


class Trial(NamedTuple):
    """Everything that one part of the rows gave; risks are totals on the rows that are measured on, E (y - f)²/2."""

    problem: OnePassProblem  # of the plan, measured on the last rows
    fit: Fit
    found: Found
    choices: dict[str, Choice]
    ends: dict[str, Risks]
    epochs: Float[np.ndarray, " t"]
    predicted: dict[str, Float[np.ndarray, "t seeds"]]  # of FOLLOWED
    measured: dict[str, Float[np.ndarray, "t seeds"]]
    floor: float  # half of the variance that the teacher leaves on the last rows
    explained: dict[str, float]  # share of the variance of the last rows' labels, by teacher

    @property
    def assumed_floor(self) -> float:
        """Half of what it leaves on validation rows, which the prediction adds."""
        return self.fit.validation / 2


def tried(
    split: Split,
    base: OnePassProblem,
    widths: Sequence[int],
    samples: int,
    batch: int | None,
    seeds: int,
    watch: PartWatcher,
) -> Trial:
    """Fit, search by theory, validate the baselines, then measure all of them once on rows that nothing was chosen by."""
    to_choose, to_measure = split.halves()
    fit = fitted(to_choose, base.run.seed, lambda part, share: watch(part, 0.2 * share))
    problems = {}
    for width in widths:
        problem = split.problem(base.replace(**{"network.width": width}), fit, final=False)
        problems[width] = (problem, _starts(problem, seeds))
    found = searched(problems, samples, lambda part, share: watch(part, 0.2 + 0.4 * share))
    problem, starts = problems[found.best.width]
    choices = _choices(problem, starts, found, samples, batch, watch)
    return _measured(split, problem, fit, found, choices, samples, starts, to_measure[2:], watch)


def _starts(problem: OnePassProblem, count: int) -> list[object]:
    both: tuple[AnyDescription, ...] = (RowsSGD(), HighDimensional())
    return starts_of(problem.replace(**{"run.starts": count}), both)


def _choices(
    problem: OnePassProblem, starts: Sequence[object], found: Found, samples: int, batch: int | None, watch: PartWatcher
) -> dict[str, Choice]:
    """The plan, and the baselines with its width; rates of two of these are chosen by runs on validation rows."""
    plan = with_batch(problem, found.best, batch)
    rate, plain_batch = _PLAIN
    choices = {PLAN: plan, DEFAULT: Choice(plan.width, rate * problem.dimension, plain_batch, "constant")}
    for number, (name, family) in enumerate(((CONSTANT, "constant"), (LINEAR, "linear to 0"))):
        watch(f"validating: {family}", 0.6 + 0.1 * number)
        ends = {}
        for share in RATES:
            choice = plan._replace(rate=plan.batch * share * min(found.limits), family=family)
            ends[choice] = float(_ends(problem, choice, samples, starts[:_VALIDATED])[-1].mean())
        choices[name] = min(ends, key=lambda one: ends[one])
    return choices


def _ends(
    problem: OnePassProblem, choice: Choice, samples: int, starts: Sequence[object], epochs: Sequence[float] = ()
) -> Float[np.ndarray, "t seeds"]:
    """Risks of real SGD on the rows at these epochs, and at the end."""
    asked = choice.of(problem, samples)
    return risks(asked, RowsSGD(), starts, _times(asked, choice, samples, epochs), _key(asked))


def _times(asked: OnePassProblem, choice: Choice, samples: int, epochs: Sequence[float]) -> Float[np.ndarray, " t"]:
    """Whole steps, at which exactly so many samples were drawn; the end is the last one."""
    pool = asked.spectrum.pool
    assert pool is not None
    steps = [round(epoch * len(pool.rows) / choice.batch) for epoch in epochs]
    return np.array([*steps, choice.steps(samples)]) * asked.time_step


def _key(asked: OnePassProblem) -> jax.Array:
    return own_key(asked, RowsSGD().title)


def _measured(
    split: Split,
    chosen_by: OnePassProblem,
    fit: Fit,
    found: Found,
    choices: dict[str, Choice],
    samples: int,
    starts: Sequence[object],
    last: tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]],
    watch: PartWatcher,
) -> Trial:
    """All choices once on the last rows; starts are the same, because the rows to learn from are."""
    problem = split.problem(chosen_by, fit, final=True)
    assumed = fit.validation / 2
    epochs = [epoch for epoch in EPOCHS if epoch * len(split.learnt) <= samples * (1 - 1e-9)]
    ends, measured, predicted = {}, {}, {}
    for number, (name, choice) in enumerate(choices.items()):
        watch(f"measuring: {name}", 0.8 + 0.05 * number)
        seen = assumed + _ends(problem, choice, samples, starts, epochs if name in FOLLOWED else ())
        ends[name] = seen[-1]
        if name in FOLLOWED:
            asked = choice.of(problem, samples)
            times = _times(asked, choice, samples, epochs)
            measured[name] = seen
            predicted[name] = assumed + risks(asked, HighDimensional(1e-5, 1e-7), starts, times, _key(asked))
    planned = choices[PLAN].of(problem, samples)
    teachers = {"ridge": fit.ridge, "teacher": fit.teacher} | (
        {"teacher with offsets": fit.offsets} if fit.offsets else {}
    )
    power = float(np.mean(last[1] ** 2))
    explained = {name: 1 - float(one.errors(*last).mean()) / power for name, one in teachers.items()}
    at = np.array([*epochs, samples / len(split.learnt)])
    floor = float(fit.teacher.errors(*last).mean()) / 2
    return Trial(planned, fit, found, choices, ends, at, predicted, measured, floor, explained)
