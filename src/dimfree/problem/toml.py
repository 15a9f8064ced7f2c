"""Problems as TOML: reading, writing, and changing single keys from the command line."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from dimfree.errors import ProblemError
from dimfree.dataset.problem import KINDS, DataSetProblem
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.problem.problem import Problem
from dimfree.onepass.problem import Problem

AnyOfThem = Problem | DataSetProblem | TwoGaussiansProblem


def load(path: str | Path) -> AnyOfThem:
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


def loads(text: str, name: str = "the TOML text") -> AnyOfThem:
    """The problem written in TOML text."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        raise ProblemError(f"{name} is not valid TOML: {failure}.") from None
    return _class_of(values)(**values)


def dumps(problem: Problem) -> str:
    """The problem as TOML, every key spelled out."""
    values = _without_none(problem.model_dump(mode="json"))
    return tomli_w.dumps({**values, "run": values.pop("run")})


def with_overrides(problem: Problem, changes: Mapping[str, Any]) -> Any:
    """A copy in which dotted keys have new values; a section may be replaced by setting its `kind`.

    Data of another family make another problem, of which only the dimension and the changed keys are kept.
    """
    kind = changes.get("data.kind")
    other = kind is not None and _class_of({"data": {"kind": kind}}) is not type(problem)
    values: dict[str, Any] = {"dimension": problem.dimension} if other else problem.model_dump()
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
    return _class_of(values)(**values)


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` from the command line, the value in TOML syntax or a bare word."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ProblemError(f"--set got {text!r}; write it as key=value, for example training.learning_rate=0.5.")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _class_of(values: Mapping[str, Any]) -> type[AnyOfThem]:
    data = values.get("data")
    match data.get("kind") if isinstance(data, Mapping) else None:
        case "two-gaussians":
            return TwoGaussiansProblem
        case kind if kind in KINDS:
            return DataSetProblem
        case _:
            return Problem


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value
