"""The search for the best rates: L-BFGS-B on logarithms, by the gradient that the walk gives.

docs/theory/schedules.md, sections 2 and 5. The logarithm of the risk is minimised, because the risk itself has hardly
any slope near the optimum. A run that diverges counts as a very large risk without a slope.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from dimfree.onepass.directions import TeacherModel
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import Objective
from dimfree.questions.schedules.walk import Steered, steered
from dimfree.states.overlaps import Overlaps

Vector = Float[np.ndarray, " _"]
Bounds = tuple[float, float]
Curve = Callable[[Vector], tuple[Vector, Float[np.ndarray, "points _"]]]  # factors at all points, and their derivatives
_LOST = 700.0  # the objective of a run that diverges: e^700 is about the largest float
_SETTLED = 1e-5  # a smaller slope of the log-risk counts as converged
_OPTIONS = {"maxcor": 20, "ftol": 1e-11, "gtol": 1e-7}


@dataclass
class Course:
    """A problem on its grid: what any rates lead to."""

    model: TeacherModel
    starts: Overlaps  # with a leading axis
    grid: Grid
    kind: Objective
    numbers: Vector  # eta_a and omega, where they are not searched for
    calls: int = field(default=0)

    def model_with(self, numbers: Vector) -> TeacherModel:
        """The model with other numbers."""
        eta_a, omega = jax.device_put(tuple(numbers))
        return eqx.tree_at(lambda m: (m.eta_a, m.omega), self.model, (eta_a, omega))

    def seen(self, factors: Vector, numbers: Vector | None = None) -> Steered:
        """Everything about one walk."""
        self.calls += 1
        chosen = self.numbers if numbers is None else numbers
        steps, given, others = jax.device_put((np.diff(self.grid.times), factors, chosen))
        return steered(self.model, self.starts, steps, given, others, self.kind)

    def value(self, factors: Vector) -> float:
        """The objective at the end of it."""
        return _finite(float(self.seen(factors).value))


class Found(NamedTuple):
    """Where a search ended."""

    parameters: Vector  # the parameters themselves, not their logarithms
    numbers: Vector
    value: float
    converged: bool


class Space(NamedTuple):
    """The parameters of a search: the curve they define, and the box of each; then eta_a and omega, if they are free."""

    curve: Curve
    bounds: Sequence[Bounds]
    numbers: Sequence[Bounds | None] = (None, None)


def search(course: Course, space: Space, guess: Vector, calls: int, numbers: Vector | None = None) -> Found:
    """The best parameters near a guess. Factors are searched by logarithms; eta_a and omega directly, since they may be 0."""
    count = len(space.bounds)
    free = [n for n, box in enumerate(space.numbers) if box is not None]
    fixed = course.numbers if numbers is None else numbers

    def unpacked(x: Vector) -> tuple[Vector, Vector]:
        chosen = fixed.copy()
        chosen[free] = x[count:]
        return np.exp(x[:count]), chosen

    def slope(x: Vector) -> tuple[float, Vector]:
        parameters, chosen = unpacked(x)
        factors, by_parameter = space.curve(parameters)
        found = course.seen(factors, chosen)
        gradient = np.concatenate(
            [parameters * (np.asarray(found.by_factor) @ by_parameter), np.asarray(found.by_number)[free]]
        )
        if not (np.isfinite(float(found.value)) and np.isfinite(gradient).all()):
            return _LOST, np.zeros(len(x))
        return float(found.value), gradient

    boxes = [(np.log(low), np.log(high)) for low, high in space.bounds]
    boxes += [box for box in space.numbers if box is not None]
    inside = np.clip(guess, *np.array(space.bounds).T)  # a guess may be 0, where there is no logarithm
    first = np.concatenate([np.log(inside), fixed[free]])
    first = np.clip(first, [low for low, _ in boxes], [high for _, high in boxes])
    ended = minimize(slope, first, jac=True, method="L-BFGS-B", bounds=boxes, options=_OPTIONS | {"maxfun": calls})
    parameters, chosen = unpacked(ended.x)
    # a line search that finds nothing lower has also converged, if the slope is small
    settled = bool(ended.success) or _slope_left(ended.x, ended.jac, boxes) < _SETTLED
    return Found(parameters, chosen, float(ended.fun), settled and ended.fun < _LOST)


def _slope_left(x: Vector, gradient: Vector, boxes: Sequence[Bounds]) -> float:
    """The slope of steepest descent within the box."""
    low, high = np.array(boxes).T
    return float(np.max(np.abs(x - np.clip(x - gradient, low, high))))


def straight(weights: Float[np.ndarray, "points knots"]) -> Curve:
    """The curve of knots: linear in the factors."""
    return lambda factors: (weights @ factors, weights)


def _finite(value: float) -> float:
    return value if np.isfinite(value) else _LOST
