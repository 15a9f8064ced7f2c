"""Two means over replicas: how far apart they are, how far chance alone would put them apart, how many replicas would decide.

One level decides everything: over all saved times of a run, a right account fails by chance with probability `LEVEL`.
Each time gets an equal share of that, and Student's t, with as many degrees of freedom as the replicas give, turns the
share into a distance. Risks are not Gaussian: `Means.relative_error` keeps the level right for runs that scatter in
proportion to their size or fall at different times.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.special import stdtrit  # `scipy.stats` takes as long to import as jax

LEVEL = 0.05  # the probability that a right account fails by chance at some time of a run
MOST = 1_000_000  # the largest number of replicas that a verdict recommends
_NEAR = 1.25  # runs are taken to scatter alike at times that differ by at most this factor

Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


class Error(NamedTuple):
    """The standard error of the difference of two means; nan where single runs give none."""

    of_both: Table
    of_reference: Table  # the part of it that comes from the reference
    freedom: Table


class Means(NamedTuple):
    """Two means over replicas, their difference and its standard error."""

    one: Table
    other: Table
    difference: Table
    error: Error
    runs: int  # replicas of the reference, or starts where both accounts share several
    of_starts: bool = False

    @property
    def looks(self) -> int:
        """The number of saved times that are compared."""
        return len(self.difference)

    @property
    def student(self) -> Table:
        """The distance, in standard errors, that chance exceeds with probability `LEVEL`; nan where there is no error bar."""
        return student(self.error.freedom, self.looks)

    def relative_error(self, time: Vector, size: Table) -> Table:
        """The standard error of risks in per cent of their size, as large as it would be if the account were right.

        Runs fall at different times, so that a few runs may not yet show how far they will scatter: the largest error
        at nearby times (within a factor) counts. Runs also scatter in proportion to their size: where the account is
        higher than their mean, it predicts more scatter than was seen.
        """
        higher = np.maximum(1.0, np.nan_to_num(np.abs(self.one) / size, posinf=1.0))
        both, reference = (_largest_near(time, 100 * part / size) for part in self.error[:2])
        return np.sqrt(both**2 + (higher**2 - 1) * reference**2)

    def runs_for(self, distance: Table, spread: Table) -> Table:
        """How many runs (at most `MOST`) make chance smaller than a distance, if one run scatters by `spread`."""
        low, high = np.ones(self.looks), np.full(self.looks, float(MOST))
        while np.any(high - low > 1):
            middle = np.floor((low + high) / 2)
            enough = student(self._freedom_of(middle), self.looks) * spread / np.sqrt(middle) <= distance
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def _freedom_of(self, runs: Table) -> Table:
        if self.runs > 1:
            return self.error.freedom * (runs - 1) / (self.runs - 1)
        return self.error.freedom + runs - 1


def _largest_near(time: Vector, values: Table) -> Table:
    first, last = np.searchsorted(time, time / _NEAR), np.searchsorted(time, time * _NEAR, side="right")
    return np.array([values[low:high].max() for low, high in zip(first, last, strict=True)])


def student(freedom: Table, looks: int) -> Table:
    """The |t| of Student that chance exceeds at any of many times with probability `LEVEL`; nan without degrees of freedom."""
    found: Table = stdtrit(np.where(freedom > 0, freedom, np.nan), 1 - LEVEL / (2 * looks))
    return found


def means_of(account: xr.Dataset, reference: xr.Dataset, name: str) -> Means:
    """The means of an observable over replicas; over starts instead, if both accounts ran from the same starts."""
    one, other = account[name].values, reference[name].values
    if "start" in account.coords and "start" in reference.coords:
        one, other = _by_start(account, one), _by_start(reference, other)
        each, starts = one - other, one.shape[1]
        error = each.std(axis=1, ddof=1) / np.sqrt(starts) if starts > 1 else np.full_like(each[:, 0], np.nan)
        joint = Error(error, error, np.full_like(error, starts - 1.0))
        return Means(one.mean(axis=1), other.mean(axis=1), each.mean(axis=1), joint, starts, of_starts=True)
    means = one.mean(axis=1), other.mean(axis=1)
    scatter = bool(account.attrs["scatters"]), bool(reference.attrs["scatters"])
    error = joint_error(np.moveaxis(one, 1, 0), np.moveaxis(other, 1, 0), scatter)
    return Means(*means, means[0] - means[1], error, other.shape[1])


def _by_start(data: xr.Dataset, values: Table) -> Table:
    starts = data["start"].values
    return np.stack([values[:, starts == one].mean(axis=1) for one in np.unique(starts)], axis=1)


def joint_error(one: Table, other: Table, scatter: tuple[bool, bool]) -> Error:
    """The standard error of the difference of two means over the first axis (Welch), and its freedom (Satterthwaite).

    A single run that scatters is given the variance of the other account's runs, if those scatter too; two single runs have
    no error bar. A single run of an account that does not scatter has no error.
    """
    sets, nothing = (one, other), np.zeros(one.shape[1:])
    own = [values.var(axis=0, ddof=1) if len(values) > 1 else None for values in sets]
    alone = [variance is None and scatters for variance, scatters in zip(own, scatter, strict=True)]
    if any(alone):
        lent = own[0] if alone[1] else own[1]
        if lent is None or not all(scatter):
            return Error(nothing + np.nan, nothing + np.nan, nothing)
        parts, freedom = [lent / len(values) for values in sets], nothing + sum(map(len, sets)) - 2
    else:
        parts = [nothing if variance is None else variance / len(x) for variance, x in zip(own, sets, strict=True)]
        counts = [max(len(values) - 1.0, 1.0) for values in sets]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (parts[0] + parts[1]) ** 2 / (parts[0] ** 2 / counts[0] + parts[1] ** 2 / counts[1])
        freedom = np.where(np.isnan(shares), sum(counts), shares)
    return Error(np.sqrt(parts[0] + parts[1]), np.sqrt(parts[1]), freedom)


def own_error(values: Table) -> Table:
    """The standard error of the mean over replicas at every time; 0 for a single one."""
    replicas = values.shape[1]
    return values.std(axis=1, ddof=1) / np.sqrt(replicas) if replicas > 1 else np.zeros(len(values))


def own_chance(values: Table) -> Table:
    """How far chance may put that mean from its true value, at the level of a verdict; 0 for a single replica."""
    freedom = np.full(len(values), max(values.shape[1] - 1.0, 1.0))
    return student(freedom, len(values)) * own_error(values)
