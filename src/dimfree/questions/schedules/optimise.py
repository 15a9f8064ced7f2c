"""The answer to "which schedule is best?": prepare the problem, its starts and its grid, then search."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast, get_args

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.comparison.run import starts_of
from dimfree.errors import ProblemError, RefusalError, suggest
from dimfree.machine import duration
from dimfree.onepass.directions import TeacherModel
from dimfree.onepass.limits.integration import implicit_steps
from dimfree.onepass.limits.ode import HighDimensional, compiling
from dimfree.onepass.model import teacher_model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, SphereStart
from dimfree.onepass.start import Start
from dimfree.problem import LinearKnots, Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.question import check_count
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.confirmation import BY
from dimfree.questions.schedules.export import SCRIPTS
from dimfree.questions.schedules.families import FAMILIES
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.knobs import Knobs, knobs_of
from dimfree.questions.schedules.optimum import Hunt, optimum
from dimfree.questions.schedules.parts import Objective, critical, steerable
from dimfree.questions.schedules.question import QUESTION
from dimfree.questions.schedules.runs import looks
from dimfree.questions.schedules.search import Bounds, Course
from dimfree.questions.schedules.words import check_plateau
from dimfree.results.record import price_of
from dimfree.setting import why_not

AGAINST = (*FAMILIES, "greedy")
_GRIDS = (400, 800, 1600, 3200)  # numbers of steps; the first that agrees with the adaptive solver is used
_AGREES = 1e-4  # relative difference of the risks
_MOST_KNOTS = 1000
_CALLS = 500  # evaluations of the objective in one search
_SIDES = 1.2  # cost of a walk and its gradient, in right-hand sides per grid point and start
_DRAWN = 8  # starts that are drawn
_MOST, _LEAST = 2.0, 2e-4  # of the rate at which the risk stops falling at the start: how far rates may go


def optimise(
    problem: Problem | str | Path | None = None,
    *,
    knobs: Sequence[str] | str = "learning-rate",
    knots: int = 33,
    starts: int | None = None,
    bounds: Mapping[str, Bounds] | Bounds | str | None = None,
    against: Sequence[str] | str | None = None,
    objective: str = "mean-log",
    confirm: str = "chain",
    replicas: int = 32,
    export: str = "none",
    seed: int | None = None,
    budget: float = 300.0,
    watch: PartWatcher = nobody,
) -> Schedules:
    """The learning-rate schedule with the lowest risk at the end of the run, certified, and confirmed by real SGD.

    Arguments: `problem` (a Problem with a teacher, or the path of a TOML file; left out, that of docs/schedules.md), whose own
    schedule is the first guess; `knobs`, what may be turned: "learning_rate", and as one number for the whole run
    "second_layer_rate" and "weight_decay", which need bounds; `knots` of the optimum; `starts`, the number of drawn
    starts to average over; `bounds` of the rate, or a mapping with those of the other knobs; `against`, the families
    to try; `objective`,
    "mean-log", "mean" or "worst" over starts; `confirm`, by "chain", "sgd" or "none" with so many `replicas`;
    `export`, "optax" or "torch", the library for which a script is written; `seed` instead of the problem's; `budget`,
    the CPU seconds that
    all may take.

        best = df.optimise("problem.toml", knots=25)
        better = problem.replace(**{"training.schedule": best.schedule})
    """
    chosen = QUESTION.settled(problem, seed)
    names, kind = _against(against), _objective(objective)
    turned = knobs_of(chosen, knobs, bounds)
    if not 4 <= knots <= _MOST_KNOTS:
        raise ProblemError(f"a schedule cannot be sought with {knots} knots; give between 4 and {_MOST_KNOTS}.")
    if confirm not in (*BY, "none"):
        raise ProblemError(f"nothing is confirmed by {confirm!r}; {suggest(confirm, (*BY, 'none'))}")
    if export not in (*SCRIPTS, "none"):
        raise ProblemError(f"there is no export to {export!r}; {suggest(export, (*SCRIPTS, 'none'))}")
    _accept(chosen)
    guess = chosen.training.schedule
    notes = ("training.schedule is already set; it is used as the first guess.",) if guess is not None else ()
    plain = chosen.replace(**{"training.schedule": None})
    hunt = _hunt(plain, _starts(plain, starts), turned, kind)
    _afford(hunt, confirm, replicas, budget)
    found = optimum(hunt, knots, names, guess, lambda text, done: watch(text, 0.7 * done))
    times = looks(hunt.course.grid)
    check_plateau(plain, found.tried["optimal"], int(np.searchsorted(times, plain.run.until / 2)))
    best = Schedules(chosen, hunt, found, notes, export=export)
    return (
        best if confirm == "none" else best.confirm(replicas, confirm, lambda text, done: watch(text, 0.7 + 0.3 * done))
    )


def _against(given: Sequence[str] | str | None) -> tuple[str, ...]:
    names = AGAINST if given is None else [one.strip() for one in given.split(",")] if isinstance(given, str) else given
    for name in names:
        if name not in AGAINST:
            raise ProblemError(f"there is no family of schedules {name!r}; {suggest(name, AGAINST)}")
    return tuple(name for name in AGAINST if name in names)


def _objective(given: str) -> Objective:
    kinds = get_args(Objective)
    if given not in kinds:
        raise ProblemError(f"there is no objective {given!r}; {suggest(given, kinds)}")
    return cast(Objective, given)


def _accept(problem: OnePassProblem) -> None:
    """The ODE must hold, and a grid of explicit steps must be able to follow it."""
    if refusal := why_not(HighDimensional(), problem):
        raise RefusalError(f"schedules are optimised through ode, which refuses: {refusal}")
    model = teacher_model(problem)
    if implicit_steps(model, (model.width + model.units) * model.width):
        raise RefusalError(
            f"a second layer as fast as second_layer_rate = {problem.training.second_layer_rate:g} makes the equations "
            "stiff, and schedules are optimised by explicit steps; lower training.second_layer_rate."
        )


def _starts(problem: OnePassProblem, asked: int | None) -> int:
    """Several draws of a random start: the optimum for one start would depend on when that one escapes."""
    if asked is not None:
        check_count("starts", asked)
        return asked
    return _DRAWN if isinstance(problem.start, GaussianStart | SphereStart) else 1


def _afford(hunt: Hunt, confirm: str, replicas: int, budget: float) -> None:
    """Refuse a search beyond the budget, by the predicted cost of a right-hand side: measured times differ by machine."""
    solved = price_of(HighDimensional(), hunt.problem)
    per_call = (solved.seconds - compiling(hunt.course.model)) / solved.steps
    seconds = _CALLS * _SIDES * len(hunt.course.grid.points) * len(hunt.starts) * per_call
    if confirm != "none":
        count = len(hunt.starts) * max(1, replicas // len(hunt.starts))
        seconds += 3 * price_of(BY[confirm], hunt.problem.replace(**{"run.replicas": count})).seconds
    if seconds > budget:
        raise RefusalError(
            f"the search and {replicas} replicas under three schedules would take about {duration(seconds)}, more than the "
            f"budget of {duration(budget)}; raise the budget, or lower run.until, starts, replicas or dimension."
        )


def _hunt(problem: OnePassProblem, count: int, turned: Knobs, kind: Objective) -> Hunt:
    drawn = [
        one
        for one in starts_of(problem.replace(**{"run.starts": count, "run.replicas": count}), (HighDimensional(),))
        if isinstance(one, Start)
    ]
    model = steerable(teacher_model(problem))
    states = jax.tree.map(lambda *x: jnp.stack(x), *(one.overlaps for one in drawn))
    numbers = np.array([float(model.eta_a), float(model.omega)])
    unit = float(teacher_model(problem.replace(**{"training.second_layer_rate": 1.0})).eta_a)
    box = turned.numbers.get("second_layer_rate")
    boxes = (None if box is None else (unit * box[0], unit * box[1]), turned.numbers.get("weight_decay"))
    rates = _bounds(problem, model, float(critical(model, states, kind)), turned.rate)
    hunts = (
        Hunt(problem, drawn, Course(model, states, Grid(problem.run.until, steps), kind, numbers), rates, boxes, unit)
        for steps in _GRIDS
    )
    for one in hunts:
        if _fine_enough(one):
            return one
    raise RefusalError(
        f"{_GRIDS[-1]} steps do not follow the ode as its solver does until t = {problem.run.until:g}; lower run.until."
    )


def _fine_enough(hunt: Hunt) -> bool:
    """Whether the grid follows the equations as the adaptive solver does, at a rate of moderate size."""
    factor = float(np.sqrt(hunt.box[0] * hunt.box[1]) * np.sqrt(hunt.box[1] / hunt.box[0]) ** 0.5)
    written = LinearKnots(times=(0.0,), factors=(factor,))
    value = hunt.course.value(np.full(len(hunt.course.grid.points), factor))
    risks = hunt.judge(written, hunt.course.numbers)
    resolved = HighDimensional().rtol * float(np.max(risks[0] / risks[-1]))  # smaller risks are lost to cancellation
    return hunt.grid_error(value, risks) < _AGREES + resolved


def _bounds(problem: OnePassProblem, model: TeacherModel, stops: float, given: Bounds | None) -> Bounds:
    """The bounds of the factor: those given as rates, or a range around the rate at which the risk stops falling at the start."""
    rate = problem.training.learning_rate
    if given is not None:
        return given[0] / rate, given[1] / rate
    limit = problem.network.width * problem.dimension**0.5 / rate  # beyond it no limit exists
    top = min(_MOST * stops if np.isfinite(stops) and stops > 0 else _MOST, limit)
    return _LEAST / _MOST * top, top
