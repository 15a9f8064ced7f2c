"""The search for the best rates: L-BFGS-B on logarithms, by the gradient that the walk gives.

docs/theory/schedules.md, sections 2 and 5. The logarithm of the risk is minimised, because the risk itself has hardly
any slope near the optimum. A run that diverges counts as a very large risk without a slope.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float
from scipy.optimize import minimize

from dimfree.description import AnyDescription
from dimfree.questions.schedules.certificate import Conditions
from dimfree.questions.schedules.grid import Bounds, Grid, Vector
from dimfree.questions.schedules.parts import Objective

Curve = Callable[[Vector], tuple[Vector, Float[np.ndarray, "points _"]]]  # factors at all points, and their derivatives
_LOST = 700.0  # the objective of a run that diverges: e^700 is about the largest float
_SETTLED = 1e-5  # a smaller slope of the log-risk counts as converged
_OPTIONS = {"maxcor": 20, "ftol": 1e-11, "gtol": 1e-7}


@runtime_checkable
class Slope(Protocol):
    """The value at the end, and how it depends on all factors and on the two numbers."""

    @property
    def value(self) -> ArrayLike:
        """The objective."""

    @property
    def by_factor(self) -> ArrayLike:
        """Its derivatives with respect to the factors at all points of the grid."""

    @property
    def by_number(self) -> ArrayLike:
        """Its derivatives with respect to eta_a and omega."""


@dataclass
class Course(ABC):
    """A problem followed by a theory: what any rates lead to."""

    grid: Grid
    kind: Objective
    numbers: Vector  # eta_a and omega, where they are not searched for

    theory: ClassVar[AnyDescription]  # what judges a schedule exactly as it is written
    said: ClassVar[str]  # its name in a sentence
    where: ClassVar[str]  # the beginning of a sentence about what it says
    conserves: ClassVar[bool] = (
        True  # whether H stays the same along an optimum; exact steps change it by the size of a step
    )

    @abstractmethod
    def seen(self, factors: Vector, numbers: Vector | None = None) -> Slope:
        """What these factors at all points of the grid lead to."""

    @abstractmethod
    def conditions(self, factors: Vector, numbers: Vector) -> Conditions:
        """Pontryagin's conditions at the beginnings of all steps of the grid."""

    @abstractmethod
    def greedy(self, box: Bounds) -> Vector:
        """The factors that lower the risk fastest at every moment, at all points of the grid."""

    @abstractmethod
    def critical(self) -> float:
        """The factor at which the risk stops falling at the start; not positive, or not finite, if no factor does that."""

    def in_batches(self, factors: Vector, batches: Vector) -> Vector | None:
        """The risk from every start after steps of these factors and batches; None where the limit knows no batch."""
        return None

    @abstractmethod
    def unresolved(self, risks: Vector) -> bool:
        """Whether the smallest of these risks is below what the theory resolves."""

    def value(self, factors: Vector) -> float:
        """The objective at the end."""
        return _finite(float(np.asarray(self.seen(factors).value)))


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
        if not (np.isfinite(float(np.asarray(found.value))) and np.isfinite(gradient).all()):
            return _LOST, np.zeros(len(x))
        return float(np.asarray(found.value)), gradient

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
