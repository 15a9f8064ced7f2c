"""Theories that cannot be written as JavaScript, as a table: their curves at values of one number, and the error between them.

A value is added in the middle of two others where their curves do not give its own. The page mixes curves in the same way
(page/tabulated.js).
"""

import time
from collections.abc import Collection
from itertools import pairwise
from math import exp, inf, isfinite, log, prod
from typing import Any, NamedTuple

from dimfree.errors import DimfreeError, ProblemError
from dimfree.lab.accounts import Accounts
from dimfree.lab.controls import controls_of
from dimfree.lab.live import prepared, solved
from dimfree.problem import Problem

_CLOSE = 0.01  # of the risk, relatively: between values that are as good none is added
_FINEST = 1 / 32  # of the table: no two values are closer
_PATIENCE = 120.0  # seconds, after which no value is added
_FACTOR = 4.0  # from the number of the problem to the ends of a table that names none
_ENTRIES = 24  # of an observable at one time: a page draws no more lines
_DIGITS = 6

Plain = dict[str, Any]


class Axis(NamedTuple):
    """The number that a table is about, and its ends."""

    path: str
    low: float
    value: float  # of the problem
    high: float

    def middle(self, one: float, other: float) -> float:
        """The value between two others: at equal ratios where all are positive."""
        return (one * other) ** 0.5 if self.low > 0 else (one + other) / 2

    def share(self, one: float, other: float) -> float:
        """How much of the table lies between two values."""
        return log(other / one) / log(self.high / self.low) if self.low > 0 else (other - one) / (self.high - self.low)


class Node(NamedTuple):
    """One value of a table: the curve of every theory, or the sentence of its refusal."""

    curves: dict[str, Plain]
    refused: dict[str, str]


def axis_of(problem: Problem, asked: str) -> Axis:
    """What `--table KEY` or `--table KEY=LOW:HIGH` asks for."""
    path, _, ends = asked.partition("=")
    control = next((one for one in controls_of(problem) if one["path"] == path and one["type"] == "number"), None)
    if control is None:
        raise ProblemError(
            f"a table is about a number of the problem with a slider, such as training.learning_rate, not {path!r}."
        )
    value = float(control["value"])
    low, high = (value / _FACTOR, value * _FACTOR) if value > 0 else (-inf, inf)
    low, high = max(low, control["min"]), min(high, control["max"])
    if ends:
        try:
            low, high = (float(end) for end in ends.split(":"))
        except ValueError:
            low = inf
    if not (isfinite(high) and low <= value <= high and low < high):
        raise ProblemError(
            f"a table is asked for as KEY=LOW:HIGH with {path} = {value:g} in between, not as {asked!r}."
        )
    return Axis(path, low, value, high)


def table_of(problem: Problem, axis: Axis, names: Collection[str]) -> Plain:
    """A table of these theories as data for the page: values, their curves, and the error in the middle of every two."""
    began = time.monotonic()
    nodes = {at: _node(problem, axis, at, names) for at in sorted({axis.low, axis.value, axis.high})}
    left = list(pairwise(nodes))
    errors = dict.fromkeys(left, dict.fromkeys(names, inf))
    while left and time.monotonic() - began < _PATIENCE:
        low, high = left.pop(0)
        middle = axis.middle(low, high)
        nodes[middle] = _node(problem, axis, middle, names)
        found = {name: _error(name, nodes[low], nodes[middle], nodes[high]) for name in names}
        del errors[low, high]
        for half in ((low, middle), (middle, high)):
            errors[half] = found
            if max(found.values()) > _CLOSE and axis.share(*half) > _FINEST:
                left.append(half)
    at = sorted(nodes)
    return {
        "path": axis.path,
        "at": at,
        "theories": [
            {
                "name": name,
                "curves": [nodes[x].curves.get(name) for x in at],
                "refused": [nodes[x].refused.get(name) for x in at],
                "errors": [_finite(errors[pair][name]) for pair in pairwise(at)],
            }
            for name in names
            if any(name in node.curves for node in nodes.values())
        ],
    }


def mixed(one: Any, other: Any, share: float) -> Any:
    """What lies between two curves, number by number; positive ones at equal ratios."""
    if one == other:
        return one
    match one, other:
        case dict(), dict():
            return {key: mixed(value, other.get(key), share) for key, value in one.items()}
        case list(), list() if len(one) == len(other):
            return [mixed(*pair, share) for pair in zip(one, other, strict=True)]
        case ((int() | float()), (int() | float())) if one > 0 and other > 0:
            return exp((1 - share) * log(one) + share * log(other))
        case ((int() | float()), (int() | float())):
            return (1 - share) * one + share * other
        case _:
            return None


def _node(problem: Problem, axis: Axis, at: float, names: Collection[str]) -> Node:
    """All theories at one value of the number."""
    curves, refused = dict[str, Plain](), dict[str, str]()
    try:
        for part in solved(prepared(problem.replace(**{axis.path: at})), Accounts(), lambda: False):
            if part["part"] == "curve":
                seen = {name: one for name, one in part["observables"].items() if prod(one["shape"]) <= _ENTRIES}
                curves[part["name"]] = _short(part | {"observables": seen})
            elif part["part"] == "refusal":
                refused[part["name"]] = part["sentence"]
    except DimfreeError as failure:  # there is no such problem
        refused = dict.fromkeys(names, str(failure))
    return Node({name: curve for name, curve in curves.items() if name in names}, refused)


def _error(name: str, low: Node, middle: Node, high: Node) -> float:
    """The largest relative error of the risk if the middle is made of its neighbours; infinite where one of them is not there."""
    if not all(name in node.curves for node in (low, middle, high)):
        return 0.0 if not any(name in node.curves for node in (low, middle, high)) else inf
    real, guess = middle.curves[name]["risk"]["mean"], mixed(low.curves[name], high.curves[name], 0.5)["risk"]["mean"]
    if guess is None or len(guess) != len(real):
        return inf
    least = _CLOSE**2 * max((abs(x) for x in real if x is not None), default=0.0)
    pairs = [(x, y) for x, y in zip(real, guess, strict=True) if x is not None and y is not None]
    return max((abs(x - y) / max(abs(x), least) for x, y in pairs if x != y), default=0.0)


def _short(value: Any) -> Any:
    """Plain data with numbers of a few digits."""
    match value:
        case dict():
            return {key: _short(one) for key, one in value.items()}
        case list():
            return [_short(one) for one in value]
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case _:
            return value


def _finite(error: float) -> float | None:
    return float(f"{error:.2g}") if isfinite(error) else None
