"""Tables and sentences as plain text: at most `WIDTH` columns, and never any escape codes."""

import io
from collections.abc import Iterable
from textwrap import wrap

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH = 80


def plain_text(parts: Iterable[Table | str]) -> str:
    """The parts as text: tables are made to fit the width, sentences are left on one line each."""
    text = io.StringIO()
    console = Console(
        file=text,
        width=WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for part in parts:
        console.print(slim(part) if isinstance(part, Table) else part, soft_wrap=isinstance(part, str))
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    return "\n".join(lines).strip("\n")


def slim(table: Table) -> Table:
    """A table without lines between columns, so that as many columns as possible fit; cells break between words only."""
    table.box, table.pad_edge, table.padding, table.title_justify = box.SIMPLE, False, (0, 1, 0, 0), "left"
    for column in table.columns:
        words = [word for cell in (column.header, *column.cells) for word in str(cell).split()]
        column.min_width = max(map(len, words), default=1)
    return table


def wrapped(text: str, hanging: int = 2) -> str:
    """Break lines that are too long between words; all but the first part are indented by `hanging` columns."""
    return "\n".join(line if len(line) <= WIDTH else "\n".join(_broken(line, hanging)) for line in text.split("\n"))


def _broken(line: str, hanging: int) -> list[str]:
    """The parts of a line that is broken at spaces, except those around an equals sign and before a per cent sign."""
    kept = line.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")
    found = wrap(kept, WIDTH, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False)
    return [one.replace("\u00a0", " ") for one in found]
