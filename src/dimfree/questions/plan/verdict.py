"""How far Gaussian theory carries for a table, and what the plan is worth beside its baselines: one sentence each."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.questions.plan.teacher import ENOUGH
from dimfree.questions.plan.trial import CONSTANT, DEFAULT, FOLLOWED, LINEAR, PLAN, Trial

_CARRIES, _GUIDES = 0.15, 0.4  # deviations of the total risk up to which theory carries, or is a rough guide
FROM = 0.3  # epochs from which on it is judged
_CERTAIN = 3.0  # standard errors

Numbers = Float[np.ndarray, " _"]


class Mean(NamedTuple):
    """Of several ways to part the rows, with its standard error; of one way, over the seeds."""

    value: float
    error: float

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return "unknown"
        return (
            f"{100 * self.value:+.1f}({100 * self.error:.1f}) %"
            if np.isfinite(self.error)
            else f"{100 * self.value:+.1f} %"
        )


def mean_of(values: Sequence[Numbers]) -> Mean:
    """The mean of all, its error from the scatter of the splits' means, or of the seeds of a single split."""
    means = np.array([one.mean() for one in values]) if len(values) > 1 else values[0]
    error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else np.nan
    return Mean(float(means.mean()), error)


def against(trials: Sequence[Trial], name: str) -> Mean:
    """By how much the plan's held-out risk lies above that of another choice, relative to it; starts are paired."""
    return mean_of([one.ends[PLAN] / one.ends[name].mean() - one.ends[name] / one.ends[name].mean() for one in trials])


def off_by(trials: Sequence[Trial], number: int, *, excess: bool, name: str = PLAN) -> Mean:
    """Predicted over measured mean risk, minus 1, at one of the epochs; the excess is what lies above the label noise.

    Means are over splits, or over the seeds of one; an excess that is not above 0 by two errors has no ratio.
    """
    predicted, measured = (
        _by_split(
            [getattr(one, kind)[name][number] for one in trials], [getattr(one, floor) * excess for one in trials]
        )
        for kind, floor in (("predicted", "assumed_floor"), ("measured", "floor"))
    )
    count, below = len(measured), float(measured.mean())
    if count > 1 and below < 2 * measured.std(ddof=1) / np.sqrt(count):
        return Mean(np.nan, np.nan)
    if not np.isfinite(predicted).all():  # theory blows up, and the rows do not
        return Mean(np.inf, np.nan)
    ratio = float(predicted.mean()) / below
    left = predicted - ratio * measured
    return Mean(ratio - 1, float(left.std(ddof=1) / np.sqrt(count) / below) if count > 1 else np.nan)


def _by_split(risks: Sequence[Numbers], floors: Sequence[float]) -> Numbers:
    found = [one - floor for one, floor in zip(risks, floors, strict=True)]
    return np.array([one.mean() for one in found]) if len(found) > 1 else found[0]


def carries(trials: Sequence[Trial], name: str = PLAN) -> tuple[float, str]:
    """The largest deviation of the total risk after the first part of an epoch, and how far that lets one trust theory."""
    later = [n for n, epoch in enumerate(trials[0].epochs) if epoch >= FROM] or [len(trials[0].epochs) - 1]
    worst = max((off_by(trials, n, excess=False, name=name) for n in later), key=lambda one: abs(one.value))
    size = abs(worst.value)
    if not np.isfinite(size) or size > _GUIDES:
        return size, "does not carry"
    return size, "carries" if size <= _CARRIES else "is a rough guide"


def bracket(trials: Sequence[Trial]) -> tuple[float, ...]:
    """The same deviation if the label noise were at the lower and at the upper end of its bracket.

    Empty with a loss that is not the square one, whose risk has no noise to add.
    """
    return tuple(
        carries([one._replace(predicted={PLAN: one.at_ends[end]}) for one in trials])[0]
        for end in range(len(trials[0].at_ends))
    )


def verdicts(trials: Sequence[Trial]) -> Iterator[str]:
    """What to believe, in the order of its weight."""
    (size, word), (calm, _) = (carries(trials, name) for name in FOLLOWED)
    end = off_by(trials, -1, excess=True)
    yield (
        f"Gaussian theory {word} for this table: from {FROM:g} epochs on its held-out risk is at most {100 * size:.0f} % off "
        f"along the plan, and {100 * calm:.0f} % at the validated constant rate. Of the part above the label noise it is off "
        f"by {end} at the end of the plan."
    )
    if ends := bracket(trials):
        lower, upper = (f"{100 * one:.0f} %" for one in ends)
        yield (
            f"The label noise is only known within its bracket: predictions along the plan are at most {lower} off with its "
            f"lower end, and {upper} with its upper one."
        )
    default, constant, linear = (against(trials, name) for name in (DEFAULT, CONSTANT, LINEAR))
    sure = abs(default.value) > _CERTAIN * default.error
    yield (
        f"The plan's held-out risk is {default} beside the plain default{'' if sure else ' (within chance)'}, {constant} beside "
        f"the validated constant rate, {linear} beside the validated linear decay; negative is better."
    )
    if constant.value > max(constant.error, 0.0):
        yield "The plan is worse than a constant rate that was validated on these rows: validate, and do not trust the schedule."


def warnings(trials: Sequence[Trial]) -> Iterator[str]:
    """Where the fit or the theory is weak."""
    linear = [one for one in trials if one.fit.why_linear]
    if linear:
        yield f"The teacher is linear in {len(linear)} of {len(trials)} splits: {linear[0].fit.why_linear}."
    few = [one for one in trials if not one.fit.why_linear and one.fit.per_unit < ENOUGH]
    if few:
        yield (
            f"There are {few[0].fit.per_unit:.2g} samples for each dimension and unit, and fewer than {ENOUGH:g} do not find "
            "units again: take the units for a fit, not for a finding."
        )
    missed = [one.explained["teacher with offsets"] - one.explained["teacher"] for one in trials if one.fit.offsets]
    if missed and np.mean(missed) > 0.02:
        yield (
            f"Units with offsets would explain {100 * np.mean(missed):.0f} % more of the labels' variance; the network has none, "
            "so theory takes that part for noise (offsets = 'yes' puts them into the teacher)."
        )
    rows, gaussian = trials[0].found.limits
    if rows < 0.8 * gaussian:
        yield (
            f"Training on these rows is stable up to learning_rate {rows:.2g}, on Gaussians up to {gaussian:.2g}: rates are "
            "capped by the former."
        )
