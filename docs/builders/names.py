"""The public names of dimfree, in groups, and what can be read off each of them: arguments, fields, methods, what it returns."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import dimfree
from dimfree.description import Description
from dimfree.problem.section import Section

GROUPS = {  # folder: title and what the group is for
    "verbs": ("Verbs", "What one does with a problem: run it, solve it, compare, vary it, keep and open results."),
    "problems": ("Writing problems", "The sections of a problem, and how problems are read and written."),
    "descriptions": ("Descriptions", "Experiments and limit theories, as objects with settings of their own."),
    "questions": ("Questions", "What else one asks about a problem, and numbers that are read off results."),
    "errors": (
        "Errors and warnings",
        "What can go wrong, as classes. [What to do about each](../../generated/errors.md).",
    ),
    "authors": ("For authors", "What a package that adds a description, a setting or a kind of data is written with."),
}
_VERBS = ("dimfree.comparison", "dimfree.sweeps", "dimfree.registry", "dimfree.course")
_QUESTIONS = ("dimfree.questions", "dimfree.readings", "dimfree.onepass.limits")
_PROBLEMS = ("dimfree.problem", "dimfree.onepass.inputs")


class Field(NamedTuple):
    """One argument of a function, or one field of a class."""

    name: str
    kind: str
    default: str
    meaning: str


@cache
def public() -> dict[str, Any]:
    """What every public name stands for, by the name as it is written after `df.`, with its submodule if it has one."""
    found = {}
    for name in dir(dimfree):
        one = None if name.startswith("_") else getattr(dimfree, name)
        if inspect.ismodule(one):
            found |= {f"{name}.{inner}": getattr(one, inner) for inner in one.__all__}
        elif one is not None and name != "opened":  # `open` is what one writes
            found[name] = one
    return found


def bare(name: str) -> str:
    """A name without its submodule."""
    return name.rpartition(".")[2]


def spelled(example: str) -> str:
    """An example with every `df.NAME` as it is written now, with its submodule."""
    places = {bare(name): name for name in public()}
    return re.sub(r"\bdf\.(\w+)", lambda match: f"df.{places.get(match[1], match[1])}", example)


def group_of(name: str) -> str:
    """The folder of a name's page."""
    found = public()[name]
    module = str(getattr(found, "__module__", ""))
    if name.startswith("extend."):
        return "authors"
    if inspect.isclass(found) and issubclass(found, (Exception, Warning)):
        return "errors"
    if inspect.isclass(found) and issubclass(found, Section):
        return "problems"
    if inspect.isclass(found) and issubclass(found, Description):
        return "descriptions"
    if module.startswith(_VERBS):
        return "verbs"
    if module.startswith(_QUESTIONS):
        return "questions"
    return "problems" if module.startswith(_PROBLEMS) else "authors"


def words(kind: Any) -> str:
    """A type as a reader says it, without the modules that its parts are defined in."""
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    text = re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text)
    text = re.sub(r"Description\[Never, Never\]|AnyDescription", "Description", text)
    text = re.sub(r"ndarray\[.*?dtype\[\w+\]\]", "ndarray", text).replace("NoneType", "None")
    return re.sub(r"Optional\[(.*)\]$", r"\1 | None", text).replace("'", "")


def default_of(value: Any) -> str:
    """A default as one writes it."""
    if value is inspect.Parameter.empty or value is dataclasses.MISSING:
        return ""
    if inspect.isfunction(value) or inspect.isclass(value) or repr(value) == "<factory>":
        return "..."
    return re.sub(r"PosixPath\((.*)\)", r"\1", repr(value))


def arguments(function: Callable[..., Any]) -> list[Field]:
    """The arguments of a function, and those that its docstring names beside them, which it passes on."""
    taken = inspect.signature(function).parameters
    meanings = described(inspect.cleandoc(function.__doc__ or ""))[1]
    rows = [
        Field(
            one.name,
            "" if one.annotation is one.empty else words(one.annotation),
            default_of(one.default),
            meanings.get(one.name, ""),
        )
        for one in taken.values()
    ]
    return rows + [Field(name, "", "", meaning) for name, meaning in meanings.items() if name not in taken]


def described(said: str) -> tuple[str, dict[str, str]]:
    """A docstring without its block of arguments, and what the block says of every argument."""
    block = re.search(r"^Arguments:\n((?: {4}.*\n?)+)", said, re.MULTILINE)
    if block is None:
        return said, {}
    lines = (" ".join(one.split()) for one in re.split(r"\n(?= {4}\S)", block[1]))
    halves = (line.partition(": ") for line in lines if line)
    meanings = {name: meaning for names, _, meaning in halves for name in names.split(", ")}
    return said.replace(block[0], ""), meanings


def signature(name: str, found: Any) -> str:
    """The call as one writes it, without types."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return name
    if inspect.isclass(found) and issubclass(found, Exception):
        return f"{name}(message)"
    bare = [one.replace(annotation=one.empty, default=_shown(one.default)) for one in parameters if one.name != "self"]
    return f"{name}{inspect.Signature(bare)}"


class _Shown:
    """A default that prints as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(value: Any) -> Any:
    return value if value is inspect.Parameter.empty else _Shown(default_of(value))


def fields(found: type) -> list[Field]:
    """The fields of a dataclass, an equinox module or a named tuple, with the comments beside them in the source."""
    comments = comments_of(found)
    if hasattr(found, "_field_defaults"):
        hints, defaults = found.__annotations__, found._field_defaults
        rows = [(name, hints[name], defaults.get(name, dataclasses.MISSING)) for name in found._fields]
    elif dataclasses.is_dataclass(found):
        rows = [(one.name, one.type, one.default) for one in dataclasses.fields(found) if one.init]
    else:
        rows = []
    return [Field(name, words(kind), default_of(value), comments.get(name, "")) for name, kind, value in rows]


def comments_of(found: type) -> dict[str, str]:
    """The comments beside the fields of a class in its source."""
    return dict(_comments(found))


def _comments(found: type) -> Iterator[tuple[str, str]]:
    for cls in reversed(found.__mro__):
        if cls.__module__.startswith("dimfree"):
            for line in inspect.getsource(cls).splitlines():
                if match := re.match(r"    (\w+): .*?  # (.*)", line):
                    yield match[1], match[2]


def methods(found: type) -> list[tuple[str, str]]:
    """Public methods and properties that dimfree defines, with the first sentence of what they say."""
    rows = {}
    for cls in reversed(found.__mro__):
        if not cls.__module__.startswith("dimfree"):
            continue
        for name, member in vars(cls).items():
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if name.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
                continue
            call = name if isinstance(member, property) else f"{name}({', '.join(_given(inner))})"
            rows[name] = call, inspect.cleandoc(inner.__doc__).split("\n\n")[0].replace("\n", " ")
    return list(rows.values())


def _given(function: Callable[..., Any]) -> Iterator[str]:
    for one in inspect.signature(function).parameters.values():
        if one.name not in ("self", "cls"):
            yield {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "") + one.name


def returned(function: Callable[..., Any]) -> Any:
    """What a function returns: the class, or the annotation as it is written."""
    function = inspect.unwrap(function)
    try:
        return typing.get_type_hints(function)["return"]
    except (NameError, KeyError, TypeError):
        return inspect.signature(function).return_annotation
