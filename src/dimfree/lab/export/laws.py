"""How the numbers of a problem reach those of its models: found by changing one after the other, and all of them together.

A number of a model that is alpha + sum of beta v^n in the values v of a problem, or beta times a product of v^n, can follow a
slider without Python. What has no such law, or changes the structure of a model, needs the server.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dimfree.errors import DimfreeError
from dimfree.lab.export.values import Array
from dimfree.problem import Problem
from dimfree.problem.section import Section

Numbers = dict[str, float]  # values of a problem, by the path of their key
Leaves = Callable[[Problem], list[Array] | None]  # None where the structure is another one

_POWERS = (1.0, -1.0, 0.5, -0.5, 2.0, -2.0)
_STRETCHED = (1.25, 0.8, 1.6)  # by how much values are changed, one by one
_FROM_ZERO = (0.1, 0.25, 0.4)
_CLOSE = 1e-11


@dataclass(frozen=True)
class Law:
    """One array of a model: constant + sum of factor v^power, or factor times the product of all v^power."""

    constant: list[float]
    terms: list[tuple[str, float, list[float]]] = field(default_factory=list)  # path, power, factors
    product: bool = False

    def __call__(self, numbers: Mapping[str, float]) -> Array:
        """The array at other values."""
        found = np.array(self.constant)
        for path, power, factor in self.terms:
            raised = numbers[path] ** power * np.array(factor)
            found = found * raised if self.product else found + raised
        return found

    def plain(self) -> list[Any]:
        """As data for the page."""
        return [self.constant, [[path, power, factor] for path, power, factor in self.terms], self.product]


def numbers_of(section: Section, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a problem, with the path of its key."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from numbers_of(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{name}", value


class Laws:
    """The laws of several lists of arrays, in the numbers that all of them follow."""

    def __init__(self, problem: Problem, lists: Mapping[str, Leaves]) -> None:
        self.problem, self._lists = problem, dict(lists)
        self.numbers = {path: value for path, value in numbers_of(problem) if not path.startswith("run.")}
        self._base = self._arrays(problem)
        assert self._base is not None, "the lists are those of the problem itself"
        self.fixed: dict[str, str] = {}  # numbers that no slider may change, and why
        self._probes = {path: probes for path in self.numbers if (probes := self._probed(path))}
        while True:
            self.laws = self._found()
            if not (failing := self._failing()):
                break
            for path in failing:
                self._give_up(path, "it reaches the equations in a way that this page cannot follow")

    @property
    def live(self) -> tuple[str, ...]:
        """The numbers that reach the arrays by a law."""
        used = {path for laws in self.laws.values() for law in laws for path, _, _ in law.terms}
        return tuple(path for path in self._probes if path in used)

    def bounds(self, path: str, low: float, high: float) -> tuple[float, float]:
        """The part of a range around the number of the problem in which structure and laws stay the same."""
        return self._bound(path, low), self._bound(path, high)

    def _bound(self, path: str, far: float) -> float:
        """The number furthest from that of the problem towards `far` at which the laws still hold."""
        near: float = self.numbers[path]
        whole = isinstance(near, int)
        if self._holds(path, far):
            return far
        for _ in range(30):
            middle = (near * far) ** 0.5 if near * far > 0 else (near + far) / 2
            middle = round(middle) if whole else middle
            if middle in (near, far):
                break
            near, far = (middle, far) if self._holds(path, middle) else (near, middle)
        return near

    def _holds(self, path: str, value: float) -> bool:
        given = int(value) if isinstance(self.numbers[path], int) else float(value)
        try:
            arrays = self._arrays(self.problem.replace(**{path: given}))
        except DimfreeError:
            return False
        return arrays is not None and not self._wrong({**self.numbers, path: given}, arrays)

    def _wrong(self, numbers: Numbers, arrays: dict[str, list[Array]]) -> set[str]:
        """Numbers whose laws do not give these arrays."""
        wrong: set[str] = set()
        for name, laws in self.laws.items():
            for law, real in zip(laws, arrays[name], strict=True):
                if not np.allclose(law(numbers), np.asarray(real).ravel(), rtol=_CLOSE, atol=0.0):
                    wrong |= {path for path, _, _ in law.terms}
        return wrong

    def _arrays(self, problem: Problem) -> dict[str, list[Array]] | None:
        found = {name: leaves(problem) for name, leaves in self._lists.items()}
        if any(one is None for one in found.values()):
            return None
        return {name: one for name, one in found.items() if one is not None}

    def _probed(self, path: str) -> list[tuple[float, dict[str, list[Array]]]]:
        """Values of one number, and the arrays there; none if it is no number that may change."""
        value = self.numbers[path]
        tried = [value * by for by in _STRETCHED] if value else list(_FROM_ZERO)
        if isinstance(value, int):
            tried = sorted({round(one) for one in tried} - {value})
        found, broken = [], ""
        for one in tried:
            try:
                arrays = self._arrays(self.problem.replace(**{path: one}))
            except DimfreeError:
                continue
            if arrays is None:
                broken = "it changes the structure of the equations"
                continue
            found.append((float(one), arrays))
        if len(found) >= 2 and not broken:
            return found
        self.fixed[path] = broken or "few other values of it are allowed"
        return []

    def _found(self) -> dict[str, list[Law]]:
        assert self._base is not None
        return {
            name: [self._law(name, place, base) for place, base in enumerate(arrays)]
            for name, arrays in self._base.items()
        }

    def _law(self, name: str, place: int, base: Array) -> Law:
        """The law of one array; paths without one are given up on."""
        flat, moving = np.asarray(base, dtype=float).ravel(), {}
        for path, probes in list(self._probes.items()):
            seen = [(value, np.asarray(arrays[name][place], dtype=float).ravel()) for value, arrays in probes]
            if any(not np.array_equal(one, flat) for _, one in seen):
                moving[path] = seen
        if not moving:
            return Law(flat.tolist())
        sums = {path: _sum_term(self.numbers[path], flat, seen) for path, seen in moving.items()}
        products = {path: _product_power(self.numbers[path], flat, seen) for path, seen in moving.items()}
        if len(moving) > 1 and all(power is not None for power in products.values()):
            return _product(self.numbers, flat, {path: power for path, power in products.items() if power is not None})
        for path, found in sums.items():
            if found is None:
                self._give_up(path, "it reaches the equations in a way that this page cannot follow")
        return _sum(self.numbers, flat, {path: found for path, found in sums.items() if found is not None})

    def _give_up(self, path: str, why: str) -> None:
        self._probes.pop(path, None)
        self.fixed[path] = why

    def _failing(self) -> list[str]:
        """Numbers whose laws do not hold when all numbers change together."""
        together, arrays = self._together()
        return sorted(self._wrong({**self.numbers, **together}, arrays))

    def _together(self) -> tuple[Numbers, dict[str, list[Array]]]:
        """As many numbers changed at once as go together, and the arrays there."""
        assert self._base is not None
        changed: Numbers = {}
        arrays = self._base
        for place, (path, probes) in enumerate(self._probes.items()):
            value = probes[place % len(probes)][0]
            more = {**changed, path: int(value) if isinstance(self.numbers[path], int) else value}
            try:
                found = self._arrays(self.problem.replace(**more))
            except DimfreeError:
                continue
            if found is not None:
                changed, arrays = more, found
        return changed, arrays


def _sum_term(value: float, base: Array, seen: list[tuple[float, Array]]) -> tuple[float, Array] | None:
    """Power and factors with base + factor (v^power - value^power) at all probes."""
    for power in _POWERS:
        if value == 0 and power < 0:
            continue
        first, at_first = seen[-1]
        factor = (at_first - base) / (first**power - value**power)
        expected = [base + factor * (one**power - value**power) for one, _ in seen]
        if all(np.allclose(x, y, rtol=_CLOSE, atol=0.0) for x, (_, y) in zip(expected, seen, strict=True)):
            return power, factor
    return None


def _product_power(value: float, base: Array, seen: list[tuple[float, Array]]) -> float | None:
    """The power with base (v/value)^power at all probes."""
    for power in _POWERS if value > 0 else ():
        if all(np.allclose(base * (one / value) ** power, x, rtol=_CLOSE, atol=0.0) for one, x in seen):
            return power
    return None


def _sum(numbers: Numbers, base: Array, found: dict[str, tuple[float, Array]]) -> Law:
    constant, terms = base.copy(), []
    for path, (power, factor) in found.items():
        factor = np.array([_rounded(one) for one in factor])
        constant = constant - factor * numbers[path] ** power
        terms.append((path, power, factor.tolist()))
    nothing = np.abs(constant) <= 1e-12 * np.abs(base)
    return Law(np.where(nothing, 0.0, constant).tolist(), terms)


def _product(numbers: Numbers, base: Array, powers: dict[str, float]) -> Law:
    constant = base.copy()
    for path, power in powers.items():
        constant = constant / numbers[path] ** power
    ones = [1.0] * base.size
    return Law([_rounded(one) for one in constant], [(path, power, ones) for path, power in powers.items()], True)


def _rounded(x: float) -> float:
    """A number as short as its neighbours within rounding allow: 1 for 0.9999999999999999."""
    short = float(f"{x:.12g}")
    return short if abs(short - x) <= 1e-14 * abs(x) else float(x)
