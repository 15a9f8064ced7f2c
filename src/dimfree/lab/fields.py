"""What a field of a problem may hold, read off its model: sections by kind, words, numbers with their bounds."""

from collections.abc import Iterator
from functools import lru_cache
from inspect import isclass
from math import inf
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from dimfree.problem.section import Section


class Holds(NamedTuple):
    """All that a field may hold."""

    kinds: dict[str, type[Section]]  # sections by their kind
    tables: tuple[type[Section], ...]  # sections without a kind
    words: tuple[Any, ...]
    examples: tuple[Any, ...]  # values that the model names
    types: frozenset[Any]  # of all else: int, float, bool, str, Path, tuples
    parts: tuple[Any, ...]  # the words of a list of words
    optional: bool
    low: float
    high: float
    low_open: bool
    high_open: bool

    @property
    def numeric(self) -> bool:
        """Whether a number may stand here."""
        return bool(self.types & {int, float})


def holds(section: type[Section], name: str) -> Holds:
    """What a field of a section may hold."""
    return _holds(section, name)


@lru_cache(maxsize=1024)
def _holds(section: type[Section], name: str) -> Holds:
    field = section.model_fields[name]
    found = list(_flat(field.annotation, tuple(field.metadata)))
    options = [one for one, _ in found]
    marks = [mark for _, of in found for mark in of]
    classes = [one for one in options if isclass(one) and issubclass(one, Section)]
    kinds = {kind: one for one in classes for kind in _kinds(one)}
    words = tuple(word for one in options if get_origin(one) is Literal for word in get_args(one))
    lists = [one for one in options if get_origin(one) is tuple]
    inner = [_flat(get_args(one)[0], ()) for one in lists if get_args(one)]
    parts = tuple(word for each in inner for one, _ in each if get_origin(one) is Literal for word in get_args(one))
    low, low_open = _bound(marks, "ge", "gt", -inf)
    high, high_open = _bound(marks, "le", "lt", inf)
    given = [*(field.examples or ()), *(x for m in marks if isinstance(m, FieldInfo) for x in m.examples or ())]
    return Holds(
        kinds,
        tuple(one for one in classes if one not in kinds.values()),
        words,
        tuple(given),
        frozenset(get_origin(one) or one for one in options if one not in classes),
        parts,
        NoneType in options,
        low,
        high,
        low_open,
        high_open,
    )


def named(section: type[Section], name: str) -> tuple[str, ...]:
    """The names that a field may hold; none where the section has no such field."""
    if name not in section.model_fields:
        return ()
    found = holds(section, name)
    return tuple(dict.fromkeys(x for x in (*found.words, *found.examples) if isinstance(x, str)))


def sections_below(section: type[Section]) -> Iterator[type[Section]]:
    """A section and all sections that may stand inside it."""
    yield section
    for name in section.model_fields:
        inside = holds(section, name)
        for one in dict.fromkeys([*inside.kinds.values(), *inside.tables]):
            yield from sections_below(one)


def _flat(annotation: Any, marks: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The alternatives of a type, each with the conditions on it."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        yield from _flat(inner, (*marks, *(deep for mark in more for deep in _unpacked(mark))))
    elif get_origin(annotation) in (Union, UnionType):
        for one in get_args(annotation):
            yield from _flat(one, marks)
    else:
        yield annotation, marks


def _unpacked(mark: Any) -> Iterator[Any]:
    """A condition, and those that pydantic keeps inside it."""
    yield mark
    if isinstance(mark, FieldInfo):
        yield from mark.metadata


def _kinds(section: type[Section]) -> tuple[str, ...]:
    field = section.model_fields.get("kind")
    return get_args(field.annotation) if field is not None else ()


def _bound(marks: list[Any], closed: str, opened: str, otherwise: float) -> tuple[float, bool]:
    """The bound on a number, and whether it is itself left out."""
    for name in (closed, opened):
        for mark in marks:
            if (value := getattr(mark, name, None)) is not None:
                return float(value), name == opened
    return otherwise, False
