"""Answers of every kind from made-up numbers, with what is awkward in them: infinities, absences, words in brackets."""

import jax.numpy as jnp
import numpy as np

import dimfree as df
from dimfree.comparison.budget import LeftOut
from dimfree.dataset.ends.optimal_ridge import Best
from dimfree.lazy.lemmas import Inequality, Lemmas
from dimfree.questions.answer import Answer
from dimfree.questions.bounds.fluctuations import FluctuationBound
from dimfree.questions.couplings.answer import Couplings
from dimfree.questions.couplings.slopes import Slopes, Sweep
from dimfree.questions.curves.answer import SEEN
from dimfree.questions.curves.answer import Curve as LearningCurve
from dimfree.questions.curves.lines import TRAINING, Line
from dimfree.questions.escape.answer import SampleComplexity
from dimfree.questions.escape.scaling import Point, Scaling
from dimfree.questions.exit_times.answer import Account, Exits
from dimfree.questions.laziness.answer import QUANTITIES, Laziness
from dimfree.questions.plan.answer import Plan
from dimfree.questions.plan.columns import Columns
from dimfree.questions.plan.learning import Learning
from dimfree.questions.plan.moments import Moments
from dimfree.questions.plan.search import Choice, Found
from dimfree.questions.plan.table import Table
from dimfree.questions.plan.teacher import Fit, Teacher
from dimfree.questions.plan.trial import CONSTANT, DEFAULT, LINEAR, PLAN, Trial
from dimfree.questions.schedules.answer import Schedules
from dimfree.questions.schedules.certificate import Certificate, Conditions
from dimfree.questions.schedules.confirmation import Confirmation
from dimfree.questions.schedules.equations import Equations
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.optimum import Hunt, Optimum, Tried
from dimfree.questions.schedules.parts import steerable
from dimfree.questions.spectral.answer import Outcome, Spectral
from dimfree.questions.spectral.descent import Descent
from dimfree.questions.stopping.answer import Account as Trained
from dimfree.questions.stopping.answer import Stopping
from dimfree.questions.temperature.answer import Account as Curve
from dimfree.questions.temperature.answer import Temperature

RNG = np.random.default_rng(0)
PROBLEM = df.Problem(dimension=50, run=df.Run(seed=7))
LAG = np.arange(4.0)
CHI = np.array([[0.0, 1.0, 2.0, 4.0], [0.0, 1.1, 2.1, 4.2]])
LEMMAS = Lemmas(
    (
        Inequality("lemma 1", "[1]", 1.0, 2.0),
        Inequality("lemma 2", "[2]", 1.0, np.inf),
        Inequality("lemma 3", "[3]", 3.0, 2.0),
    ),
    Inequality("lazy", "[4]", np.inf, 1.0),
    np.inf,
    1.0,
    2.0,
)


def _plan() -> Plan:
    """One way to part the rows, so that errors over several are unknown; a column in brackets."""
    choice = Choice(2, 0.5, 4, "linear to 0")
    line = Teacher(np.ones((1, 3)), np.ones(1), (True,), np.zeros(1), 0.0)
    risks = {name: np.array([0.3, 0.31]) for name in (PLAN, DEFAULT, CONSTANT, LINEAR)}
    courses = {name: RNG.uniform(0.3, 0.4, (2, 2)) for name in (PLAN, CONSTANT)}
    trial = Trial(
        PROBLEM,
        Fit(line, line, 0.1, None, 0.2, 0.25, 0.22, 1.0, {"ridge": 0.25}, 2.0, "too few rows for units."),
        Found(choice, 0.1, {choice: 0.1}, (2.0, np.inf)),
        dict.fromkeys(risks, choice),
        risks,
        np.array([0.3, 5.0]),
        courses,
        {name: 1.1 * one for name, one in courses.items()},
        (0.9 * courses[PLAN], 1.2 * courses[PLAN]),
        0.11,
        0.12,
        {"ridge": 0.75},
        None,
    )
    moments = Moments(4)
    moments.add(RNG.normal(size=(9, 4)))
    table = Table("a.csv", "[y]", ("a", "b", "[c]"), np.zeros((9, 3)), np.zeros(9), None, moments, ("[c] has a mean.",))
    columns = Columns(np.ones(3, bool), "common", np.array([1.5, 1.0, 0.5]), 0.7, ())
    curve = Learning(np.array([3.0, 9.0]), np.array([0.4, 0.3]), np.array([1.0, 0.5]))
    return Plan(PROBLEM, table, columns, curve, 45, None, (trial,))


