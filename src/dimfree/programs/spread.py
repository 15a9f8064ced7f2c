"""Independent pieces of work, spread over the cores by threads: compiled programs do not hold the interpreter's lock."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dimfree.system import cores

A = TypeVar("A")
B = TypeVar("B")


def spread(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """The results of the work on all items, in their order; after an interruption no further item is begun."""
    threads = min(cores(), len(items))
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
