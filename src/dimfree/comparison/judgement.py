"""How far an account is from real SGD, by what one asks of it: the end, the worst stretch, the escape, spread and overlaps.

A deviation counts where it is larger than the error bars can explain *and* larger than what is allowed: `ALLOWED` per cent
and the accuracy that the theory claims for itself (docs/verdict.md).
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import fdtri, ndtri, stdtrit  # `scipy.stats` takes as long to import as jax

from dimfree.results.landmarks import crossing_times, plateau

ALLOWED = 5.0  # per cent, beside the account's own accuracy
UNLIKELY = 5e-3  # a deviation counts where chance would make one as large less often than this
SPREAD = 1.25  # factor between two standard deviations that is allowed
TOO_WIDE = 25.0  # per cent: error bars that leave everything open
RESOLVED = 1e-8  # of the largest risk: below this nothing is compared
ROUNDING = 1e-13  # a risk below this is zero
_STILL = 1e-3  # relative change of the risk below which nothing has happened
_AS_BAD = 0.5  # of the largest deviation: what is as bad as that one
_FEW = 8  # replicas below which a spread is not looked at
_USUAL = 0.05  # error bars contain the truth but for this often, where it is asked how wide they are

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Where = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Stretch(NamedTuple):
    """Where an account fails: between two saved times, by how much at its worst and at its last time."""

    since: float  # the last saved time before it, until which all is well
    begin: float
    end: float
    worst: float  # per cent
    last: float  # per cent
    to_the_end: bool


class Off(NamedTuple):
    """One more thing that is not right: by how much, and when it is worst."""

    what: str
    amount: float
    time: float


class Judgement(NamedTuple):
    """One account against the reference."""

    final_risk: float
    final_error: float  # standard error over replicas, 0 for a deterministic theory
    final_sigmas: float  # deviation at the last time in joint standard errors
    final_percent: float
    worst_percent: float
    worst_time: float
    allowed_percent: float
    error_percent: float  # what the error bars leave open, as the median over times; at the end, if it is off there
    fails: Stretch | None  # in the risk
    also: Stretch | None  # elsewhere in the risk, and less
    escape: Off | None  # when it leaves the plateau, in per cent of the reference's time
    spread: Off | None  # factor between its standard deviation and the reference's
    overlaps: Off | None  # the observable that is furthest off, in per cent of its size
    moves: bool  # whether the risk of the reference changes at all


class _Means(NamedTuple):
    """Two means over replicas, their difference, its standard error and the freedom of that."""

    one: Table
    other: Table
    difference: Table
    error: Table
    freedom: float

    def apart(self, often: float) -> Table:
        """How far apart they are by chance no more often than this; nan when there is only one run of each."""
        return self.error * float(stdtrit(self.freedom, 1 - often / 2)) if self.freedom > 0 else self.error

    @property
    def chance(self) -> Table:
        """What does not count."""
        return self.apart(UNLIKELY)


def judge(account: xr.Dataset, reference: xr.Dataset) -> Judgement:
    """Everything that a verdict is made of."""
    means = _means(account, reference, "risk")
    largest = float(np.abs(means.other).max())
    size = np.maximum(np.abs(means.other), max(RESOLVED * largest, ROUNDING))
    percent = _percent(means.difference, size)
    allowed = ALLOWED + 100 * float(account.attrs.get("accuracy", 0.0))
    time = account["time"].values
    worst = int(np.argmax(np.abs(percent)))
    counts = (np.abs(percent) > allowed) & ~(np.abs(means.difference) <= means.chance)
    fails, also = _stretches(time, percent, counts)
    return Judgement(
        final_risk=float(means.one[-1]),
        final_error=float(_own_error(account["risk"].values)[-1]),
        final_sigmas=_sigmas(means),
        final_percent=float(percent[-1]),
        worst_percent=float(percent[worst]),
        worst_time=float(time[worst]),
        allowed_percent=allowed,
        error_percent=_open(_percent(means.apart(_USUAL), size), bool(abs(percent[-1]) > allowed)),
        fails=fails,
        also=also,
        escape=_escape(account, reference, allowed),
        spread=_spread(account, reference),
        overlaps=_overlaps(account, reference, allowed),
        moves=bool(np.ptp(means.other) > max(_STILL * largest, ROUNDING)),
    )


def _open(bars: Table, off_at_the_end: bool) -> float:
    """What error bars excuse: a mean that a few runs carry away at the end is no agreement, however well all began."""
    return float(np.fmax(np.median(bars), bars[-1]) if off_at_the_end else np.median(bars))


def _stretches(time: Vector, percent: Table, counts: Where) -> tuple[Stretch | None, Stretch | None]:
    """The stretch that decides, the last one if it goes to the end and else the worst; and the worst of those that do not.

    Earlier ones that are as bad belong to what decides. A single saved time counts at the end only.
    """
    beside = np.concatenate([[False], counts, [True]])
    counts = counts & (beside[:-2] | beside[2:])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], counts.astype(int), [0]])))
    found = [_between(time, percent, first, last - 1) for first, last in edges.reshape(-1, 2).tolist()]
    if not found:
        return None, None
    main = found[-1] if found[-1].to_the_end else max(found, key=lambda one: abs(one.worst))
    as_bad = [one for one in found if one.begin <= main.begin and abs(one.worst) >= _AS_BAD * abs(main.worst)]
    bounds = (int(np.searchsorted(time, at)) for at in (as_bad[0].begin, main.end))
    others = [one for one in found if one.end < as_bad[0].begin or one.begin > main.end]
    return _between(time, percent, *bounds), max(others, key=lambda one: abs(one.worst), default=None)


def _between(time: Vector, percent: Table, first: int, last: int) -> Stretch:
    inside = percent[first : last + 1]
    return Stretch(
        since=float(time[max(first - 1, 0)]),
        begin=float(time[first]),
        end=float(time[last]),
        worst=float(inside[np.argmax(np.abs(inside))]),
        last=float(percent[last]),
        to_the_end=last == len(time) - 1,
    )


def _escape(account: xr.Dataset, reference: xr.Dataset, allowed: float) -> Off | None:
    """Whether the plateau of the reference is left too early or too late."""
    found = plateau(reference["risk"].mean("replica"))
    height = float(found["height"])
    if np.isnan(height):
        return None
    late = [data.sel(time=slice(float(found["begin"]), None)) for data in (account, reference)]
    one, other = (crossing_times(data, height / 2).values for data in late)
    if np.isnan(one).any() or np.isnan(other).any():  # some never leave: the risk itself tells
        return None
    shift = one.mean() - other.mean()
    percent = 100 * shift / other.mean()
    chance = float(_Means(one, other, shift, *_welch(one[:, None], other[:, None])).chance[0])
    counts = abs(percent) > allowed and not abs(shift) <= chance
    return Off("escape", float(percent), float(other.mean())) if counts else None


def _spread(account: xr.Dataset, reference: xr.Dataset) -> Off | None:
    """The ratio of two standard deviations where it is furthest from one, if that is more than chance; both must claim one."""
    if not (account.attrs["scatters"] and reference.attrs["scatters"]) or "start" in reference.coords:
        return None
    one, other = account["risk"].values, reference["risk"].values
    if min(one.shape[1], other.shape[1]) < _FEW:
        return None
    widths = np.stack([values.std(axis=1, ddof=1) for values in (one, other)])
    usable = (widths > RESOLVED * np.abs(other).max()).all(axis=0)
    if not usable.any():
        return None
    ratio = np.log(np.where(usable, widths[0], 1.0) / np.where(usable, widths[1], 1.0))
    error = np.hypot(_log_width_error(one), _log_width_error(other))
    rare = UNLIKELY / len(ratio)  # one of all times is enough
    tails = (
        ndtri(1 - rare / 2) * error,
        np.log(fdtri(one.shape[1] - 1, other.shape[1] - 1, 1 - rare / 2)) / 2,
    )
    counts = usable & (np.abs(ratio) > np.maximum(np.log(SPREAD), np.maximum(*tails)))
    if not counts.any():
        return None
    at = int(np.argmax(np.where(counts, np.abs(ratio), 0.0)))
    return Off("spread", float(np.exp(ratio[at])), float(account["time"].values[at]))


def _overlaps(account: xr.Dataset, reference: xr.Dataset, allowed: float) -> Off | None:
    """Other observables that both have: the norm of the difference against the largest norm of the reference."""
    worst: Off | None = None
    for name in map(str, account.data_vars):
        if name == "risk" or name not in reference or not _alike(account[name], reference[name]):
            continue
        means = _means(account, reference, name)
        if means.other.ndim > 1 and not np.allclose(means.one[0], means.other[0], atol=1e-4):
            continue  # units that do not begin as the same ones have nothing to do with each other
        off, size = _norm(means.difference), _norm(means.other)
        percent = _percent(off, np.full_like(size, size.max()))  # overlaps are compared on their scale, not near zero
        counts = (percent > allowed) & ~(off <= _norm(means.chance))
        if counts.any():
            at = int(np.argmax(np.where(counts, percent, 0.0)))
            found = Off(name, float(percent[at]), float(account["time"].values[at]))
            worst = found if worst is None or found.amount > worst.amount else worst
    return worst


def _norm(values: Table) -> Table:
    """Over everything but time."""
    return np.sqrt(np.mean(values.reshape(len(values), -1) ** 2, axis=1))


def _alike(one: xr.DataArray, other: xr.DataArray) -> bool:
    rest = [(dim, size) for dim, size in one.sizes.items() if dim != "replica"]
    return rest == [(dim, size) for dim, size in other.sizes.items() if dim != "replica"]


def _means(account: xr.Dataset, reference: xr.Dataset, name: str) -> _Means:
    """Over replicas; over starts, if there are several, of which both accounts had the same."""
    one, other = account[name].values, reference[name].values
    if "start" in account.coords and "start" in reference.coords:
        one, other = _by_start(account, one), _by_start(reference, other)
        each = one - other
        error = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
        return _Means(one.mean(axis=1), other.mean(axis=1), each.mean(axis=1), error, each.shape[1] - 1)
    means = one.mean(axis=1), other.mean(axis=1)
    error, freedom = _welch(np.moveaxis(one, 1, 0), np.moveaxis(other, 1, 0))
    return _Means(*means, means[0] - means[1], error, freedom)


def _by_start(data: xr.Dataset, values: Table) -> Table:
    starts = data["start"].values
    return np.stack([values[:, starts == one].mean(axis=1) for one in np.unique(starts)], axis=1)


def _welch(one: Table, other: Table) -> tuple[Table, float]:
    """The standard error of the difference of two means over the first axis, and the smaller freedom."""
    errors, freedoms = [], []
    for values in (one, other):
        if len(values) > 1:
            errors.append(values.var(axis=0, ddof=1) / len(values))
            freedoms.append(len(values) - 1)
    if not errors:  # two single runs: there is no error bar
        return np.full(one.shape[1:], np.nan), 0.0
    return np.sqrt(np.sum(errors, axis=0)), float(min(freedoms))


def _own_error(values: Table) -> Table:
    replicas = values.shape[1]
    return values.std(axis=1, ddof=1) / np.sqrt(replicas) if replicas > 1 else np.zeros(len(values))


def _log_width_error(values: Table) -> Table:
    """Of the logarithm of a standard deviation, with the kurtosis that the replicas show and at least that of a Gaussian."""
    width = np.maximum(values.std(axis=1, keepdims=True), 1e-300)
    fourth = np.mean(((values - values.mean(axis=1, keepdims=True)) / width) ** 4, axis=1)
    kurtosis = np.maximum(fourth, 3.0)
    return np.sqrt((kurtosis - 1) / (4 * values.shape[1]))


def _sigmas(means: _Means) -> float:
    difference, error = float(means.difference[-1]), float(means.error[-1])
    if np.isnan(error) or difference == 0:
        return 0.0
    return difference / error if error > 0 else float(np.copysign(np.inf, difference))


def _percent(difference: Table, size: Table) -> Table:
    """Nothing against nothing is no deviation; something against nothing is an infinite one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, 100 * difference / size)
