"""Changes of single keys that come from controls: as `--set` makes them, with what another kind needs filled in."""

import warnings
from collections.abc import Mapping
from threading import Lock
from typing import Any

from dimfree.errors import DimfreeWarning
from dimfree.lab.fields import holds
from dimfree.problem import Problem
from dimfree.problem.section import Section

_FILTERS = Lock()  # of warnings: those of the process, which threads share


def changed(problem: Problem, changes: Mapping[str, Any]) -> Problem:
    """The problem with these keys changed; a kind of None removes its section."""
    complete = dict[str, Any]()
    for path, value in changes.items():
        complete |= _filled_in(problem, path, value)
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore", DimfreeWarning)  # what another setting leaves behind is seen on the page
        return problem.replace(**complete)


def _filled_in(problem: Problem, path: str, value: Any) -> dict[str, Any]:
    """The change, and examples of all that a section of another kind needs."""
    parent, _, last = path.rpartition(".")
    if last != "kind" or not parent:
        return {path: value}
    if value is None:
        return {parent: None}
    kind = kinds_at(problem, parent).get(value) if isinstance(value, str) else None
    return {path: value} | {f"{parent}.{key}": example for key, example in (needed(kind) or {}).items()}


def kinds_at(problem: Problem, path: str) -> dict[str, type[Section]]:
    """The kinds that the section at a dotted path may have."""
    *above, name = path.split(".")
    section: Any = problem
    for key in above:
        section = getattr(section, key, None)
    return (
        holds(type(section), name).kinds if isinstance(section, Section) and name in type(section).model_fields else {}
    )


def needed(section: type[Section] | None) -> dict[str, Any] | None:
    """Examples of the keys that a section needs; None if the model has no example of one of them."""
    if section is None:
        return {}
    required = [name for name, field in section.model_fields.items() if field.is_required() and name != "kind"]
    examples = {name: holds(section, name).examples for name in required}
    return {name: found[0] for name, found in examples.items()} if all(examples.values()) else None
