"""Which descriptions fit: every one predicts its cost before it runs, and what does not fit is said, not started."""

import time
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dimfree.description import Cost, Description
from dimfree.machine import machine_memory
from dimfree.problem.problem import Problem

_REFERENCE_SECONDS = 0.020  # what `_probe` takes on the machines in benchmarks/, whose seconds `Cost` counts


class LeftOut(NamedTuple):
    """A description that was not run, and why in one sentence."""

    name: str
    reason: str


class Plan(NamedTuple):
    """What will be run and what will not."""

    chosen: tuple[Description, ...]
    left_out: tuple[LeftOut, ...]
    seconds: float


def plan(problem: Problem, candidates: Iterable[Description], budget: float) -> Plan:
    """The descriptions that hold and fit into the budget (in seconds) one after the other, cheapest theories first."""
    chosen: list[Description] = []
    left_out: list[LeftOut] = []
    spent = 0.0
    wanted = list(candidates)
    for description in sorted(wanted, key=lambda d: d.stochastic):
        refusal = description.refusal(problem)
        if refusal:
            left_out.append(LeftOut(description.name, refusal))
            continue
        cost = description.cost(problem)
        seconds = cost.seconds * machine_factor()
        excess = _excess(cost, seconds, budget - spent)
        if excess:
            left_out.append(LeftOut(description.name, excess))
        else:
            chosen.append(description)
            spent += seconds
    chosen.sort(key=wanted.index)
    return Plan(tuple(chosen), tuple(left_out), spent)


def _excess(cost: Cost, seconds: float, remaining: float) -> str | None:
    needs, memory = f"it needs {cost.steps:.3g} steps, about {duration(seconds)}", machine_memory()
    if cost.memory > 0.8 * memory:
        return (
            f"{needs}, and {cost.memory / 1e9:.3g} GB of memory where the machine has {memory / 1e9:.3g}; "
            "lower the dimension or run.replicas."
        )
    if seconds <= remaining:
        return None
    return (
        f"{needs}, and {duration(max(remaining, 0))} of the budget are left; "
        "raise --budget, or lower run.until or run.replicas."
    )


def duration(seconds: float) -> str:
    """Seconds in the unit a person would use."""
    for size, unit in ((31_557_600, "years"), (86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


@lru_cache(maxsize=1)
def machine_factor() -> float:
    """How many times slower than the reference machines this one is."""
    return max(0.3, min(_probe() for _ in range(3)) / _REFERENCE_SECONDS)


def _probe() -> float:
    """CPU seconds of one thread for a fixed piece of work: how fast the machine is, not how busy."""
    started = time.thread_time()
    np.random.default_rng(0).standard_normal(2_000_000, dtype=np.float32)
    return time.thread_time() - started
