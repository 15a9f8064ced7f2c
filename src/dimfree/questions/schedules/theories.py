"""The theories that schedules are sought by: the equations of the limit, and the exact means of linear networks.

Behind a random projection they are the deterministic equivalent, and the mean for the projection that is drawn.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dimfree.description import AnyDescription
from dimfree.errors import ProblemError, RefusalError, suggest
from dimfree.machine import duration, refuse_above_memory
from dimfree.onepass.limits.integration import implicit_steps
from dimfree.onepass.limits.linear import LinearNetwork, rule_of, starting_errors
from dimfree.onepass.limits.ode import HighDimensional, compiling
from dimfree.onepass.limits.projected import Equivalent, ProjectedMean
from dimfree.onepass.linear_steps import nodes_behind, nodes_of, seconds_of_step
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected_model import ProjectedModel
from dimfree.onepass.start import Start
from dimfree.problem import LinearKnots
from dimfree.questions.schedules.confirmation import BY, fresh_starts
from dimfree.questions.schedules.equations import Equations
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import Objective, State, steerable
from dimfree.questions.schedules.steps import BehindAny, BehindProjection, Steps
from dimfree.results.record import price_of
from dimfree.setting import why_not

EXACT: dict[str, AnyDescription] = {  # step by step; the first that holds is preferred
    "linear-mean": LinearNetwork(),
    "equivalent": Equivalent(),
    "projected-mean": ProjectedMean(),
}
THEORIES: dict[str, AnyDescription] = {"ode": HighDimensional(), **EXACT}
_CALLS, _LOOKS = 500, 70  # evaluations of the objective in one search, and to look at one batch and momentum
_SIDES = 1.2  # cost of a walk and its gradient, in right-hand sides per grid point and start
_WALKS = 5.0  # cost of a pass through all steps and its gradient, in passes
_FAST = 0.5  # the share of the budget that exact steps may take before equations are preferred


class Real(NamedTuple):
    """The experiment that confirms an answer, or "none", and its replicas."""

    by: str
    replicas: int


def theory_of(problems: Sequence[OnePassProblem], asked: str | None, budget: float) -> str:
    """The theory that was asked for, or the exact mean where it holds and its steps are few enough; one for all batches."""
    if asked not in (*THEORIES, None):
        raise ProblemError(f"schedules are not sought by {asked!r}; {suggest(str(asked), THEORIES)}")
    refused = {name: next(filter(None, (_exact_refuses(name, one) for one in problems)), None) for name in EXACT}
    if asked in EXACT:
        if refused[asked]:
            raise RefusalError(f"schedules are optimised through {asked}, which refuses: {refused[asked]}")
        return str(asked)
    exact = next((name for name, why in refused.items() if not why), None)
    behind = model(problems[0]).projected is not None  # where no equations of a limit are
    if asked is None and exact and (behind or _sought(problems, exact, 0, 1) <= _FAST * budget):
        return exact
    for problem in problems:
        _accept(problem)
    return "ode"


def with_a_theory(problems: Sequence[OnePassProblem]) -> list[OnePassProblem]:
    """Those that some theory takes: steps of very large batches have no limit; all, if no theory takes any."""
    if any(not any(_exact_refuses(name, one) for one in problems) for name in EXACT):
        return [*problems]
    return [one for one in problems if not why_not(HighDimensional(), one)] or [*problems]


def _exact_refuses(name: str, problem: OnePassProblem) -> str | None:
    along = {"training.schedule": LinearKnots(times=(0.0,), factors=(1.0,))}
    return why_not(EXACT[name], problem.replace(**along))


def _accept(problem: OnePassProblem) -> None:
    """The ODE must hold, and a grid of explicit steps must be able to follow it."""
    if refusal := why_not(HighDimensional(), problem):
        raise RefusalError(f"schedules are optimised through ode, which refuses: {refusal}")
    found = model(problem).taught
    assert found is not None
    if implicit_steps(found, (found.width + found.units) * found.width):
        raise RefusalError(
            f"a second layer as fast as second_layer_rate = {problem.training.second_layer_rate:g} makes the equations "
            "stiff, and schedules are optimised by explicit steps; lower training.second_layer_rate."
        )


def course_of(
    problem: OnePassProblem, theory: str, drawn: Sequence[Start], grid: Grid, kind: Objective
) -> Equations | Steps:
    """The problem as a theory follows it, from all starts."""
    found = model(problem)
    numbers = np.array([float(found.eta_a), float(found.omega)])
    if (projected := found.projected) is not None:
        measures, cls = (_measures(projected, theory), BehindAny if theory == "equivalent" else BehindProjection)
        behind, mean_squares = nodes_behind(measures, float(projected.Delta), projected.batch, float(projected.beta))
        return cls(grid, kind, numbers, behind, mean_squares[None], float(found.gamma), float(found.time_step))
    taught = found.taught
    assert taught is not None
    if theory == "ode":
        followed = steerable(taught)
        states = [followed.equations.initial(followed.model, one) for one in drawn]
        _check_memory(states, grid)
        return Equations(grid, kind, numbers, followed, jax.tree.map(_stacked, *states))
    levels = taught.levels
    assert levels is not None  # which the exact mean is about
    rule = rule_of(levels, np.asarray(drawn[0].blocks.a))
    D = np.stack([starting_errors(levels, one) for one in drawn])
    nodes = nodes_of(rule, float(found.beta))
    return Steps(grid, kind, numbers, nodes, D, rule.gamma, float(found.time_step))


def _measures(found: ProjectedModel, theory: str) -> Measures:
    one = EXACT[theory]
    assert isinstance(one, ProjectedMean)  # or the equivalent, which is one
    return one.measures(found)


def _stacked(*parts: Array) -> Array:
    """Along a new axis; starts may have different numbers of nodes, and a node of eigenvalue 0 and no share does nothing."""
    longest = max(len(one) for one in parts) if parts[0].ndim else 0
    same = [jnp.pad(one, ((0, longest - len(one)), *[(0, 0)] * (one.ndim - 1))) if one.ndim else one for one in parts]
    return jnp.stack(same)


def _check_memory(states: Sequence[State], grid: Grid) -> None:
    """States and costates at every step of the grid."""
    size = sum(leaf.size for state in states for leaf in jax.tree.leaves(state))
    refuse_above_memory(
        8.0 * 4 * size * grid.steps, f"a walk of {len(states)} starts through {grid.steps} steps", "lower starts"
    )


def predicted(problems: Sequence[OnePassProblem], theory: str, steps: int, starts: int, real: Real) -> float:
    """CPU seconds of a search with so many steps of the grid, at all batches and momenta, and of its confirmation."""
    seconds = _sought(problems, theory, steps, starts)
    if real.by == "none":
        return seconds
    fresh = fresh_starts(starts, real.replicas)
    count = fresh * max(1, real.replicas // fresh)
    return seconds + 3 * price_of(BY[real.by], problems[0].replace(**{"run.replicas": count})).seconds


def _sought(problems: Sequence[OnePassProblem], theory: str, steps: int, starts: int) -> float:
    """Of the search alone: in full for the dearest, and a few calls for all others."""
    each = [_per_call(one, theory, steps, starts) for one in problems]
    return _CALLS * max(each) + _LOOKS * (sum(each) - max(each))


def _per_call(problem: OnePassProblem, theory: str, steps: int, starts: int) -> float:
    if theory in EXACT:
        return _WALKS * problem.steps(problem.run.until) * seconds_of_step(_levels(problem, theory) * starts)
    solved, found = price_of(HighDimensional(), problem), model(problem).taught
    assert found is not None
    return _SIDES * (2 * steps + 1) * starts * (solved.seconds - compiling(found)) / solved.steps


def _levels(problem: OnePassProblem, theory: str) -> int:
    if (found := model(problem).projected) is not None:
        measures = _measures(found, theory)
        return len(measures.x) + len(measures.y)
    return len(problem.spectrum.values)


def check_cost(
    problems: Sequence[OnePassProblem], theory: str, steps: int, starts: int, real: Real, budget: float
) -> None:
    """Refuse a search beyond the budget, by the predicted cost: measured times differ by machine."""
    seconds = predicted(problems, theory, steps, starts, real)
    if seconds > budget:
        confirmed = "" if real.by == "none" else f" and {real.replicas} replicas under three schedules"
        raise RefusalError(
            f"the search{confirmed} would take about {duration(seconds)}, more than the budget of {duration(budget)}; raise the "
            "budget, or lower run.until, starts, replicas or dimension."
        )
