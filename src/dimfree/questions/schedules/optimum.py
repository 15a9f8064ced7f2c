"""The best schedule of a problem: families first, then free knots, placed where the optimum bends.

docs/theory/schedules.md, sections 2 and 5: several first guesses must lead to one risk, knots are placed where Pontryagin's
rate bends, and twice as many of them tell what is left to gain.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from dimfree.functions.schedule import Written
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.start import Start
from dimfree.problem import LinearKnots
from dimfree.progress import PartWatcher
from dimfree.questions.schedules.certificate import Certificate, Conditions, active, errors
from dimfree.questions.schedules.families import FAMILIES
from dimfree.questions.schedules.grid import Bounds, Vector
from dimfree.questions.schedules.knobs import NUMBERS
from dimfree.questions.schedules.parts import over_starts
from dimfree.questions.schedules.runs import factors_at, judged
from dimfree.questions.schedules.search import Course, Found, Space, search, straight

_FEW, _MANY = 60, 400  # evaluations of the objective, for a family and for free knots
_SCANNED = 13  # constant rates that are tried before the best of them is refined
SHARE = 0.6  # of the limit of stability of rows: how far rates go there (docs/schedules.md)
_PLACINGS = 2  # how many times the knots are placed again


class Tried(NamedTuple):
    """One schedule and the risks it leads to."""

    written: Written
    numbers: Vector  # the values of eta_a and omega that go with it
    risks: Float[np.ndarray, "t s"]  # by the adaptive solver, from every start
    cpu_seconds: float
    words: str  # its numbers in words, or what it degenerates to

    @property
    def risk(self) -> float:
        """The risk at the end: its geometric mean over starts."""
        return float(np.exp(np.mean(np.log(self.risks[-1]))))


class Optimum(NamedTuple):
    """All schedules by name, the best one last, and what certifies it."""

    tried: dict[str, Tried]
    conditions: Conditions
    certificate: Certificate


class Hunt(NamedTuple):
    """The inputs of a search for schedules."""

    problem: OnePassProblem
    starts: Sequence[Start]
    course: Course
    box: Bounds  # of factors on the base rate
    numbers: Sequence[Bounds | None]  # of eta_a and omega, if these are free
    unit: float  # eta_a at second_layer_rate = 1
    capped: bool = False  # whether the upper end of the box is the share of the rows' limit of stability

    def judge(self, written: Written, numbers: Vector) -> Float[np.ndarray, "t s"]:
        """Risks by the theory itself, with these numbers in the problem."""
        return judged(self.problem_with(numbers), self.course.theory, self.starts, self.course.grid, written)

    def problem_with(self, numbers: Vector) -> OnePassProblem:
        """The problem with the second layer's rate and the weight decay that were found."""
        changes = {}
        if self.numbers[0] is not None:
            changes["training.second_layer_rate"] = float(numbers[0] / self.unit)
        if self.numbers[1] is not None:
            changes["training.weight_decay"] = float(numbers[1])
        return self.problem.replace(**changes) if changes else self.problem

    def grid_error(self, value: float, risks: Float[np.ndarray, "t s"]) -> float:
        """How far the objective on the grid is from that of the adaptive solver's risks, relative to the risk."""
        return abs(float(np.expm1(value - float(over_starts(jax.device_put(risks[-1]), self.course.kind)))))

    def space(self, knots: Vector) -> Space:
        """Free factors at knots."""
        return Space(straight(self.course.grid.weights(knots)), [self.box] * len(knots), self.numbers)


def optimum(hunt: Hunt, knots: int, against: Sequence[str], guess: Written | None, watch: PartWatcher) -> Optimum:
    """Constant, families, greedy and free knots, each judged by the adaptive solver."""
    total, tried = len(against) + 3, dict[str, Tried]()
    watch("constant", 0.0)
    tried["constant"] = _constant(hunt)
    constant = float(factors_at(tried["constant"].written, np.zeros(1))[0])
    for done, name in enumerate(against, 1):
        watch(name, done / total)
        tried[name] = _greedy(hunt) if name == "greedy" else _family(hunt, name, constant)
    watch("optimal", (total - 2) / total)
    families = [one for name, one in tried.items() if name != "greedy"]
    best = min(families, key=lambda one: one.risk)
    guesses = [best, tried["constant"], _scaled(tried["constant"], 0.5)]
    guesses += [guesses[0]._replace(written=guess)] if guess is not None else []
    tried["optimal"], found, certificate = _free(hunt, knots, guesses)
    watch("done", 1.0)
    return Optimum(tried, found, certificate)


def _constant(hunt: Hunt) -> Tried:
    """The best of a few rates, refined."""
    began, points = time.process_time(), len(hunt.course.grid.points)
    rates = np.geomspace(max(hunt.box[0], 1e-3 * hunt.box[1]), hunt.box[1], _SCANNED)
    values = [hunt.course.value(np.full(points, rate)) for rate in rates]
    space = hunt.space(hunt.course.grid.knots(1))
    found = search(hunt.course, space, rates[[int(np.argmin(values))]], _FEW)
    written = LinearKnots(times=(0.0,), factors=(float(found.parameters[0]),))
    rate = hunt.problem.training.learning_rate * found.parameters[0]
    return _tried(hunt, written, found.numbers, began, f"{rate:.4g}")


