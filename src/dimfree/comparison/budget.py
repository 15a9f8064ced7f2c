"""Which descriptions fit into a budget: each predicts its cost, and one that does not fit is reported and not started."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dimfree.description import AnyDescription, Cost
from dimfree.machine import duration
from dimfree.problem import Problem
from dimfree.results.record import beyond_memory, cost_of
from dimfree.setting import why_not


class LeftOut(NamedTuple):
    """A description that was not run, and why in one sentence."""

    name: str
    reason: str


class Plan(NamedTuple):
    """Which descriptions will run and which will not."""

    chosen: tuple[AnyDescription, ...]
    left_out: tuple[LeftOut, ...]
    seconds: float


def plan(
    problem: Problem, candidates: Iterable[AnyDescription], budget: float, each: Mapping[str, int] | None = None
) -> Plan:
    """Choose the descriptions that hold and that together fit into the budget (in seconds); theories are planned first.

    `each` gives, by title, the number of replicas where it differs from the problem's.
    """
    chosen: list[AnyDescription] = []
    left_out: list[LeftOut] = []
    spent = 0.0
    wanted = list(candidates)
    for description in sorted(wanted, key=lambda d: d.scatters):
        refusal = why_not(description, problem)
        if refusal:
            left_out.append(LeftOut(description.title, refusal))
            continue
        cost = cost_of(description, own_problem(problem, description, each or {}))
        excess = _excess(cost, budget - spent)
        if excess:
            left_out.append(LeftOut(description.title, excess))
        else:
            chosen.append(description)
            spent += cost.seconds
    chosen.sort(key=wanted.index)
    return Plan(tuple(chosen), tuple(left_out), spent)


def own_problem(problem: Problem, one: AnyDescription, each: Mapping[str, int]) -> Problem:
    """The problem with the number of replicas that one description is to have."""
    return problem.replace(**{"run.replicas": each[one.title]}) if one.title in each else problem


def _excess(cost: Cost, remaining: float) -> str | None:
    if (excess := beyond_memory(cost)) or cost.seconds <= remaining:
        return excess
    return (
        f"it needs {cost.steps:.3g} steps, about {duration(cost.seconds)}, and {duration(max(remaining, 0))} of the budget "
        "are left; raise the budget, or lower run.until or run.replicas."
    )
