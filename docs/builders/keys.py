"""The keys of a problem, read off its sections: type, default and meaning of each."""

import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from builders.markdown import code, table, text
from builders.names import comments_of
from pydantic.fields import FieldInfo

from dimfree.lab.help import help_of, title_of
from dimfree.problem.section import Section
from dimfree.registry import settings
from dimfree.setting import Setting

HEADS = ("key", "meaning", "type", "default")  # what a phone cuts off stands last
_SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
_PLAIN = {
    float: "number",
    int: "integer",
    str: "text",
    bool: "true or false",
    Path: "path of a file",
    type(None): "none",
}


def sections(annotation: Any) -> list[type[Section]]:
    """All sections among the types that a key may have."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [one for part in get_args(annotation) for one in sections(part)]


def in_words(kind: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return f"{in_words(parts[0])}{_bounds(parts[1:])}"
    if origin is Literal:
        return ", ".join(code(repr(one).replace("'", '"')) for one in parts)
    if origin in (typing.Union, types.UnionType):
        said = list(dict.fromkeys(in_words(one) for one in parts if one is not type(None)))
        return " or ".join(said)
    if origin in (tuple, list):
        return f"list of {in_words(parts[0])}"
    if origin is Callable or kind is Callable or "Callable" in repr(kind):
        return "function"
    if isinstance(kind, type) and issubclass(kind, Section):
        return code(kind.__name__)
    return _PLAIN.get(kind, code(getattr(kind, "__name__", str(kind))))


def _bounds(conditions: Any) -> str:
    found = [
        f"{sign} {_number(getattr(one, name))}"
        for one in conditions
        for name, sign in _SIGNS.items()
        if hasattr(one, name)
    ]
    return f" {' and '.join(found)}" if found else ""


def _number(bound: float) -> str:
    """A bound in digits, and the largest one as a power."""
    return "2⁶³" if bound == 2**63 else str(bound)


def default_of(field: FieldInfo) -> str:
    """The default of a key as a file or a call has it; nothing for a key that must be given or is left out."""
    if field.is_required() or field.default is None:
        return ""
    if field.default_factory is not None:
        return "depends on the others" if field.default_factory_takes_validated_data else code(field.default_factory())
    if isinstance(field.default, Section):
        return code(getattr(field.default, "kind", type(field.default).__name__))
    value = field.default
    if isinstance(value, (str, Path)):
        return code(f'"{value}"')
    if isinstance(value, tuple):
        return code(str(list(value)).replace("'", '"'))
    return code({True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value)


def places() -> Iterator[tuple[Setting, str, type[Section]]]:
    """Every setting, key of its problem and section that may stand there."""
    for setting in settings():
        for name, field in setting.problem.model_fields.items():
            for section in sections(field.annotation):
                yield setting, name, section


def rows(section: type[Section]) -> list[tuple[str, str, str, str]]:
    """Key, meaning, type and default of every key of a section."""
    place = next(((setting, name) for setting, name, one in places() if one is section), None)
    return [
        (
            code(name),
            _meaning(place, section, name),
            f"{in_words(field.annotation)}{_bounds(field.metadata)}",
            default_of(field),
        )
        for name, field in section.model_fields.items()
    ]


def _meaning(place: tuple[Setting, str] | None, section: type[Section], name: str) -> str:
    if name == "kind":
        return ""
    setting, path = place or (settings()[0], "")
    said = help_of(setting, section, f"{path}.{name}" if path else name)
    return text(comments_of(section).get(name, "") if said == title_of(section) else said)


def page() -> str:
    """The page of all keys: setting by setting, section by section, kind by kind."""
    parts = [
        "# Keys of a problem",
        "Written from the classes that read problems. [Writing a problem](../../problem.md) explains them with examples; "
        "`dimfree new problem.toml` writes a file with a comment on each.",
    ]
    seen: set[type[Section]] = set()
    for setting in settings():
        parts.append(f"## Training on {setting.name}")
        for name, field in setting.problem.model_fields.items():
            for section in sections(field.annotation):
                again = section in seen
                seen.add(section)
                kind = section.model_fields.get("kind")
                parts.append(f"### `[{name}]`" + (f" kind = {code(kind.default)}" if kind else ""))
                parts.append(text(" ".join((section.__doc__ or "").split())))
                parts.append("As above." if again else table(HEADS, rows(section)))
    return "\n\n".join(parts) + "\n"
