"""The theories that schedules are sought by: the equations of the limit, and the exact mean of linear networks."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dimfree.description import AnyDescription
from dimfree.errors import ProblemError, RefusalError, suggest
from dimfree.machine import duration, refuse_above_memory
from dimfree.onepass.directions import TargetModel
from dimfree.onepass.limits.integration import implicit_steps
from dimfree.onepass.limits.linear import LinearNetwork, rule_of, starting_errors
from dimfree.onepass.limits.ode import HighDimensional, compiling
from dimfree.onepass.linear_steps import nodes_of, seconds_of_step
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.problem import LinearKnots
from dimfree.questions.schedules.confirmation import BY, fresh_starts
from dimfree.questions.schedules.equations import Equations
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import Objective, State, steerable
from dimfree.questions.schedules.steps import Steps
from dimfree.results.record import price_of
from dimfree.setting import why_not

THEORIES: dict[str, AnyDescription] = {"ode": HighDimensional(), "linear-mean": LinearNetwork()}
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
    exact = next(filter(None, map(_exact_refuses, problems)), None)
    if asked not in (*THEORIES, None):
        raise ProblemError(f"schedules are not sought by {asked!r}; {suggest(str(asked), THEORIES)}")
    if asked == "linear-mean" and exact:
        raise RefusalError(f"schedules are optimised through linear-mean, which refuses: {exact}")
    if asked is None and not exact and _sought(problems, "linear-mean", 0, 1) <= _FAST * budget:
        return "linear-mean"
    if asked != "linear-mean":
        for problem in problems:
            _accept(problem)
    return asked or "ode"


def _exact_refuses(problem: OnePassProblem) -> str | None:
    return why_not(LinearNetwork(), problem.replace(**{"training.schedule": LinearKnots(times=(0.0,), factors=(1.0,))}))


def _accept(problem: OnePassProblem) -> None:
    """The ODE must hold, and a grid of explicit steps must be able to follow it."""
    if refusal := why_not(HighDimensional(), problem):
        raise RefusalError(f"schedules are optimised through ode, which refuses: {refusal}")
    found = model(problem)
    assert isinstance(found, TargetModel)
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
    assert isinstance(found, TargetModel)
    numbers = np.array([float(found.eta_a), float(found.omega)])
    if theory == "ode":
        followed = steerable(found)
        states = [followed.equations.initial(followed.model, one) for one in drawn]
        _check_memory(states, grid)
        return Equations(grid, kind, numbers, followed, jax.tree.map(_stacked, *states))
    assert isinstance(found, StructuredModel)
    rule = rule_of(found, np.asarray(drawn[0].blocks.a))
    D = np.stack([starting_errors(found, one) for one in drawn])
    nodes = nodes_of(rule, float(found.beta))
    return Steps(grid, kind, numbers, nodes, D, rule.gamma, float(found.time_step))


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
    if theory == "linear-mean":
        return _WALKS * problem.steps(problem.run.until) * seconds_of_step(len(problem.spectrum.values) * starts)
    solved, found = price_of(HighDimensional(), problem), model(problem)
    assert isinstance(found, TargetModel)
    return _SIDES * (2 * steps + 1) * starts * (solved.seconds - compiling(found)) / solved.steps


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
