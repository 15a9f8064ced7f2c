"""The folder list is the architecture: imports go in one direction only, and libraries stay in their rooms."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "dimfree"

# Rooms (and root files) in the order of the arrow; a room may import from its own level or earlier ones.
LEVELS = (
    ("_version", "errors"),
    ("problem",),
    ("functions",),
    ("gaussian",),
    ("description",),
    ("simulate", "theory"),
    ("registry",),
    ("results",),
    ("comparison",),
    ("gallery",),
    ("reference",),
    ("cli", "__init__", "__main__"),
)
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}

ALLOWED_ROOMS = {
    "jax": {
        "functions",
        "gaussian",
        "description",
        "simulate",
        "theory",
        "results",
        "comparison",
        "gallery",
        "reference",
    },
    "xarray": {"results", "comparison", "gallery"},
    "matplotlib": {"comparison", "gallery"},
    "typer": {"cli"},
    "diffrax": {"theory"},
    "pydantic": {"problem"},
}


def imports(path: Path):
    """Modules imported by a file, outside of `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrow(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "dimfree" and len(parts) > 1:
            assert LEVEL[parts[1]] <= LEVEL[room], f"{room} imports {module}, which comes later"
            same_level_other_room = LEVEL[parts[1]] == LEVEL[room] and parts[1] != room
            assert not same_level_other_room or room in ("cli", "__main__", "problem"), f"{room} imports {module}"
        elif parts[0] in ALLOWED_ROOMS:
            assert room in ALLOWED_ROOMS[parts[0]], f"{room} may not import {parts[0]}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_short_and_say_why_they_exist(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a file says in its first line why it exists"
    assert len(text.splitlines()) <= 350, "which second reason to exist crept in?"
    assert path.stem not in ("utils", "util", "helpers", "misc", "common")


def test_every_room_has_a_place_in_the_arrow():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES}
    assert rooms == set(LEVEL)
