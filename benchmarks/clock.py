"""CPU time of calls, and the bars that ratios of them are held against."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Bar(NamedTuple):
    at_most: bool
    value: float

    def holds(self, ratio: float) -> bool:
        return ratio <= self.value if self.at_most else ratio >= self.value

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.value:g}"


def cpu_seconds(function: Callable[..., Any], *args: Any, least: float = 1.0, rounds: int = 5) -> float:
    """CPU seconds of one call: the best of several rounds, each long enough for the clock."""
    jax.block_until_ready(function(*args))
    started = time.process_time()
    jax.block_until_ready(function(*args))
    calls = max(1, int(least / rounds / max(time.process_time() - started, 1e-6)))
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        for _ in range(calls):
            result = function(*args)
        jax.block_until_ready(result)
        best = min(best, (time.process_time() - started) / calls)
    return best
