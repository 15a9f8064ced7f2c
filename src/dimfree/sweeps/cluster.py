"""Dask as an engine: a cluster of this machine, a scheduler that is running already, or jobs of SLURM.

Nothing listens on a public interface unless the user names one, and no scheduler is looked for but the one that is named.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dimfree.errors import OutputError, ProblemError
from dimfree.sweeps.batches import Batch
from dimfree.sweeps.engines import KILLED, Engine, Outcomes, computed, failed, outcomes_of, sent
from dimfree.sweeps.extras import needed

_PATIENCE = 10  # seconds until a scheduler that does not answer is not there
_REACHED = ("tcp://", "tls://")
_NO_DASHBOARD = {
    "dashboard": False,
    "dashboard_address": "127.0.0.1:0",
}  # what Dask tells of itself stays on the machine


class Cluster(Engine):
    """Where Dask computes: "local", "slurm", or the address of a scheduler."""

    def __init__(self, where: str, count: int | None = None, slurm: Mapping[str, Any] | None = None) -> None:
        if where not in ("local", "slurm") and not where.startswith(_REACHED):
            raise ProblemError(
                f"the cluster {where!r} is not known; give local, slurm, or the address of a scheduler as in tcp://host:8786."
            )
        self.where, self.count, self.slurm = where, count, dict(slurm or {})

    def map(self, work: Iterable[Batch]) -> Iterator[Outcomes]:
        """As they are finished; the scheduler tries again what was underway on a worker that died."""
        distributed = needed("distributed", "a cluster")
        with self._client(distributed) as client:
            asked = list(work)
            futures = client.map(computed, [sent(batch) for batch in asked], pure=False)
            batches = dict(zip((future.key for future in futures), asked, strict=True))
            for future in distributed.as_completed(futures, loop=client.loop):
                batch = batches[future.key]
                if future.status in ("cancelled", "lost"):
                    raise OutputError(
                        f"the scheduler {self.where!r} is gone; what is in the store is safe, run the same sweep again."
                    )
                killed = future.status == "error" and isinstance(future.exception(), distributed.KilledWorker)
                yield failed(batch, KILLED) if killed else outcomes_of(batch, future.result)
                future.release()

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self.where.startswith(_REACHED):
            try:
                client = distributed.Client(self.where, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError) as failure:
                raise OutputError(
                    f"there is no scheduler at {self.where!r} ({_short(failure)}); start one with `dask scheduler`, "
                    "or compute on this machine with --cluster local."
                ) from None
            with client:
                yield client
            return
        with self._own(distributed) as cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client

    def _own(self, distributed: Any) -> Any:
        """A cluster that ends with the sweep."""
        if self.where == "local":
            return distributed.LocalCluster(
                n_workers=self.count or os.cpu_count(),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                scheduler_kwargs=_NO_DASHBOARD,
                silence_logs=logging.CRITICAL,
            )
        options, jobs = slurm_options(self.slurm)
        cluster = needed("dask_jobqueue", "a SLURM cluster").SLURMCluster(**options)
        cluster.scale(jobs=jobs)
        return cluster


def slurm_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The options of dask-jobqueue, and how many jobs; nodes must reach the scheduler, so that its interface is to be named."""
    options = {"n_workers": 0, **given}
    jobs = options.pop("jobs", 1)
    if not isinstance(jobs, int) or jobs < 1:
        raise ProblemError(f"[slurm] got jobs = {jobs!r}; give the number of jobs, at least 1.")
    for name, example in (("interface", "'ib0'"), ("cores", "8"), ("memory", "'16 GB'")):
        if name not in options:
            raise ProblemError(
                f"[slurm] needs a value for {name!r}, for example {name} = {example}; it is handed to dask-jobqueue."
            )
    scheduler = {**_NO_DASHBOARD, **options.pop("scheduler_options", {})}
    return {**options, "scheduler_options": scheduler}, jobs


def _short(failure: Exception) -> str:
    return (str(failure).splitlines() or [type(failure).__name__])[0].rstrip(".")