def _family(hunt: Hunt, name: str, constant: float) -> Tried:
    """The best of one family, from its two guesses."""
    began, family, grid = time.process_time(), FAMILIES[name], hunt.course.grid
    space = Space(family.curve(grid.points, grid.until), family.bounds(grid.until, hunt.box), hunt.numbers)
    ends = [search(hunt.course, space, np.array(one), _FEW) for one in family.guesses(grid.until, constant)]
    found = min(ends, key=lambda one: one.value)
    rate, clock = hunt.problem.training.learning_rate, samples_per_dimension(hunt.problem, 1.0)
    words = family.words(found.parameters, rate, clock, grid.until)
    return _tried(hunt, family.written(found.parameters, grid.until), found.numbers, began, words)


def _greedy(hunt: Hunt) -> Tried:
    """The rate that lowers the risk fastest at every moment."""
    began, course = time.process_time(), hunt.course
    factors = course.greedy(hunt.box)
    at = course.grid.chosen(161)
    written = LinearKnots(times=tuple(course.grid.times[at].tolist()), factors=tuple(factors[2 * at].tolist()))
    rate = hunt.problem.training.learning_rate
    return _tried(hunt, written, course.numbers, began, f"from {rate * factors[0]:.3g} to {rate * factors[-1]:.3g}")


def _free(hunt: Hunt, count: int, guesses: Sequence[Tried]) -> tuple[Tried, Conditions, Certificate]:
    """Optimise knots from the best guess, with knots placed again; then from all guesses; then with twice as many knots."""
    began, course, grid = time.process_time(), hunt.course, hunt.course.grid
    knots = grid.knots(count)
    found = _from(hunt, knots, guesses[0])
    for _ in range(_PLACINGS):
        wanted, _ = _wanted(hunt, knots, found)
        knots = grid.placed(wanted, count)
        found = search(course, hunt.space(knots), np.interp(knots, grid.times, wanted), _MANY, found.numbers)
    ends = [found, *(_from(hunt, knots, one) for one in guesses[1:])]
    values = [one.value for one in ends]
    best = ends[int(np.argmin(values))]
    written = LinearKnots(times=tuple(knots.tolist()), factors=tuple(best.parameters.tolist()))
    optimal = _tried(hunt, written, best.numbers, began, f"{count} knots")
    wanted, seen = _wanted(hunt, knots, best)
    finer = grid.placed(wanted, 2 * count - 1)
    doubled = search(course, hunt.space(finer), np.interp(finer, knots, best.parameters), _MANY, best.numbers)
    violation, spread = errors(seen, knots, best.parameters, hunt.box)
    return (
        optimal,
        seen,
        Certificate(
            pontryagin_error=violation,
            hamiltonian_spread=spread,
            knots_doubled_gain=float(np.expm1(best.value - doubled.value)),
            starts_spread=float(np.expm1(max(values) - min(values))),
            active_bounds=_active(hunt, knots, best),
            grid_error=hunt.grid_error(best.value, optimal.risks),
            regular=seen.regular,
            converged=best.converged,
        ),
    )


def _from(hunt: Hunt, knots: Vector, guess: Tried) -> Found:
    return search(hunt.course, hunt.space(knots), factors_at(guess.written, knots), _MANY, guess.numbers)


def _wanted(hunt: Hunt, knots: Vector, found: Found) -> tuple[Vector, Conditions]:
    """The factors of equation (2.1) along the path that was found, within bounds."""
    course = hunt.course
    factors = course.grid.weights(knots) @ found.parameters
    seen = course.conditions(factors, found.numbers)
    regular = np.where(np.isfinite(seen.ratio) & (seen.ratio > 0), seen.ratio, 1.0)
    return np.clip(np.append(regular * factors[:-1:2], factors[-1]), *hunt.box), seen


def _active(hunt: Hunt, knots: Vector, found: Found) -> dict[str, float]:
    """Which bounds are touched, and for which share of the run."""
    low, high = active(knots, found.parameters, hunt.box)
    shares = {"learning_rate lower": low, "learning_rate upper": high}
    for name, box, value in zip(NUMBERS, hunt.numbers, found.numbers, strict=True):
        if box is not None:
            shares[f"{name} lower"] = float(np.isclose(value, box[0], rtol=1e-3, atol=1e-9))
            shares[f"{name} upper"] = float(np.isclose(value, box[1], rtol=1e-3, atol=1e-9))
    return {name: share for name, share in shares.items() if share > 0}


def _tried(hunt: Hunt, written: Written, numbers: Vector, began: float, words: str) -> Tried:
    risks = hunt.judge(written, numbers)
    return Tried(written, numbers, risks, time.process_time() - began, words)


def _scaled(one: Tried, factor: float) -> Tried:
    assert isinstance(one.written, LinearKnots)
    return one._replace(written=LinearKnots(times=one.written.times, factors=(factor * one.written.factors[0],)))


def samples_per_dimension(problem: OnePassProblem, t: float) -> float:
    """alpha = t p n_b/Gamma: the samples per dimension that a time takes (docs/theory/schedules.md, section 0)."""
    return t * problem.network.width * problem.training.batch / problem.training.effective_rate
