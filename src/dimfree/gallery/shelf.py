"""All figures by name, as a table that costs nothing to read; an entry is imported when it is asked for."""

import importlib
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dimfree.errors import ProblemError, suggest

if TYPE_CHECKING:
    from dimfree.gallery.entry import Entry


class Shelved(NamedTuple):
    """What the table says of one figure."""

    entry: str  # module:class
    title: str
    seconds: float  # CPU seconds at the default sizes, to two digits
    full_seconds: float  # and with `--full`


@cache
def shelved() -> dict[str, Shelved]:
    """Every figure by its name, without importing one."""
    table = tomllib.loads((Path(__file__).parent / "shelf.toml").read_text(encoding="utf-8"))
    return {name: Shelved(**row) for name, row in table.items()}


def names() -> tuple[str, ...]:
    """The figures that can be reproduced."""
    return tuple(shelved())


def entry(name: str) -> "Entry[Any]":
    """The figure of this name."""
    if name not in shelved():
        raise ProblemError(f"there is no figure {name!r}; {suggest(name, names())}")
    module, _, cls = shelved()[name].entry.partition(":")
    found: Entry[Any] = getattr(importlib.import_module(module), cls)()
    return found
