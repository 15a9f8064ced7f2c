"""Problems as TOML: reading, writing, and changing single keys from the command line."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from dimfree.errors import ProblemError
from dimfree.problem.problem import Problem


def load(path: str | Path) -> Problem:
    """The problem written in a TOML file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ProblemError(
            f"there is no problem file {str(path)!r}; `dimfree new {path}` writes one to start from."
        ) from None
    except (OSError, UnicodeDecodeError) as failure:
        raise ProblemError(f"the problem file {str(path)!r} cannot be read: {failure}.") from None
    return loads(text, name=str(path))


def loads(text: str, name: str = "the TOML text") -> Problem:
    """The problem written in TOML text."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise ProblemError(f"{name} is not valid TOML: {failure}.") from None
    return Problem(**values)


def dumps(problem: Problem) -> str:
    """The problem as TOML, every key spelled out."""
    return tomli_w.dumps(_without_none(problem.model_dump(mode="json")))


def with_overrides(problem: Problem, changes: Mapping[str, Any]) -> Problem:
    """A copy in which dotted keys have new values; a section may be replaced by setting its `kind`."""
    values = problem.model_dump()
    for key, value in changes.items():
        *sections, last = key.split(".")
        table = values
        for section in sections:
            if not isinstance(table.get(section), dict):
                table[section] = {}
            table = table[section]
        if last == "kind" and table.get("kind") != value:
            table.clear()  # another kind has other keys
        table[last] = value
    return Problem(**values)


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` from the command line, the value in TOML syntax or a bare word."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ProblemError(f"--set got {text!r}; write it as key=value, for example training.learning_rate=0.5.")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value
