"""Axes of a sweep: what is varied, as lists, linspace, logspace, or several keys together."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from dimfree.errors import ProblemError, suggest
from dimfree.problem import Problem
from dimfree.problem.section import Section

Values = tuple[Any, ...]
_LARGEST = 1e300  # the difference of two larger numbers could overflow
_FORMED = ("linspace", "logspace")
_CLOCK = ("run.until", "run.times", "run.points", "run.spacing")  # keys that all points share
_FORMS = 'a list, {linspace = [first, last, count]}, {logspace = [first, last, count]} or {zip = {"key" = axis, ...}}'


class Axis(NamedTuple):
    """One direction of the grid: its name, its coordinates, and the values that keys of the problem have at each place."""

    name: str
    values: Values
    keys: Mapping[str, Values]

    def changes(self, place: int) -> dict[str, Any]:
        """The changes to the problem at one place of the axis."""
        return {key: values[place] for key, values in self.keys.items()}

    @property
    def coordinates(self) -> dict[str, tuple[str, Values]]:
        """The coordinates of the axis: its own values, and those of other keys that are varied with it."""
        beside = {key: (self.name, values) for key, values in self.keys.items() if key != self.name}
        return {self.name: (self.name, self.values), **beside}


def axes(problem: Problem, over: Mapping[str, Any]) -> tuple[Axis, ...]:
    """All axes of a sweep; every key must be a key of the problem, and belong to one axis only."""
    if not over:
        raise ProblemError("there is no axis to sweep over; give one, for example training.learning_rate = [0.5, 1.0].")
    found = tuple(_axis(problem, name, given) for name, given in over.items())
    keys = [key for axis in found for key in axis.keys]
    for key, count in Counter(keys).items():
        if count > 1:
            raise ProblemError(f"two axes vary {key!r}; leave one of them out.")
        if key in _CLOCK:
            raise ProblemError(
                f"the axis {key!r} would give every point times of its own, and results would not stack; "
                "set it in the problem, or let all points take as many steps with steps = 1000."
            )
    _check_known(problem, keys)
    return found


def _axis(problem: Problem, name: str, given: Any) -> Axis:
    if not isinstance(given, Mapping) or "zip" not in given:
        values = _values(problem, name, name, given)
        return Axis(name, values, {name: values})
    together = given["zip"]
    if not isinstance(together, Mapping) or not together or given.keys() - {"zip", "values"}:
        raise ProblemError(f"the axis {name!r} is not understood; give {_FORMS}.")
    keys = {key: _values(problem, name, key, one, distinct=False) for key, one in together.items()}
    lengths = {key: len(values) for key, values in keys.items()}
    values = _values(problem, name, "", given["values"]) if "values" in given else tuple(range(max(lengths.values())))
    if {*lengths.values()} != {len(values)}:
        said = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise ProblemError(
            f"the keys of the axis {name!r} go together, and must be as many as its {len(values)} values: {said}."
        )
    return Axis(name, values, keys)


def _values(problem: Problem, name: str, key: str, given: Any, distinct: bool = True) -> Values:
    """The values of one key; none may occur twice, unless repetition is allowed."""
    if isinstance(given, Mapping) and len(given) == 1 and (form := next(iter(given))) in _FORMED:
        values = _spaced(name, form, given[form])
        if _is_whole(problem, key):
            values = tuple(dict.fromkeys(round(value) for value in values))
    elif isinstance(given, np.ndarray):
        values = tuple(given.tolist())
    elif isinstance(given, Sequence) and not isinstance(given, str):
        values = tuple(value.item() if isinstance(value, np.generic) else value for value in given)
    else:
        raise ProblemError(f"the axis {name!r} got {given!r}; give {_FORMS}.")
    if not values:
        raise ProblemError(f"the axis {name!r} has no values; give one at least.")
    for value in values:
        if isinstance(value, int | float) and not abs(value) < _LARGEST:
            raise ProblemError(f"the axis {name!r} has a value that is not a finite number; leave it out.")
    if distinct and _has_one_twice(values):
        raise ProblemError(f"the axis {name!r} has a value twice; give each of them once.")
    return values


def _has_one_twice(values: Values) -> bool:
    try:
        return len({*values}) < len(values)
    except TypeError:  # lists and tables cannot be hashed
        return len({repr(value) for value in values}) < len(values)


def _spaced(name: str, form: str, given: Any) -> Values:
    match given:
        case [first, last, int(count)] if _is_finite(first) and _is_finite(last) and count > 0:
            pass
        case _:
            raise ProblemError(
                f"the axis {name!r} got {form} = {given!r}; give [first, last, count], as in [0.1, 10.0, 5]."
            )
    if form == "logspace" and not (first > 0 and last > 0):
        raise ProblemError(
            f"the axis {name!r} got logspace from {first:g} to {last:g}; both ends must be positive numbers."
        )
    between = np.linspace if form == "linspace" else np.geomspace
    return tuple(between(float(first), float(last), count).tolist())


def _is_finite(value: object) -> bool:
    """Whether a value is a number that an axis can begin or end with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def _is_whole(problem: Problem, key: str) -> bool:
    """Whether the values of a key are whole numbers."""
    *sections, last = key.split(".")
    section: object = problem
    for part in sections:
        section = getattr(section, part, None)
    if not isinstance(section, Section) or last not in type(section).model_fields:
        return False
    annotation = type(section).model_fields[last].annotation
    return int in {annotation, *get_args(annotation)} and float not in {annotation, *get_args(annotation)}


def _check_known(problem: Problem, keys: Sequence[str]) -> None:
    """Refuse a key that the problem does not have, unless another key of the sweep replaces its section."""
    known = tuple(_keys(problem, ""))
    for key in keys:
        if key not in known and f"{key.rpartition('.')[0]}.kind" not in keys:
            raise ProblemError(f"the axis {key!r} names no key of the problem; {suggest(key, known)}")


def _keys(section: Section, prefix: str) -> Iterator[str]:
    for name in type(section).model_fields:
        yield f"{prefix}{name}"
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _keys(value, f"{prefix}{name}.")
