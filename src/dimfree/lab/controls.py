"""The controls of a problem, made from its models: one for every key that a page can change."""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from math import isinf
from pathlib import Path
from typing import Any

from dimfree.errors import DimfreeError
from dimfree.lab.changes import changed, needed
from dimfree.lab.fields import Holds, holds
from dimfree.lab.help import help_of, title_of
from dimfree.lab.ranges import is_main, range_of, twice
from dimfree.lab.shapes import shape_of, shapes
from dimfree.problem import Problem
from dimfree.problem.activation import Hermite, written_function
from dimfree.problem.section import Section
from dimfree.registry import setting_of, settings

Control = dict[str, Any]
_NONE = "none"
_NUMBERS_WHOLE = ("dimension", "run.seed")  # integers that are numbers of the model, not its structure


def controls_of(problem: Problem) -> list[Control]:
    """The controls of a problem, in the order of its keys; what they look like: docs/lab.md."""
    return list(_of_section(problem, problem, ""))


def _of_section(problem: Problem, section: Section, prefix: str) -> Iterator[Control]:
    for name in sorted(type(section).model_fields, key=lambda name: name == "run"):  # which stands last in files, too
        if name != "kind":
            yield from _of_field(problem, section, name, f"{prefix}{name}")


def _of_field(problem: Problem, section: Section, name: str, path: str) -> Iterator[Control]:
    held, value = holds(type(section), name), getattr(section, name)
    about = _about(problem, section, path, held)
    if held.kinds and not held.examples:
        kinds = _trainings(problem) if path == "training" else held.kinds
        yield from _kind(_about(problem, section, path, held, ".kind"), kinds, held.optional, value)
    elif held.examples or (held.words and not held.numeric) or isinstance(value, str):
        yield from _choice(about, held, value)
    if isinstance(value, Section):
        yield from _of_section(problem, value, f"{path}.")
    elif not isinstance(value, str | None) and not held.examples:
        yield from _value(problem, about, held, as_json(value))
    elif value is None and held.numeric and not held.kinds:
        yield about | {"type": "choice", "value": None, "choices": [_named(None), {"value": 1.0, "label": "a number"}]}
    elif isinstance(value, Path):
        yield about | {"type": "text", "value": str(value), "readonly": True}


def _about(problem: Problem, section: Section, path: str, held: Holds, of: str = "") -> Control:
    """What all controls say of themselves; `of` is a key inside the section at this path."""
    group, _, inside = f"{path}{of}".partition(".")
    return {
        "path": f"{path}{of}",
        "label": (inside or group).replace(".", " ").replace("_", " "),
        "help": help_of(setting_of(problem), type(section), path, of),
        "group": group if inside else "problem",
        "main": is_main(f"{path}{of}"),
        "live": False,
    } | ({"optional": True} if held.optional else {})


def _trainings(problem: Problem) -> dict[str, type[Section]]:
    """How one can train on such data: in the setting of the problem, and in others that know the kind of data."""
    data: Any = getattr(problem, "data")  # noqa: B009  # every setting has one
    knowing = [one.problem for one in settings() if data.kind in one.kinds("data")]
    return {kind: one for each in knowing for one in each.sections("training") if (kind := one.own_kind()) is not None}


def _kind(about: Control, kinds: Mapping[str, type[Section]], optional: bool, value: object) -> Iterator[Control]:
    """Which section stands here; kinds that need a file or a matrix are written in a problem file only."""
    known = {kind: one for kind, one in kinds.items() if needed(one) is not None}
    current = getattr(value, "kind", None)
    if len(known) + optional < 2:
        return
    choices = [{"value": kind, "label": kind, "help": title_of(one)} for kind, one in known.items()]
    extra = [_named(None)] if optional else []
    given = [] if current is None or current in known else [_named(current)]
    yield about | {"type": "choice", "value": current, "choices": [*extra, *choices, *given]}


