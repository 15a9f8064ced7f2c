"""Sentences of the library are for Python as well as for the command line, and in plain words."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dimfree"
OPTION = re.compile(r"(?<![\w-])--[a-z]")
RIDDLE = re.compile(
    r"\b([Ww]hoever|[Ss]omebody|hangs? on|(?<![\"'`.])told(?! apart)|(?<!there )(is|are) none\b(?! of)|of one's own)\b"
)
ROOT = SOURCE.parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "VISION.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


def test_the_source_is_written_in_plain_words():
    """These words hide who does what, or mean something else than they say: name the subject, use the common word."""
    found = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js"), *SOURCE.rglob("*.toml"), *PAGES]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if RIDDLE.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text", ["# Whoever needs it", "is told what is done", "what else a label hangs on", "told = 3", "and it is none;"]
)
def test_a_riddle_would_be_seen(text):
    assert RIDDLE.search(text)


@pytest.mark.parametrize(
    "text", ["they can be told apart", "if x is None", "nan where there is none", "is none of these"]
)
def test_plain_words_pass(text):
    assert not RIDDLE.search(text)
