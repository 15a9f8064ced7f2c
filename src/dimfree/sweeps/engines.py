"""Engines, which compute batches behind one `map`: this process, or several processes of this machine."""

import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from threading import Thread

from dimfree.errors import OutputError, ProblemError, type_and_first_line
from dimfree.sweeps.batches import Batch, Outcome, compute
from dimfree.system import ignore_interrupts, start_tracker

Outcomes = list[Outcome]
Sent = tuple[Batch, bytes]
KILLED = "the process that computed it was killed more than once; it may need more memory than there is."


class Engine(ABC):
    """Something that computes batches, in any order."""

    @abstractmethod
    def map(self, work: Iterable[Batch]) -> Iterator[Outcomes]:
        """Yield the outcomes of every batch as they come."""


class Here(Engine):
    """This process: one batch after another."""

    def map(self, work: Iterable[Batch]) -> Iterator[Outcomes]:
        """Yield the outcomes in the order of the batches."""
        return map(compute, work)


class Processes(Engine):
    """Several processes of this machine.

    A process that is killed ends the whole pool. Batches that were running then are repeated at the end, one at a time, which
    shows which of them cannot be computed.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ProblemError(f"processes = {count} was given; give at least 1.")
        self.count = count

    def map(self, work: Iterable[Batch]) -> Iterator[Outcomes]:
        """Yield the outcomes as they are finished."""
        waiting, suspects = ((batch, sent(batch)) for batch in work), list[Sent]()
        for first in waiting:
            yield from self._until_broken(chain([first], waiting), suspects, self.count)
        for suspect in suspects:
            guilty = list[Sent]()
            yield from self._until_broken(iter([suspect]), guilty, 1)
            yield from (failed(batch, KILLED) for batch, _ in guilty)

    def _until_broken(self, waiting: Iterator[Sent], suspects: list[Sent], count: int) -> Iterator[Outcomes]:
        """Compute waiting batches until none is left, or until a process is killed."""
        underway: dict[Future[Outcomes], Sent] = {}
        with _pool(count) as pool:
            while True:
                for one in islice(waiting, 2 * count - len(underway)):
                    underway[_submitted(pool, one[1])] = one
                if not underway:
                    return
                done, _ = wait(underway, return_when=FIRST_COMPLETED)
                whole = [future for future in done if not isinstance(future.exception(), BrokenProcessPool)]
                for future in whole:
                    yield outcomes_of(underway.pop(future)[0], future.result)
                if len(whole) < len(done):
                    suspects.extend(underway.values())
                    return


def sent(batch: Batch) -> bytes:
    """A batch as bytes, which other processes can read."""
    try:
        return pickle.dumps(batch)
    except (pickle.PicklingError, AttributeError, TypeError) as failure:
        raise ProblemError(
            f"the problem cannot be sent to another process ({failure}); name its functions as module:function, or compute "
            "in this process alone."
        ) from None


def computed(batch: bytes) -> Outcomes:
    """Compute a batch that was sent as bytes."""
    return compute(pickle.loads(batch))


def outcomes_of(batch: Batch, result: Callable[[], Outcomes]) -> Outcomes:
    """The outcomes of a batch that was sent; if the other process could not even read it, every point reports that."""
    try:
        return result()
    except Exception as failure:
        return failed(batch, type_and_first_line(failure))


def failed(batch: Batch, why: str) -> Outcomes:
    """The same failure for all points."""
    return [Outcome(key, None, why, 0.0) for key in batch.keys]


def _submitted(pool: ProcessPoolExecutor, batch: bytes) -> "Future[Outcomes]":
    try:
        return pool.submit(computed, batch)
    except BrokenProcessPool as failure:
        lost = Future[Outcomes]()
        lost.set_exception(failure)
        return lost


@contextmanager
def _pool(count: int) -> Iterator[ProcessPoolExecutor]:
    start_tracker()
    pool = ProcessPoolExecutor(count, get_context("spawn"), _follow_parent)
    try:
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise OutputError(
                "processes cannot be started here; in a script, sweep only under `if __name__ == '__main__':`."
            ) from None
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent process, and end when the parent has ended, because it may have been killed."""
    ignore_interrupts()

    def end_with_parent() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()
