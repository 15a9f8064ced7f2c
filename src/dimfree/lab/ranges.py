"""How far a slider goes: bounds of the model, a small table, decades around the value; only as far as the problem stays valid."""

import tomllib
from collections.abc import Callable
from functools import cache
from math import ceil, floor, inf, isinf, log10
from pathlib import Path
from typing import Any, NamedTuple

from dimfree.lab.fields import Holds

_DECADES = 2  # on both sides of the value
_WIDE = 30.0  # ends that differ by more than this factor are those of a logarithmic slider
_HIGHEST = 308  # of the powers of ten that are numbers
_STEPS = 200  # of a linear slider
_HALVINGS = 10
_LONGEST_STEP = 16  # of integers of which only some are allowed


class Range(NamedTuple):
    """The ends of a slider."""

    low: float
    high: float
    log: bool
    step: float | None


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "ranges.toml").read_text(encoding="utf-8"))


def is_main(path: str) -> bool:
    """Whether a first look at a problem wants to see this key."""
    return path.count(".") < 2 and bool({path, path.rpartition(".")[2]} & {*_table()["main"]})


def range_of(name: str, value: float, held: Holds, whole: bool, valid: Callable[[float], bool]) -> Range:
    """The range of a number with this value; `valid` says whether the problem may have another one."""
    low, high = _ends(name, value, held, whole)
    low, high = min(low, value), max(high, value)
    step = _whole_step(int(value), valid) if whole else None
    low, high = (_drawn_in(value, end, step, valid) for end in (low, high))
    log = low > 0 and high / low > _WIDE
    if step is None and not log and high > low:
        return Range(low, high, log, _rounded_down((high - low) / _STEPS))
    return Range(low, high, log, step)


def _ends(name: str, value: float, held: Holds, whole: bool) -> tuple[float, float]:
    """The ends before it is known whether problems exist there."""
    listed = _table().get(name)
    if listed is not None:
        return max(listed["min"], held.low), min(listed["max"], held.high)
    if held.low >= 0 and not isinf(held.high) and held.high < 1e3:
        inside = (held.high - held.low) / 100
        return held.low + inside * held.low_open, held.high - inside * held.high_open
    if whole:
        return max(held.low, 1.0), max(10 * abs(value), 10.0)
    if held.low >= 0:
        if value == 0:
            return 0.0, 1.0
        return 10.0 ** (floor(log10(value)) - _DECADES), 10.0 ** min(ceil(log10(value)) + _DECADES, _HIGHEST)
    size = twice(value)
    return -size, size


def twice(value: float) -> float:
    """How far a number goes that may have both signs."""
    return min(max(2.0, 2 * abs(value)), 10.0**_HIGHEST)


def _whole_step(value: int, valid: Callable[[float], bool]) -> int:
    """Between neighbouring integers that are allowed, as where a width must be even."""
    for step in range(1, _LONGEST_STEP + 1):
        if valid(value + step) or (value - step > 0 and valid(value - step)):
            return step
    return 1


def _drawn_in(value: float, end: float, step: float | None, valid: Callable[[float], bool]) -> float:
    """The end, or the farthest point on the way to it at which there is a problem."""

    def at(share: float) -> float:
        logarithmic = value > 0 and end > 0 and max(end / value, value / end) > _WIDE
        point = value * (end / value) ** share if logarithmic else value + share * (end - value)
        return value + step * int((point - value) / step) if step else point

    if valid(at(1.0)):
        return at(1.0) if step else end
    good, bad = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if valid(at(middle)) else (good, middle)
    found = at(good)
    if step:
        return found
    nice = _rounded_towards(found, value)
    return nice if valid(nice) else found


def _rounded_towards(number: float, value: float) -> float:
    """Two digits, between the number and the value."""
    if number in (0, value) or isinf(number):
        return number
    unit = 10.0 ** (floor(log10(abs(number))) - 1)
    digits = number / unit
    return unit * (ceil(digits) if number < value else floor(digits))


def _rounded_down(size: float) -> float:
    return 10.0 ** floor(log10(size)) if 0 < size < inf else 1.0