def _schedules() -> Schedules:
    """A schedule on its bound, a greedy one that diverges, and replicas that do."""
    grid = Grid(PROBLEM.run.until, 400)
    starts = df.extend.Overlaps(jnp.zeros((2, 4, 4)), jnp.zeros((2, 4, 2)), jnp.zeros((2, 4)))
    course = Equations(grid, "mean-log", np.array([1.0, 0.0]), steerable(df.extend.model(PROBLEM)), starts)
    knots = df.LinearKnots(times=(0.0, 250.0, 499.0, 500.0), factors=(2.0, 2.0, 1.0, 0.1))
    curve = np.geomspace(1, 1e-3, 81)[:, None] * np.ones(2)
    tried = {
        "constant": Tried(df.LinearKnots(times=(0.0,), factors=(0.5,)), course.numbers, 4 * curve, 1.0, "0.5"),
        "cosine": Tried(df.WarmUpCosine(until=500.0), course.numbers, 2 * curve, 1.0, "[cosine]"),
        "greedy": Tried(df.LinearKnots(times=(0.0,), factors=(0.1,)), course.numbers, np.nan * curve, 1.0, "0.1"),
        "optimal": Tried(knots, course.numbers, curve, 1.0, "4 knots"),
    }
    seen = Conditions(grid.times[:-1], np.ones(400), -np.ones(400), True)
    certificate = Certificate(0.01, 0.0, 0.0, np.inf, {"learning_rate upper": 0.5}, 0.0, True, False)
    real = {name: np.stack([tried[name].risks] * 3, axis=2) for name in ("constant", "cosine", "optimal")}
    real["cosine"] = np.where(np.arange(3) < 1, np.nan, real["cosine"])
    hunt = Hunt(PROBLEM, [], course, (0.01, 2.0), (None, None), 1.0)
    return Schedules(PROBLEM, hunt, Optimum(tried, seen, certificate), ("a note.",), Confirmation("chain", 50, real))


ANSWERS: list[Answer] = [
    df.regime(PROBLEM),
    df.regime(PROBLEM.replace(**{"training.learning_rate": 1e3})),
    SampleComplexity(PROBLEM, 1, None, 1, 2, None, "d log d", None),
    SampleComplexity(
        PROBLEM.replace(**{"data.kind": "multi-index", "data.link": "parity-3"}), 3, None, 3, 3, 0.1, "d^2", np.inf
    ),
    Scaling(
        PROBLEM,
        2,
        (Point(10, 0.1, 1.0, 1, 1), Point(100, 0.1, 2.0, 1, 1)),
        np.array([[1.0, 1.2, 1.1], [2.1, np.inf, 2.0]]),
    ),
    Exits(
        PROBLEM,
        0.1,
        2.0,
        (
            Account("chain", 1.0, 0.1, 1, np.array([0.9, 1.1, np.inf])),
            Account("ode", float("nan"), float("nan"), 3, np.full(3, np.inf)),
            Account("annealed", 0.9, 0.0, 0, np.zeros(0)),
        ),
        (LeftOut("diffusion", "it needs [start] of another kind."),),
    ),
    FluctuationBound(PROBLEM, "chain", "ode", np.array([1.0, 2.0]), np.array([0.1, 0.2]), 0.05, 1.0),
    FluctuationBound(PROBLEM, "chain", "ode", np.array([1.0, 2.0]), np.array([0.0, 0.0]), 0.05, -np.inf),
    Couplings(PROBLEM, np.array([1.0, 2.0]), RNG.uniform(1, 2, (5, 3, 2)), RNG.uniform(1, 2, (3, 3, 2)), 0.0),
    Couplings(PROBLEM, np.array([1.0, 2.0]), RNG.uniform(1, 2, (5, 1, 2)), RNG.uniform(1, 2, (3, 1, 2)), 0.0),
    Slopes(PROBLEM, (Sweep("width", np.array([2.0, 4.0]), RNG.uniform(1, 2, (7, 2, 3))),)),
    Temperature(
        df.extend.DataSetProblem(run=df.Run(seed=7)),
        (
            Curve("dmft", np.arange(4.0), CHI, 0.3 * CHI),
            Curve("simulation", np.arange(4.0), CHI, np.array([[0.31], [0.32]]) * CHI),
        ),
        0.02,
        "the loss is [data] of another kind.",
    ),
    Stopping(
        df.extend.NetworkProblem(run=df.Run(seed=7, times=(1.0, 2.0))),
        (Trained("dmft", np.array([[0.3, 0.31], [0.1, 0.12], [0.2, 0.19]]), np.zeros((3, 2))),),
        None,
        "the loss is [data] of another kind.",
        None,
    ),
    _plan(),
    LearningCurve(
        df.extend.DataSetProblem(data=df.SignTeacher(), run=df.Run(seed=7)),
        np.array([1.0, 2.0]),
        {
            name: Line("[a line]", np.array([1.0, 2.0]), np.array([0.3, np.nan]))
            for name in ("ridge", "bayes", TRAINING)
        },
        {name: np.array([0.3, 0.2]) for name in SEEN},
        Best(np.array([0.1, 0.2]), np.array([0.3, 0.1])),
        {name: RNG.uniform(0.2, 0.3, (2, 3)) for name in SEEN},
        ("a remark on [data].",),
    ),
    Laziness(
        df.extend.LazyProblem(run=df.Run(seed=7)),
        np.array([0.1, 1.0]),
        {name: RNG.uniform(1, 2, (2, 2)) for name in QUANTITIES},
        ((LEMMAS, LEMMAS), (LEMMAS, LEMMAS)),
    ),
    Spectral(
        PROBLEM,
        3,
        1,
        np.array([0.5, 2.0]),
        (
            Outcome("linear filter", 0.0, 1.5, np.array([0.2, 0.6]), RNG.uniform(size=(2, 3)), np.ones((2, 4))),
            Outcome("given", np.inf, np.inf, np.zeros(2), RNG.uniform(size=(2, 3)), np.ones((2, 4))),
        ),
        Descent(3, 0.1, np.inf),
    ),
    _schedules(),
    df.scaling(compute=(1e3, 1e5), largest=200, seed=7),
    Spectral(PROBLEM, 4, 4, np.array([0.5]), (), "the activation [jumps] somewhere."),
]
