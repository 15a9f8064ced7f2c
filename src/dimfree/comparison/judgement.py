"""How far an account is from real SGD: at the end, where it is worst, and what chance leaves open.

At every saved time there is a deviation and a band of chance around it (`chance.py`). The account fails where the deviation is
larger than what is allowed, `ALLOWED` per cent and the accuracy that it claims for itself, *and* exceeds that accuracy by more
than chance. Where it neither fails nor agrees closely enough, the verdict is "not resolved" (`resolution.py`, docs/verdict.md).
"""

from typing import NamedTuple

import numpy as np
import xarray as xr

from dimfree.comparison.beside import RESOLVED, Off, escape_off, overlaps_off, per_cent_of, spread_off
from dimfree.comparison.chance import Means, Table, means_of, own_chance, own_error
from dimfree.comparison.resolution import Band, Unresolved, unresolved
from dimfree.comparison.stretches import Stretch, Vector, Where, deciding

ALLOWED = 5.0  # per cent that an account may be off, in addition to its own accuracy
ROUNDING = 1e-13  # a risk below this counts as zero
_STILL = 1e-3  # a risk that changes by less than this share counts as constant


class Judgement(NamedTuple):
    """One account against the reference."""

    final_risk: float
    final_error: float  # standard error over replicas; 0 for a deterministic theory
    final_sigmas: float  # deviation at the last time in joint standard errors; nan where there is no error bar
    final_percent: float
    worst_percent: float
    worst_time: float
    allowed_percent: float
    chance_percent: float  # the deviation that chance alone can make, as the median over times
    fails: Stretch | None  # the stretch of time that decides the verdict
    also: Stretch | None  # another stretch of time on which the account fails, by less
    unresolved: Unresolved | None  # what chance leaves open outside these stretches
    resolved: bool  # whether so little is left open that the verdict outside these stretches is known
    within: Off | None  # where it is off by more than chance and ALLOWED, but within the accuracy that it claims
    leaves_open: str  # what the claimed accuracy depends on, such as "at width 4"
    impossible: Off | None  # the most negative risk
    escape: Off | None  # how late it leaves the plateau, in per cent of the reference's time
    spread: Off | None  # factor between its standard deviation and the reference's
    overlaps: Off | None  # the observable that is furthest off, in per cent of its size
    moves: bool  # whether the risk of the reference changes at all


def judge(account: xr.Dataset, reference: xr.Dataset) -> Judgement:
    """Compare an account with the reference in every way that a verdict uses."""
    means, time = means_of(account, reference, "risk"), account["time"].values
    seen = np.abs(means.other[np.isfinite(means.other)])
    largest = float(seen.max(initial=0.0))
    smallest = max(RESOLVED * largest, ROUNDING)
    size = np.maximum(np.where(np.isfinite(means.other), np.abs(means.other), largest), smallest)
    percent = _deviations(means, size)
    error = np.where(np.isfinite(percent), means.relative_error(time, size), 0.0)
    chance = means.student * error
    claimed = 100 * float(account.attrs.get("accuracy", 0.0))
    allowed = ALLOWED + claimed
    clear = np.abs(percent) > chance  # where there is no error bar, the comparison is false
    counts = (np.abs(percent) > allowed) & (np.abs(percent) - claimed > chance)
    fails, also = deciding(time, percent, counts)
    left = np.ones_like(counts) if fails is None else (time < fails.begin) | (time > fails.end)
    still_open, resolved = unresolved(
        time, Band(percent, chance, error * np.sqrt(means.runs), means), (allowed, claimed), left & ~counts
    )
    worst = int(np.argmax(np.abs(percent)))
    return Judgement(
        final_risk=float(means.one[-1]),
        final_error=float(own_error(account["risk"].values)[-1]),
        final_sigmas=_sigmas(means),
        final_percent=float(percent[-1]),
        worst_percent=float(percent[worst]),
        worst_time=float(time[worst]),
        allowed_percent=allowed,
        chance_percent=float(np.median(chance)),
        fails=fails,
        also=also,
        unresolved=still_open,
        resolved=resolved,
        within=_within(time, percent, clear & (np.abs(percent) <= allowed)),
        leaves_open=str(account.attrs.get("leaves_open", "")),
        impossible=None if _impossible(reference, smallest) else _impossible(account, smallest),
        escape=escape_off(account, reference, allowed) if resolved else None,
        spread=spread_off(account, reference),
        overlaps=overlaps_off(account, reference, allowed),
        moves=bool(not seen.size or np.ptp(means.other) > max(_STILL * largest, ROUNDING)),
    )


def _deviations(means: Means, size: Table) -> Table:
    """Deviations in per cent; +inf where only the reference is finite, -inf where only the account is."""
    one, other = np.isfinite(means.one), np.isfinite(means.other)
    with np.errstate(invalid="ignore"):
        percent = per_cent_of(means.difference, size)
    return np.where(one & other, percent, np.where(other, np.inf, np.where(one, -np.inf, 0.0)))


def _within(time: Vector, percent: Table, counts: Where) -> Off | None:
    """The largest deviation that is more than chance and within the accuracy that the account claims."""
    counts = counts & (np.abs(percent) > ALLOWED)
    if not counts.any():
        return None
    at = int(np.argmax(np.where(counts, np.abs(percent), 0.0)))
    return Off("risk", float(percent[at]), float(time[at]))


def _impossible(account: xr.Dataset, smallest: float) -> Off | None:
    """The most negative mean risk, if it is negative by more than chance and rounding.

    If the reference's risk is negative as well, the loss has negative values, and this is no fault.
    """
    values = account["risk"].values
    above = values.mean(axis=1) + own_chance(values)
    if not np.any(above < -smallest):
        return None
    at = int(np.nanargmin(above))
    return Off("risk", float(values[at].mean()), float(account["time"].values[at]))


def _sigmas(means: Means) -> float:
    difference, error = float(means.difference[-1]), float(means.error.of_both[-1])
    if difference == 0:
        return 0.0
    return difference / error if error != 0 else float(np.copysign(np.inf, difference))
