"""Dask as an engine: a cluster of this machine, a scheduler that is running already, or jobs of SLURM.

No port is opened on a public interface unless the user names one, and dimfree contacts no scheduler but the named one.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from dimfree.errors import OutputError, ProblemError, first_line
from dimfree.sweeps.batches import Batch
from dimfree.sweeps.engines import KILLED, Engine, Outcomes, computed, failed, outcomes_of, sent
from dimfree.sweeps.extras import needed
from dimfree.sweeps.slurm import NO_DASHBOARD, slurm_options

_AHEAD = 2  # batches sent to the cluster for each of its threads
_PATIENCE = 10  # seconds to wait for a scheduler's answer
_REACHED = ("tcp://", "tls://")


class Cluster(Engine):
    """Where Dask computes: "local", "slurm", or the address of a scheduler."""

    def __init__(self, where: str, count: int | None = None, slurm: Mapping[str, Any] | None = None) -> None:
        if where not in ("local", "slurm") and not where.startswith(_REACHED):
            raise ProblemError(
                f"the cluster {where!r} is not known; give local, slurm, or the address of a scheduler as in tcp://host:8786."
            )
        self.where, self.count, self.slurm = where, count, dict(slurm or {})

    def map(self, work: Iterable[Batch]) -> Iterator[Outcomes]:
        """The outcomes of batches as they are finished; the scheduler repeats what was running on a worker that died."""
        distributed = needed("distributed", "a cluster")
        with self._client(distributed) as client:
            waiting, underway, done = iter(work), dict[str, Batch](), distributed.as_completed(loop=client.loop)

            def submit() -> None:
                """Send as many batches as keep all workers busy: results that are not stored yet are lost with this process."""
                workers = max(1, sum(client.nthreads().values()))
                for batch in islice(waiting, max(0, _AHEAD * workers - len(underway))):
                    future = client.submit(computed, sent(batch), pure=False)
                    underway[future.key] = batch
                    done.add(future)

            submit()
            for future in done:
                yield self._outcomes(distributed, underway.pop(future.key), future)
                submit()

    def _outcomes(self, distributed: Any, batch: Batch, future: Any) -> Outcomes:
        if future.status in ("cancelled", "lost"):
            raise OutputError(
                f"the scheduler {self.where!r} is gone; what is in the store is safe, run the same sweep again."
            )
        if future.status == "error" and isinstance(future.exception(), distributed.KilledWorker):
            return failed(batch, KILLED)
        return outcomes_of(batch, future.result)

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self.where.startswith(_REACHED):
            try:
                client = distributed.Client(self.where, timeout=_PATIENCE, set_as_default=False)
            except (OSError, ValueError) as failure:
                raise OutputError(
                    f"there is no scheduler at {self.where!r} ({first_line(failure).rstrip('.')}); start one with "
                    "`dask scheduler`, or compute on this machine, with the cluster 'local'."
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
                scheduler_kwargs=NO_DASHBOARD,
                silence_logs=logging.CRITICAL,
            )
        options, jobs = slurm_options(self.slurm)
        cluster = needed("dask_jobqueue", "a SLURM cluster").SLURMCluster(**options)
        cluster.scale(jobs=jobs)
        return cluster
