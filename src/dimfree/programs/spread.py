"""Independent pieces of work, spread over the cores: threads will do, for compiled programs leave the interpreter alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dimfree.machine import cores

A = TypeVar("A")
B = TypeVar("B")


def spread(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """The work on all items, in their order; what an interruption leaves undone is not begun."""
    threads = min(cores(), len(items))
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
