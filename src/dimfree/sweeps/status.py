"""What a store holds, during a sweep and after it: how far the sweep is, what failed, and all finished numbers."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from dimfree.results.store import save
from dimfree.sweeps.assembly import assemble
from dimfree.sweeps.store import Store

_MOST = 6  # at most this many reasons are printed


class Status(NamedTuple):
    """How far a sweep is."""

    points: int
    finished: int
    failures: dict[str, int]  # how many points failed, by reason

    @property
    def failed(self) -> int:
        """How many points have failed."""
        return sum(self.failures.values())

    @property
    def missing(self) -> int:
        """How many points are not computed yet."""
        return self.points - self.finished - self.failed

    def __str__(self) -> str:
        """The status in one line, and one more for every reason of a failure."""
        rest = f", {self.missing} not computed yet" if self.missing else ""
        lines = [f"{self.finished} of {self.points} points finished, {self.failed} failed{rest}."]
        lines += [f"  {count} x {reason}" for reason, count in list(self.failures.items())[:_MOST]]
        more = len(self.failures) - _MOST
        return "\n".join([*lines, *([f"  and {more} more reasons"] if more > 0 else [])])


def status(path: str | Path) -> Status:
    """How far the sweep in a store is, without reading its numbers."""
    store = Store(Path(path))
    plan, _ = store.metadata()
    said = [store.failure(key) for key in plan.keys if store.has(key)]
    return Status(len(plan.keys), said.count(""), dict(Counter(reason for reason in said if reason).most_common()))


def status_of(data: xr.Dataset) -> Status:
    """How far a sweep is, from its results that were read."""
    said = [str(reason) for reason in data["failure"].values.ravel()]
    return Status(len(said), said.count(""), dict(Counter(reason for reason in said if reason).most_common()))


def open_sweep(path: str | Path) -> xr.Dataset:
    """Open the store of a sweep, also while the sweep is running; points that are not computed yet are NaN.

    Arguments:
        path: the folder of the store

        df.open_sweep("sweep.zarr")["risk"].mean("replica")
    """
    store = Store(Path(path))
    plan, attrs = store.metadata()
    return assemble(plan, {key: store.get(key) for key in plan.keys if store.has(key)}, attrs)


def export(data: xr.Dataset, path: Path) -> None:
    """Write all of a store to one netCDF file."""
    save(data, path)
