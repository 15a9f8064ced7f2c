"""Problems as TOML: reading, writing, and changing single keys from the command line."""

import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from dimfree.errors import LeftBehindWarning, ProblemError, in_one_line
from dimfree.files import read_text
from dimfree.problem.code import with_code
from dimfree.problem.problem import Problem, as_tables, forget, written
from dimfree.problem.section import Section


def load(path: str | Path, *, allow_code: bool = False) -> Problem:
    """Read a problem from a TOML file.

    Arguments:
        path: the file
        allow_code: whether to import functions that the file names as module:function, which runs their code; modules
            beside the file and in the current folder are found
    """
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise ProblemError(
            f"there is no problem file {str(path)!r}; `dimfree new {path}` writes one to start from."
        ) from None
    except (OSError, UnicodeDecodeError) as failure:
        raise ProblemError(f"the problem file {str(path)!r} cannot be read: {in_one_line(failure)}.") from None
    return with_code(read(text, str(path)), allow_code, [Path(path).resolve().parent])


def loads(text: str, name: str = "the TOML text", *, allow_code: bool = False) -> Problem:
    """Read a problem from TOML text.

    Arguments:
        text: the text
        name: what errors call it
        allow_code: whether to import functions that the text names as module:function, which runs their code
    """
    return with_code(read(text, name), allow_code)


def read(text: str, name: str) -> Problem:
    """Read a problem from TOML text; functions that it names stay names."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ProblemError(f"{name} is nested too deeply to be a problem.") from None
    except ValueError as failure:  # invalid TOML, and integers with too many digits
        raise ProblemError(f"{name} is not valid TOML: {in_one_line(failure)}.") from None
    return Problem(**values)


def dumps(problem: Problem) -> str:
    """Write a problem as TOML, with every key.

    Arguments:
        problem: the problem; functions must have a name by which they can be found again
    """
    values = _without_none(problem.model_dump(mode="json"))
    run = values.pop("run")
    return tomli_w.dumps({**values, "run": run})


def with_overrides(problem: Problem, changes: Mapping[str, Any]) -> Any:
    """A copy in which dotted keys have new values; a section may be replaced by setting its `kind`.

    All else stays, except that values which the kind of data fills in are filled in anew. A kind of another setting takes over
    what both settings know, the dimension and the run; a warning names what is left behind.
    """
    cls, kinds, given = type(problem), _kinds(changes), written(problem)
    chosen = _class_near(problem, kinds) if kinds else cls
    if chosen is not cls:
        shared = _taken_over(problem, given, chosen, kinds)
        made = chosen(**_changed(shared, changes))
        if said := _left_behind(problem, made, given, shared, changes, kinds):
            warnings.warn(said, LeftBehindWarning, stacklevel=3)
        return made
    everything = problem.model_dump()
    changed = _changed(given, changes)
    refilled = cls.left_out(_deciding(changed)) != cls.left_out(_deciding(given))
    given, complete = changed, changed if refilled else _changed(everything, changes)
    made = cls(**complete)
    forget(made, as_tables(given), as_tables(complete))
    return made


def _taken_over(
    problem: Problem, given: Mapping[str, Any], chosen: type[Problem], kinds: Mapping[str, Any]
) -> dict[str, Any]:
    """What the problem of another setting keeps: dimension and run, and with the same kind of data all keys that it knows."""
    kept = {name: given[name] for name in Problem.model_fields if name in given}
    if "data" in kinds or _known(problem, chosen, "data") is None:
        return kept
    whole = {**given, "data": {"kind": problem.data.kind, **given.get("data", {})}}  # type: ignore[attr-defined]
    for name, table in whole.items():
        section = _known(problem, chosen, name)
        if name not in kept and section is not None:
            kept[name] = {key: value for key, value in table.items() if key in section.model_fields}
    return kept


def _known(problem: Problem, chosen: type[Problem], name: str) -> type[Section] | None:
    """The section of another problem that has the kind of this one's."""
    kind = getattr(getattr(problem, name, None), "kind", None)
    choices = chosen.sections(name) if name in chosen.model_fields else ()
    return next((one for one in choices if one.own_kind() == kind), None)


def _left_behind(
    before: Problem,
    after: Problem,
    given: Mapping[str, Any],
    shared: Mapping[str, Any],
    changes: Mapping[str, Any],
    kinds: Mapping[str, Any],
) -> str | None:
    """What the problem of another setting has no place for, in one sentence; None if data.kind was set and nothing is lost."""
    sections = [name for name in type(before).model_fields if name not in Problem.model_fields]
    kept = {key for name, table in shared.items() for key in _keys(name, table)}
    left = [key for name in sections for key in _keys(name, given.get(name)) if key not in changes and key not in kept]
    if not left and ("data" in kinds or "data" in shared):
        return None
    change = " and ".join(f"{name}.kind = {table['kind']!r}" for name, table in kinds.items())
    was, now = (getattr(one, "data", None) for one in (before, after))
    absent = [f"[{name}]" for name in sections if name not in type(after).model_fields]
    without = f", without {' and '.join(absent)}" if absent else ""
    more = f" and {len(left) - _MOST_KEYS} more keys" if len(left) > _MOST_KEYS else ""
    gone = f"; left behind: {', '.join(left[:_MOST_KEYS])}{more}" if left else ""
    advice = "" if "data" in kinds or "data" in shared else "; set data.kind, too, if other data are meant"
    if "data" in shared:
        return f"{change} makes this a problem of another setting{without}{gone}."
    return (
        f"{change} makes this a problem of another setting, with data.kind = {getattr(now, 'kind', None)!r} instead of "
        f"{getattr(was, 'kind', None)!r}{without}{gone}{advice}."
    )


def _keys(name: str, value: Any) -> list[str]:
    """The dotted keys of a section that were given, in order and without kinds."""
    if not isinstance(value, dict):
        return [] if value is None or name.endswith(".kind") else [name]
    return [key for inner in sorted(value) for key in _keys(f"{name}.{inner}", value[inner])]


def _changed(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables in which dotted keys have new values, in whatever order: a kind comes before the keys that it has."""
    changed = _copied(values)
    for key, value in sorted(changes.items(), key=lambda change: change[0].count(".") - change[0].endswith(".kind")):
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
        raise ProblemError(
            f"a change of the problem reads {text!r}; write it as key=value, for example training.learning_rate=0.5."
        )
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
    """The sections that decide which values are filled in for keys that are left out."""
    return {name: table for name, table in as_tables(values).items() if name in _DECIDE}


_MOST_KEYS = 8  # a warning names at most this many keys
_DECIDE = ("data", "training")  # the sections whose kinds decide the setting


def _class_of(values: Mapping[str, Any]) -> type[Problem]:
    from dimfree.registry import problem_class

    return problem_class(values)


def _class_near(problem: Problem, kinds: Mapping[str, Any]) -> type[Problem]:
    from dimfree.registry import class_near

    return class_near(problem, kinds)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value
