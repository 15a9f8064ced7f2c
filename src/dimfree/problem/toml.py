"""Problems as TOML: reading, writing, and changing single keys from the command line."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from dimfree.errors import ProblemError
from dimfree.files import read_text
from dimfree.problem.code import with_code
from dimfree.problem.problem import Problem, as_tables, forget, written


def load(path: str | Path, *, allow_code: bool = False) -> Problem:
    """The problem written in a TOML file; functions that it names as module:function are imported only if that is allowed.

    Modules beside the file, and in the current folder, are found.
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ProblemError(
            f"there is no problem file {str(path)!r}; `dimfree new {path}` writes one to start from."
        ) from None
    except (OSError, UnicodeDecodeError) as failure:
        raise ProblemError(f"the problem file {str(path)!r} cannot be read: {failure}.") from None
    return with_code(read(text, str(path)), allow_code, [Path(path).resolve().parent])


def loads(text: str, name: str = "the TOML text", *, allow_code: bool = False) -> Problem:
    """The problem written in TOML text."""
    return with_code(read(text, name), allow_code)


def read(text: str, name: str) -> Problem:
    """The same with the functions that it names left as they are written."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ProblemError(f"{name} is nested too deeply to be a problem.") from None
    except ValueError as failure:  # TOML that is none, and numbers that are none
        raise ProblemError(f"{name} is not valid TOML: {failure}.") from None
    return Problem(**values)


def dumps(problem: Problem) -> str:
    """The problem as TOML, every key spelled out."""
    values = _without_none(problem.model_dump(mode="json"))
    run = values.pop("run")
    return tomli_w.dumps({**values, "run": run})


def with_overrides(problem: Problem, changes: Mapping[str, Any]) -> Any:
    """A copy in which dotted keys have new values; a section may be replaced by setting its `kind`.

    All else stays. Only data that fill in other values for what is left out do so anew; and a kind of another setting takes
    along what both settings know, the dimension and the run.
    """
    cls, kinds, given = type(problem), _kinds(changes), written(problem)
    chosen = _class_of(kinds) if kinds else cls
    if chosen is not cls:
        shared = {name: given[name] for name in Problem.model_fields if name in given}
        return chosen(**_changed(shared, changes))
    everything = problem.model_dump()
    changed = _changed(given, changes)
    refilled = cls.left_out(_deciding(changed)) != cls.left_out(_deciding(given))
    given, complete = changed, changed if refilled else _changed(everything, changes)
    made = cls(**complete)
    forget(made, as_tables(given), as_tables(complete))
    return made


def _changed(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables in which dotted keys have new values."""
    changed = _copied(values)
    for key, value in changes.items():
        *sections, last = key.split(".")
        table = changed
        for section in sections:
            if not isinstance(table.get(section), dict):
                table[section] = {}
            table = table[section]
        if last == "kind" and table.get("kind") != value:
            table.clear()  # another kind has other keys
        table[last] = value
    return changed


def _copied(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in values.items()}


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` from the command line, the value in TOML syntax or a bare word."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ProblemError(f"--set got {text!r}; write it as key=value, for example training.learning_rate=0.5.")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key.strip(), value.strip()


def _kinds(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The kinds of data and training among values: tables, sections, or dotted keys."""
    tables = {name: as_tables(values).get(name) for name in _DECIDE}
    nested = {name: table.get("kind") for name, table in tables.items() if isinstance(table, dict)}
    dotted = {name: values[f"{name}.kind"] for name in _DECIDE if f"{name}.kind" in values}
    return {name: {"kind": kind} for name, kind in (nested | dotted).items() if kind is not None}


def _deciding(values: Mapping[str, Any]) -> dict[str, Any]:
    """The sections on which it depends what stands for keys that are left out."""
    return {name: table for name, table in as_tables(values).items() if name in _DECIDE}


_DECIDE = ("data", "training")  # the sections whose kinds decide of the setting


def _class_of(values: Mapping[str, Any]) -> type[Problem]:
    from dimfree.registry import problem_class

    return problem_class(values)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value
