"""The answer to "which schedule is best?": prepare the problem, its starts and its grid, then search."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import numpy as np

from dimfree.comparison.run import starts_of
from dimfree.errors import ProblemError, RefusalError, suggest
from dimfree.machine import duration
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.limits.ode import HighDimensional
from dimfree.onepass.model import model as rule_model
from dimfree.onepass.pool import stable_rate
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, SphereStart
from dimfree.onepass.start import Start
from dimfree.problem import LinearKnots, Problem
from dimfree.progress import PartWatcher, nobody
from dimfree.questions.question import check_count
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.confirmation import BY, nearest
from dimfree.questions.schedules.export import SCRIPTS
from dimfree.questions.schedules.families import FAMILIES
from dimfree.questions.schedules.grid import Bounds, Grid
from dimfree.questions.schedules.knobs import Knobs, knobs_of
from dimfree.questions.schedules.optimum import SHARE, Hunt, optimum
from dimfree.questions.schedules.parts import Objective
from dimfree.questions.schedules.question import QUESTION
from dimfree.questions.schedules.runs import looks
from dimfree.questions.schedules.theories import (
    THEORIES,
    Real,
    check_cost,
    course_of,
    predicted,
    theory_of,
    with_a_theory,
)
from dimfree.questions.schedules.variants import chosen as selected
from dimfree.questions.schedules.variants import variants
from dimfree.questions.schedules.words import check_plateau
from dimfree.setting import why_not

AGAINST = (*FAMILIES, "greedy")
_GRIDS = (400, 800, 1600, 3200)  # numbers of steps; the first that agrees with the adaptive solver is used
_AGREES = 1e-4  # relative difference of the risks
_MOST_KNOTS = 1000
_DRAWN = 8  # starts that are drawn
_FEWER = (8, 4, 2)  # on structured inputs
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
    by: str | None = None,
    confirm: str | None = None,
    replicas: int = 32,
    export: str = "none",
    seed: int | None = None,
    budget: float = 300.0,
    watch: PartWatcher = nobody,
) -> Schedules:
    """The learning-rate schedule with the lowest risk at the end of the run, certified, and confirmed by real SGD.

    Arguments:
        problem: a Problem with a teacher, or the path of a TOML file; without it, that of docs/schedules.md;
            its own schedule is the first guess
        knobs: what may be changed: "learning_rate"; as one number for the whole run "second_layer_rate" and
            "weight_decay", which need bounds; "batch" and "momentum", of which a few values are tried
        knots: number of knots of the best schedule
        starts: number of random starts to average over
        bounds: smallest and largest learning rate, or a mapping that has those of other knobs, too
        against: the families of schedules to compare with
        objective: what to minimise over the starts: "mean-log", "mean" or "worst"
        by: the theory: "ode", or "linear-mean" for linear networks on inputs with a covariance
        confirm: the experiment that confirms the result: "rows", "chain", "sgd" or "none"
        replicas: number of runs of that experiment
        export: the library to write a script for: "optax", "torch" or "none"
        seed: instead of the problem's own
        budget: CPU seconds that all may take together
        watch: called with the name of what runs and the share of all work that is done

        best = df.optimise("problem.toml", knots=25)
        better = problem.replace(**{"training.schedule": best.schedule})
    """
    chosen = QUESTION.settled(problem, seed)
    names, kind = _against(against), _objective(objective)
    turned = knobs_of(chosen, knobs, bounds)
    if not 4 <= knots <= _MOST_KNOTS:
        raise ProblemError(f"a schedule cannot be sought with {knots} knots; give between 4 and {_MOST_KNOTS}.")
    if confirm is not None and confirm not in (*BY, "none"):
        raise ProblemError(f"nothing is confirmed by {confirm!r}; {suggest(confirm, (*BY, 'none'))}")
    if export not in (*SCRIPTS, "none"):
        raise ProblemError(f"there is no export to {export!r}; {suggest(export, (*SCRIPTS, 'none'))}")
    guess = chosen.training.schedule
    notes = ["training.schedule is already set; it is used as the first guess."] if guess is not None else []
    plain = chosen.replace(**{"training.schedule": None})
    confirm = nearest(plain) if confirm is None else confirm
    if confirm in BY and (why := why_not(BY[confirm], plain)):
        raise RefusalError(f"{confirm} cannot confirm schedules of this problem: {why}")
    real, problems = Real(confirm, replicas), variants(plain, turned)
    if not turned.asked and len(fewer := with_a_theory(problems)) < len(problems):
        largest = max(one.training.batch for one in fewer)
        notes.append(f"batches above {largest} are left out, because one of their steps is as large as the network.")
        problems = fewer
    theory = theory_of(problems, by, budget)
    count, note = _starts(problems, theory, starts, real, budget)
    check_cost(problems, theory, _GRIDS[0], count, real, budget)
    hunt, looked = selected(
        problems, lambda one: _hunt(one, theory, count, turned, kind), lambda text, done: watch(text, 0.3 * done)
    )
    check_cost([hunt.problem], theory, hunt.course.grid.steps, count, real, budget)
    found = optimum(hunt, knots, names, guess, lambda text, done: watch(text, 0.3 + 0.4 * done))
    times = looks(hunt.course.grid)
    check_plateau(plain, found.tried["optimal"], int(np.searchsorted(times, plain.run.until / 2)))
    best = Schedules(chosen, hunt, found, (*notes, *note), export=export, looked=looked)
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


def _starts(
    problems: Sequence[OnePassProblem], theory: str, asked: int | None, real: Real, budget: float
) -> tuple[int, tuple[str, ...]]:
    """Several draws of a random start: the optimum for one start would depend on when that one escapes from a plateau.

    Structured inputs have short plateaus or none, and their equations take long: there are as many starts as the budget allows.
    """
    if asked is not None:
        check_count("starts", asked)
        return asked, ()
    if not isinstance(problems[0].start, GaussianStart | SphereStart) or isinstance(problems[0].data, ProjectedData):
        return 1, ()
    if not problems[0].structured:
        return _DRAWN, ()
    fits = [count for count in _FEWER if predicted(problems, theory, _GRIDS[0], count, real) <= budget]
    if not fits or fits[0] == _DRAWN:
        return (_FEWER[-1] if not fits else _DRAWN), ()
    return fits[0], (
        f"the budget of {duration(budget)} allows {fits[0]} starts instead of {_DRAWN}; raise it for more.",
    )


def _hunt(problem: OnePassProblem, theory: str, count: int, turned: Knobs, kind: Objective) -> Hunt:
    drawn = [
        one
        for one in starts_of(problem.replace(**{"run.starts": count, "run.replicas": count}), (THEORIES[theory],))
        if isinstance(one, Start)
    ]
    unit = float(rule_model(problem.replace(**{"training.second_layer_rate": 1.0})).eta_a)
    box = turned.numbers.get("second_layer_rate")
    boxes = (None if box is None else (unit * box[0], unit * box[1]), turned.numbers.get("weight_decay"))
    course = course_of(problem, theory, drawn, Grid(problem.run.until, _GRIDS[0]), kind)
    rates, capped = _bounds(problem, course.critical(), turned.rate)
    for steps in _GRIDS:
        finer = replace(course, grid=Grid(problem.run.until, steps))
        one = Hunt(problem, drawn, finer, rates, boxes, unit, capped)
        if _fine_enough(one):
            return one
    raise RefusalError(
        f"{_GRIDS[-1]} steps do not follow the {theory} as its solver does until t = {problem.run.until:g}; lower run.until."
    )


def _fine_enough(hunt: Hunt) -> bool:
    """Whether the grid follows the equations as the adaptive solver does, at a rate of moderate size."""
    factor = float(np.sqrt(hunt.box[0] * hunt.box[1]) * np.sqrt(hunt.box[1] / hunt.box[0]) ** 0.5)
    written = LinearKnots(times=(0.0,), factors=(factor,))
    value = hunt.course.value(np.full(len(hunt.course.grid.points), factor))
    risks = hunt.judge(written, hunt.course.numbers)
    resolved = HighDimensional().rtol * float(np.max(risks[0] / risks[-1]))  # smaller risks are lost to cancellation
    return hunt.grid_error(value, risks) < _AGREES + resolved


def _bounds(problem: OnePassProblem, stops: float, given: Bounds | None) -> tuple[Bounds, bool]:
    """The bounds of the factor: those given as rates, or a range around the rate at which the risk stops falling at the start.

    On rows the upper one is at most a share of their limit of stability, which theory of Gaussian inputs does not know.
    """
    rate = problem.training.learning_rate
    if given is not None:
        return (given[0] / rate, given[1] / rate), False
    batch, slower = problem.training.batch, rate / problem.training.effective_rate
    limit = slower * problem.network.width * (problem.dimension * batch) ** 0.5 / rate  # beyond it no limit exists
    top = min(_MOST * stops if np.isfinite(stops) and stops > 0 else _MOST, limit)
    stable = stable_rate(problem)
    capped = stable is not None and SHARE * stable / rate < top
    top = SHARE * stable / rate if stable is not None and capped else top
    return (_LEAST / _MOST * top, top), capped
