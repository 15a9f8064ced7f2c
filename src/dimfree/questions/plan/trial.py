"""The plan for one way to part the rows, run for real beside a plain default, a validated constant rate and a validated decay."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from dimfree.comparison.run import own_key, starts_of
from dimfree.description import AnyDescription
from dimfree.gaussian.any_loss.sampled import expected_loss
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.rows import RowsSGD
from dimfree.problem.loss import loss_name
from dimfree.progress import PartWatcher
from dimfree.questions.plan.search import RATES, TEST_ERROR, Choice, Found, observed, risks, searched, with_batch
from dimfree.questions.plan.splits import Split
from dimfree.questions.plan.teacher import MEASURES, Fit, Halves, fitted, label_noise

EPOCHS = (0.1, 0.3, 1.0, 2.5, 5.0)  # at which prediction and measurement are compared, as far as the budget goes
PLAN, DEFAULT, CONSTANT, LINEAR = "plan", "plain default", "validated constant", "validated linear decay"
FOLLOWED = (PLAN, CONSTANT)  # whose course is compared with theory, and not its end alone
_PLAIN = (0.01, 32)  # learning rate for inputs of variance 1, and batch
_DRAWN = 100_000  # labels over which a loss is averaged
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
    at_ends: tuple[
        Float[np.ndarray, "t seeds"], ...
    ]  # predictions of the plan with the smallest and largest label noise
    floor: float  # of risks on the last rows: half the label noise, or the teacher's own mean loss
    assumed_floor: float  # the same in theory
    explained: dict[
        str, float
    ]  # share of the variance of the last rows' labels, or of the loss of a constant, by teacher
    wrong: (
        tuple[float, float] | None
    )  # of the plan at the end, with a loss for classes: test error, predicted and measured


def tried(
    split: Split,
    base: OnePassProblem,
    samples: Mapping[int, int],
    batch: int | None,
    seeds: int,
    watch: PartWatcher,
    *,
    offsets: bool = False,
) -> Trial:
    """Fit, search by theory, validate the baselines, then measure all of them once on rows that nothing was chosen by.

    `samples` has the widths to choose from, and how many samples each may draw.
    """
    to_choose, to_measure = split.halves(MEASURES[loss_name(base.training.loss)])
    fit = fitted(to_choose, base.run.seed, lambda part, share: watch(part, 0.2 * share), offsets=offsets)
    problems = {}
    for width in samples:
        problem = split.problem(base.replace(**{"network.width": width}), fit, final=False)
        problems[width] = (problem, _starts(problem, seeds))
    looked_at = {width: _affordable(one, starts) for width, (one, starts) in problems.items()}
    found = searched(looked_at, samples, lambda part, share: watch(part, 0.2 + 0.4 * share))
    problem, starts = problems[found.best.width]
    drawn = samples[found.best.width]
    choices = _choices(problem, starts, found, drawn, batch, watch)
    return _measured(split, problem, fit, found, choices, drawn, starts, to_choose, to_measure, watch)


def _affordable(problem: OnePassProblem, starts: Sequence[object]) -> tuple[OnePassProblem, Sequence[object]]:
    """What is searched by: one start for classes, and the square loss for Huber's, which is the same up to large residuals."""
    if problem.training.needs_signs:
        return problem, starts[:1]
    return problem.replace(**{"training.loss": "square"}), starts


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


def _wrong(asked: OnePassProblem, choice: Choice, samples: int, starts: Sequence[object]) -> tuple[float, float]:
    """Test errors at the end, predicted and measured."""
    times, both = _times(asked, choice, samples, ()), (HighDimensional(1e-5, 1e-7), RowsSGD())
    seen = (observed(asked, one, starts, times, _key(asked), (TEST_ERROR,))[TEST_ERROR] for one in both)
    predicted, measured = (float(one.mean()) for one in seen)
    return predicted, measured


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
    to_choose: Halves,
    to_measure: Halves,
    watch: PartWatcher,
) -> Trial:
    """All choices once on the last rows; starts are the same, because the rows to learn from are."""
    problem = split.problem(chosen_by, fit, final=True)
    plain = problem.training.beyond_square is None
    noise = fit.noise / 2 if plain else 0.0  # which risks of other losses contain
    epochs = [epoch for epoch in EPOCHS if epoch * len(split.learnt) <= samples * (1 - 1e-9)]
    ends, measured, predicted = {}, {}, {}
    for number, (name, choice) in enumerate(choices.items()):
        watch(f"measuring: {name}", 0.8 + 0.05 * number)
        seen = noise + _ends(problem, choice, samples, starts, epochs if name in FOLLOWED else ())
        ends[name] = seen[-1]
        if name in FOLLOWED:
            asked = choice.of(problem, samples)
            times = _times(asked, choice, samples, epochs)
            measured[name] = seen
            predicted[name] = noise + risks(asked, HighDimensional(1e-5, 1e-7), starts, times, _key(asked))
    planned = choices[PLAN].of(problem, samples)
    times = _times(planned, choices[PLAN], samples, epochs)
    at_ends = [_at_noise(planned, one, starts, times) for one in sorted((fit.train, fit.validation))] if plain else []
    wrong = _wrong(planned, choices[PLAN], samples, starts) if planned.training.needs_signs else None
    explained = {
        name: 1 - float(one.errors(*to_measure.held).mean()) / to_measure.nothing
        for name, one in (("ridge", fit.ridge), ("teacher", fit.teacher), ("teacher with offsets", fit.offsets))
        if one is not None
    }
    floor, assumed = _floors(planned, fit, to_choose, to_measure)
    at = np.array([*epochs, samples / len(split.learnt)])
    return Trial(
        planned, fit, found, choices, ends, at, predicted, measured, (*at_ends,), floor, assumed, explained, wrong
    )


def _at_noise(
    planned: OnePassProblem, noise: float, starts: Sequence[object], times: Float[np.ndarray, " t"]
) -> Float[np.ndarray, "t seeds"]:
    """The prediction of the plan if labels had this noise, which is both in the risk and in the steps."""
    asked = planned.replace(**{"data.noise": noise})
    return noise / 2 + risks(asked, HighDimensional(1e-5, 1e-7), starts, times, _key(planned))


def _floors(problem: OnePassProblem, fit: Fit, to_choose: Halves, to_measure: Halves) -> tuple[float, float]:
    """What no network can go below: on the last rows, and in theory.

    With the square loss this is half the label noise, with another one the teacher's own mean loss, for theory on validation rows
    with the labels that it assumes.
    """
    taught = model(problem).taught
    assert taught is not None
    if taught.excess:
        return label_noise(fit.train, float(fit.teacher.errors(*to_measure.held).mean())) / 2, fit.noise / 2
    last, seen = (jnp.asarray(fit.teacher(half.x_held)) for half in (to_measure, to_choose))
    floor = float(jnp.mean(taught.loss(last, jnp.asarray(to_measure.y_held))))
    many = jnp.tile(seen, -(-_DRAWN // len(seen)))
    return floor, float(jnp.mean(expected_loss(taught, many, many)))
