"""The folder list is the architecture: imports go in one direction only, libraries stay in their rooms, walls hold."""

import ast
from pathlib import Path

import pytest

import dimfree as df

SOURCE = Path(__file__).parent.parent / "src" / "dimfree"

# Rooms (and root files) in the order of the arrow; a room may import from its own level or earlier ones.
LEVELS = (
    ("_version", "errors"),
    ("registry", "files", "machine", "progress", "tables"),
    ("kept", "spread"),
    ("compiled",),
    ("problem",),
    ("setting",),
    ("description", "drawing"),
    ("functions",),
    ("gaussian",),
    ("onepass", "dataset", "lazy"),
    ("results",),
    ("comparison",),
    ("questions",),
    ("gallery",),
    ("reference",),
    ("sweeps",),
    ("cli", "__init__", "__main__"),
)
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
SETTINGS = {"onepass", "dataset", "lazy"}

NUMERICAL = {
    "compiled",
    "kept",
    "description",
    "functions",
    "gaussian",
    *SETTINGS,
    "results",
    "comparison",
    "questions",
    "gallery",
    "reference",
    "sweeps",
}
ALLOWED_ROOMS = {
    "jax": {*NUMERICAL, "machine"},
    "xarray": {"results", "comparison", "questions", "gallery", "sweeps"},
    "matplotlib": {"drawing", *SETTINGS, "comparison", "questions", "gallery", "sweeps"},
    "typer": {"cli"},
    "zarr": {"sweeps"},
    "distributed": {"sweeps"},
    "diffrax": SETTINGS | {"questions"},
    "pydantic": {"problem", *SETTINGS},
}


def imports(path: Path, typing_too: bool = False):
    """Modules imported by a file, outside of `if TYPE_CHECKING` unless these are asked for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only and not typing_too:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrow(path):
    room = room_of(path)
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "dimfree" and len(parts) > 1:
            assert LEVEL[parts[1]] <= LEVEL[room], f"{room} imports {module}, which comes later"
            same_level_other_room = LEVEL[parts[1]] == LEVEL[room] and parts[1] != room
            assert not same_level_other_room or room in ("cli", "__main__"), f"{room} imports {module}"
        elif parts[0] in ALLOWED_ROOMS:
            assert room in ALLOWED_ROOMS[parts[0]], f"{room} may not import {parts[0]}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_are_short_and_say_why_they_exist(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a file says in its first line why it exists"
    assert len(text.splitlines()) <= 350, "which second reason to exist crept in?"
    assert path.stem not in ("utils", "util", "helpers", "misc", "common", "core")


def test_every_room_has_a_place_in_the_arrow():
    assert {room_of(path) for path in FILES} == set(LEVEL)


# Who runs and compares knows no setting and no description: capabilities are types or flags.
WALLED = ("comparison", "results", "problem", "sweeps", "cli")


def words() -> set[str]:
    """Names of settings, of their descriptions and of their kinds."""
    found = {name for one in df.settings() for name in (one.name, *one.descriptions)}
    return found | {kind for one in df.settings() for section in ("data", "training") for kind in one.kinds(section)}


@pytest.mark.parametrize(
    "path", [path for path in FILES if room_of(path) in WALLED], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_nobody_knows_his_neighbours_name(path):
    for module in imports(path, typing_too=True):
        assert not SETTINGS & {*module.split(".")[1:2]}, f"{path.name} imports {module}"
    known = words()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in known, f"{path.name}:{node.lineno} knows {node.value!r} by name"


@pytest.mark.parametrize("name", ["description.py", "setting.py"])
def test_the_seam_is_typed_throughout(name):
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    assert "Any" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
