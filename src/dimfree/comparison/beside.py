"""What a verdict looks at besides the mean risk: when a plateau ends, how much runs scatter, all other observables."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import fdtri, ndtri

from dimfree.comparison.chance import LEVEL, Table, Vector, joint_error, means_of, student
from dimfree.readings.landmarks import crossing_times, plateau

SPREAD = 1.25  # factor by which two standard deviations may differ
RESOLVED = 1e-8  # share of the largest risk below which nothing is compared
_FEW = 8  # replicas needed before their spread is compared


class Off(NamedTuple):
    """One quantity that is wrong: by how much, and at which time it is worst."""

    what: str
    amount: float
    time: float


def escape_off(account: xr.Dataset, reference: xr.Dataset, allowed: float) -> Off | None:
    """How much too early or too late the account leaves the reference's plateau, in per cent of the reference's time."""
    found = plateau(reference["risk"].mean("replica"))
    height = float(found["height"])
    if np.isnan(height):
        return None
    late = [data["risk"].sel(time=slice(float(found["begin"]), None)) for data in (account, reference)]
    one, other = (_escapes(risk, height / 2) for risk in late)
    if (
        np.isnan(one).any() or np.isnan(other).any()
    ):  # the account never leaves the plateau, which the risk itself shows
        return None
    shift = one.mean() - other.mean()
    percent = 100 * shift / other.mean()
    scatter = bool(account.attrs["scatters"]), bool(reference.attrs["scatters"])
    error = joint_error(one[:, None], other[:, None], scatter)
    chance = student(error.freedom, len(account["time"])) * error.of_both
    counts = abs(percent) > allowed and abs(shift) > chance[0]
    return Off("escape", float(percent), float(other.mean())) if counts else None


def _escapes(risk: xr.DataArray, level: float) -> Vector:
    """When the mean risk falls to a level: jackknife values, one per replica, with the mean and the scatter of that time."""
    mean, count = risk.mean("replica"), risk.sizes["replica"]
    whole = np.atleast_1d(crossing_times(mean, level).values)
    if count == 1:
        return whole
    without = (count * mean - risk) / (count - 1)  # jackknife: the mean without each replica in turn
    return np.asarray(count * whole - (count - 1) * crossing_times(without, level).values)


def spread_off(account: xr.Dataset, reference: xr.Dataset) -> Off | None:
    """The ratio of two standard deviations where it is furthest from one, if that is more than chance.

    Only for two accounts that scatter as SGD does."""
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
    rare = LEVEL / len(ratio)  # one time is enough for a bad verdict, so that all times share the level
    tails = (
        ndtri(1 - rare / 2) * error,
        np.log(fdtri(one.shape[1] - 1, other.shape[1] - 1, 1 - rare / 2)) / 2,
    )
    counts = usable & (np.abs(ratio) > np.maximum(np.log(SPREAD), np.maximum(*tails)))
    if not counts.any():
        return None
    at = int(np.argmax(np.where(counts, np.abs(ratio), 0.0)))
    return Off("spread", float(np.exp(ratio[at])), float(account["time"].values[at]))


def overlaps_off(account: xr.Dataset, reference: xr.Dataset, allowed: float) -> Off | None:
    """The other observables that both accounts have: the norm of their difference over the largest norm of the reference."""
    worst: Off | None = None
    for name in map(str, account.data_vars):
        if name == "risk" or name not in reference or not _alike(account[name], reference[name]):
            continue
        means = means_of(account, reference, name)
        if means.other.ndim > 1 and not np.allclose(means.one[0], means.other[0], atol=1e-4):
            continue  # units that begin differently cannot be compared one by one
        off, size = _norm(means.difference), _norm(means.other)
        percent = per_cent_of(off, np.full_like(size, size.max()))  # values may be near zero
        counts = (percent > allowed) & (off > _norm(means.student * means.error.of_both))
        if counts.any():
            at = int(np.argmax(np.where(counts, percent, 0.0)))
            found = Off(name, float(percent[at]), float(account["time"].values[at]))
            worst = found if worst is None or found.amount > worst.amount else worst
    return worst


def per_cent_of(difference: Table, size: Table) -> Table:
    """A difference in per cent of a size: 0 where there is no difference, infinite where only the size is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, 100 * difference / size)


def _norm(values: Table) -> Table:
    """The norm over all axes but time."""
    return np.sqrt(np.mean(values.reshape(len(values), -1) ** 2, axis=1))


def _alike(one: xr.DataArray, other: xr.DataArray) -> bool:
    rest = [(dim, size) for dim, size in one.sizes.items() if dim != "replica"]
    return rest == [(dim, size) for dim, size in other.sizes.items() if dim != "replica"]


def _log_width_error(values: Table) -> Table:
    """The standard error of the logarithm of a standard deviation, by the kurtosis of the replicas, or a Gaussian's if larger."""
    width = np.maximum(values.std(axis=1, keepdims=True), 1e-300)
    fourth = np.mean(((values - values.mean(axis=1, keepdims=True)) / width) ** 4, axis=1)
    kurtosis = np.maximum(fourth, 3.0)
    return np.sqrt((kurtosis - 1) / (4 * values.shape[1]))
