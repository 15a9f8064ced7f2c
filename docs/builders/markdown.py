"""Pieces of Markdown, from text that was not written as Markdown."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([*_<>\[\]$|\\{}])")


def code(value: object) -> str:
    """A value in letters of fixed width."""
    shown = str(value).replace("|", "\\|")
    fence = "``" if "`" in shown else "`"
    return f"{fence}{shown}{fence}"


def text(said: str) -> str:
    """A sentence of a docstring or a comment: what stands between backticks is code, and nothing else has a meaning."""
    parts = re.split(r"(`[^`]*`)", said)
    return "".join(code(part[1:-1]) if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns without an entry are left out."""
    filled = list(rows)
    kept = [n for n in range(len(heads)) if n == 0 or any(row[n] for row in filled)]
    lines = [[heads[n] for n in kept], ["---"] * len(kept), *([row[n] for n in kept] for row in filled)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(kind: str, body: str) -> str:
    """A block of code."""
    return f"```{kind}\n{body.rstrip()}\n```"


def linked(said: str, up: str) -> str:
    """Markdown in which pages that are named by their path, such as docs/theory/dmft.md, are links; `up` leads to docs."""
    return re.sub(r"(?<!\]\()(?<![\w/\[])docs/((?:theory/)?[\w-]+\.md)", rf"[\1]({up}\1)", said)


def docstring(said: str, up: str) -> str:
    """A docstring as Markdown: paragraphs with links to pages, and indented or prompted lines as code."""
    blocks = list[str]()
    for block in re.split(r"\n\s*\n", said.strip()):
        if block.lstrip().startswith(">>>"):
            blocks.append(fenced("pycon", "\n".join(line.strip() for line in block.splitlines())))
        elif block.startswith("    "):
            blocks.append(fenced("python", "\n".join(line[4:] for line in block.splitlines())))
        else:
            blocks.append(linked(text(" ".join(block.split())), up))
    return "\n\n".join(blocks)