def _choice(about: Control, held: Holds, value: object) -> Iterator[Control]:
    """A word, or one of the values that the model names."""
    curves = shapes(tuple(x for x in held.examples if isinstance(x, str))) if Hermite in held.tables else {}
    values = [*([None] if held.optional else []), *(held.examples or held.words), *_number_too(about, held)]
    current = as_json(value)
    choices = [
        _named(one) | ({"curve": curves[one]} if isinstance(one, str) and one in curves else {})
        for one in map(as_json, values)
    ]
    if current not in [one["value"] for one in choices]:
        choices.append(_named(current) | ({"curve": shape_of(value)} if Hermite in held.tables else {}))
    yield about | {"type": "choice", "value": current, "choices": choices}


def _number_too(about: Control, held: Holds) -> list[float]:
    """Where a number may stand in place of a word, one of the choices is the number 1."""
    return [1.0] if held.numeric and not held.examples else []


def _value(problem: Problem, about: Control, held: Holds, value: Any) -> Iterator[Control]:
    """What is neither a word nor a section."""
    match value:
        case bool():
            yield about | {"type": "flag", "value": value}
        case int() | float():
            slider = _slider(problem, about["path"], held, value)
            if slider["min"] < slider["max"]:  # else the other keys allow no other value
                yield about | slider
        case [*items] if held.parts:
            yield about | {"type": "choice", "value": items, "choices": [_named(one) for one in _subsets(held.parts)]}
        case [*items] if all(isinstance(one, int | float) for one in items):
            yield about | {"type": "numbers", "value": items, "live": True}
        case dict() if all(isinstance(one, int | float) for one in value.values()):
            for key, number in value.items():
                yield _entry(about, key, number)
        case _:
            yield about | {"type": "text", "value": str(value), "readonly": True}


def _slider(problem: Problem, path: str, held: Holds, value: float) -> Control:
    whole = float not in held.types
    found = range_of(path.rpartition(".")[2], value, held, whole, lambda x: _is_valid(problem, path, x, whole))
    number: type[int] | type[float] = int if whole else float
    return {
        "type": "integer" if whole else "number",
        "scale": "log" if found.log else "linear",
        "min": number(found.low),
        "max": number(found.high),
        "step": found.step,
        "value": value,
        "live": not whole or path in _NUMBERS_WHOLE,
    }


def _entry(about: Control, key: str, number: float) -> Control:
    """One number of a table, such as a coefficient."""
    size = twice(number)
    slider = {"type": "number", "scale": "linear", "min": -size, "max": size, "step": 0.01, "value": number}
    return (
        about
        | slider
        | {"path": f"{about['path']}.{key}", "label": f"{about['label']} {key or '(none)'}", "live": True}
    )


def _is_valid(problem: Problem, path: str, value: float, whole: bool) -> bool:
    if isinf(value):
        return False
    try:
        changed(problem, {path: int(value) if whole else value})
    except DimfreeError:
        return False
    return True


def _subsets(parts: tuple[Any, ...]) -> list[list[Any]]:
    """Every choice of some of the parts, in their order."""
    found = chain.from_iterable(combinations(parts, count) for count in range(1, len(parts) + 1))
    return [list(one) for one in found]


def _named(value: Any) -> Control:
    """A value with the words for it."""
    match value:
        case None:
            label = _NONE
        case dict():
            label = ", ".join(f"{key} = {one}" for key, one in value.items())
        case list():
            label = " + ".join(map(str, value))
        case float():
            label = f"a number, such as {value:g}"
        case _:
            label = str(value)
    return {"value": value, "label": label}


def as_json(value: Any) -> Any:
    """A value of a problem as it stands in a JSON text of it."""
    match value:
        case Section():
            return value.model_dump(mode="json")
        case Path():
            return str(value)
        case tuple() if value and all(
            isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in value
        ):
            return dict(value)
        case tuple() | list():
            return [as_json(one) for one in value]
        case _:
            return written_function(value)
