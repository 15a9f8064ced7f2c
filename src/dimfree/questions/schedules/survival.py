"""Whether the gain of a schedule in the limit survives real SGD: yes, no, or not known from these replicas."""

from math import ceil, exp, isfinite, log
from typing import TYPE_CHECKING, NamedTuple

from dimfree.questions.schedules.confirmation import ON_ROWS

if TYPE_CHECKING:
    from dimfree.questions.schedules.answer import Schedules

WORTH = 1.01  # smaller gains are not reported
_SURVIVES = 0.5  # the share of a gain, in logarithms, that real SGD must show
_MANY = 4096  # more replicas than this are not recommended


class Survival(NamedTuple):
    """Whether the gain survives in real SGD."""

    survives: bool  # whether the runs prove it, rather than merely allow it
    said: str  # in one sentence
    advice: str | None = None  # what to do about it


def survival(best: "Schedules") -> Survival | None:
    """Whether the gain over the best constant rate, and that of the best family, survive in real SGD; None if it did not run."""
    real = best.confirmed
    if real is None:
        return None
    rows, theory = real.by in ON_ROWS, best.hunt.course.said
    where, at = (
        ("SGD on the rows", "on the rows") if rows else (f"SGD at d = {real.dimension}", f"at d = {real.dimension}")
    )
    advice = (
        "give a lower upper bound of the rate, or prepare the rows in another way"
        if rows
        else "average over more starts (starts = 32), or optimise at larger d"
    )
    for name in ("optimal", "constant"):
        if share := real.lost(name):
            said = f"{100 * share:.0f} % of the replicas of {real.by} diverge under the {name} schedule {at}"
            return Survival(False, f"{said}.", f"{said}; lower the upper bound of the rate.")
    if best.gain(floor=real.floor) < WORTH:
        return Survival(True, f"{where} had no gain to confirm.")
    gained = f"{real.gained('optimal')} times below"
    family = best.family if best.family in real.risks and not real.lost(str(best.family)) else None
    beside = f", with {family} {real.gained(family)}" if family else ""
    low, high = real.interval("optimal", "constant")
    least = _SURVIVES * log(best.gain(floor=real.floor))
    if high < least:
        return Survival(
            False,
            f"{where} does not confirm it: {gained}{beside}.",
            f"the gain of {theory} ({best.gain(floor=real.floor):.2g}x) does not survive {at}: SGD gains "
            f"{real.gained('optimal')}; {advice}.",
        )
    if low < least:
        return Survival(
            False,
            f"{where} leaves it open: {gained}{beside}.",
            f"with {real.replicas} replicas the gain of SGD is not resolved "
            f"(from {_in_words(low)} to {_in_words(high)} at 95 %); "
            f"try replicas = {_needed(real.replicas, low, high, least)}.",
        )
    if family and (behind := real.interval("optimal", family)[1]) < 0:
        return Survival(
            False,
            f"{where} is better off with {family}: {real.gained(family)} times below, with the best schedule "
            f"{real.gained('optimal')}.",
            f"SGD ends at least {exp(-behind):.3g} times lower with {family} than with the best schedule of the limit; take "
            f"{family}{'' if rows else ', or optimise at larger d'}.",
        )
    return Survival(True, f"{where} confirms it: {gained}{beside}.")


def _in_words(log_gain: float) -> str:
    return f"{exp(log_gain):.2g}" if isfinite(log_gain) else ("anything" if log_gain > 0 else "nothing")


def _needed(replicas: int, low: float, high: float, least: float) -> int:
    """How many replicas would decide, if the mean stays: error bars shrink like the square root of their number."""
    middle, half = (low + high) / 2, (high - low) / 2
    if not isfinite(half):
        return max(8, 4 * replicas)
    short = half / abs(middle - least) if middle != least else _MANY
    return int(min(_MANY, replicas * max(2, ceil(min(short, _MANY) ** 2))))
