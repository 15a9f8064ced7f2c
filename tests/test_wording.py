"""What the library says is for Python as well as for the command line: no sentence of it names an option of the latter."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dimfree"
OPTION = re.compile(r"(?<![\w-])--[a-z]")
FILES = [
    path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in ("cli", "__main__.py")
]


def sentences(path):
    """Every text of a file but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def test_no_sentence_of_the_library_names_an_option():
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text.strip()[:80]}"
        for path in FILES
        for line, text in sentences(path)
        if OPTION.search(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["raise --budget.", "--set got x", "write it with (--store)"])
def test_an_option_would_be_seen(text):
    assert OPTION.search(text)
