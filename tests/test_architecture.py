"""The folder list is the architecture: imports go in one direction only, libraries stay in their rooms, walls hold."""

import ast
import re
from pathlib import Path

import pytest

import dimfree as df

SOURCE = Path(__file__).parent.parent / "src" / "dimfree"

# Rooms (and root files) in the order of the arrow; a room may import from its own level or earlier ones.
LEVELS = (
    ("_version", "errors", "system"),
    ("registry", "files", "plain_data", "temporary_arrays", "machine", "progress"),
    ("arrays", "random_numbers"),
    ("backgrounds",),
    ("tables", "strokes", "pages"),
    ("programs",),
    ("problem",),
    ("setting",),
    ("description", "drawing"),
    ("animation",),
    ("functions",),
    ("states",),
    ("gaussian",),
    ("onepass", "dataset", "lazy"),
    ("results",),
    ("readings",),
    ("comparison",),
    ("questions",),
    ("gallery",),
    ("reference",),
    ("sweeps",),
    ("lab",),
    ("course",),
    ("theories", "experiments", "extend", "former_names"),  # what users import, by name
    ("cli", "__init__", "__main__"),
)
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}
SETTINGS = {"onepass", "dataset", "lazy"}

NUMERICAL = {
    "programs",
    "description",
    "functions",
    "states",
    "gaussian",
    *SETTINGS,
    "results",
    "comparison",
    "questions",
    "gallery",
    "reference",
    "sweeps",
    "lab",
}
ALLOWED_ROOMS = {
    "jax": {*NUMERICAL, "machine", "random_numbers"},
    "xarray": {"results", "readings", "comparison", "questions", "gallery", "sweeps", "lab"},
    "matplotlib": {
        "backgrounds",
        "drawing",
        "animation",
        "strokes",
        "pages",
        *SETTINGS,
        "comparison",
        "questions",
        "gallery",
        "sweeps",
        "lab",
    },
    "typer": {"cli"},
    "zarr": {"sweeps"},
    "distributed": {"sweeps"},
    "diffrax": SETTINGS | {"questions"},
    "pydantic": {"problem", *SETTINGS, "lab"},
    "starlette": {"lab"},
    "uvicorn": {"lab"},
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


def test_imports_follow_the_arrow():
    wrong = []
    for path in FILES:
        room, name = room_of(path), path.relative_to(SOURCE)
        for module in imports(path):
            parts = module.split(".")
            if parts[0] == "dimfree" and len(parts) > 1:
                if LEVEL[parts[1]] > LEVEL[room]:
                    wrong.append(f"{name} imports {module}, which comes later")
                elif LEVEL[parts[1]] == LEVEL[room] and parts[1] != room and room not in ("cli", "__main__"):
                    wrong.append(f"{name} imports {module}, a room beside its own")
            elif room not in ALLOWED_ROOMS.get(parts[0], {room}):
                wrong.append(f"{name} may not import {parts[0]}")
    assert not wrong


def test_the_map_of_rooms_is_true():
    """The table of CONTRIBUTING.md has every folder, in the order of the arrow; those of kinds and questions stand for theirs."""
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [
        name for row in re.findall(r"^\| (`[^|]*/`) \|", text, re.MULTILINE) for name in re.findall(r"`([\w/]+)/`", row)
    ]
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in FILES if path.parent != SOURCE}
    assert {one for one in folders if not one.startswith(("onepass/kinds/", "questions/"))} == set(named)
    levels = [LEVEL[name.split("/")[0]] for name in named]
    assert levels == sorted(levels)


def test_files_are_short_and_say_why_they_exist():
    wrong = []
    for path in FILES:
        text, name = path.read_text(encoding="utf-8"), path.relative_to(SOURCE)
        if not ast.get_docstring(ast.parse(text)):
            wrong.append(f"{name} does not say in its first line why it exists")
        if len(text.splitlines()) > 350:
            wrong.append(f"{name} is long: which second reason to exist crept in?")
        if path.stem in ("utils", "util", "helpers", "misc", "common", "core"):
            wrong.append(f"{name} has a name that says nothing")
    assert not wrong


def test_every_room_has_a_place_in_the_arrow():
    assert {room_of(path) for path in FILES} == set(LEVEL)


# Who runs and compares knows no setting and no description: capabilities are types or flags.
WALLED = ("comparison", "results", "readings", "problem", "sweeps", "lab", "cli")


def words() -> set[str]:
    """Names of settings, of their descriptions and of their kinds."""
    found = {name for one in df.settings() for name in (one.name, *one.descriptions)}
    return found | {kind for one in df.settings() for section in ("data", "training") for kind in one.kinds(section)}


def test_nobody_knows_his_neighbours_name():
    known, wrong = words(), []
    for path in (path for path in FILES if room_of(path) in WALLED):
        name = path.relative_to(SOURCE)
        wrong += [
            f"{name} imports {module}"
            for module in imports(path, typing_too=True)
            if SETTINGS & {*module.split(".")[1:2]}
        ]
        wrong += [
            f"{name}:{node.lineno} knows {node.value!r} by name"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
        ]
    assert not wrong


@pytest.mark.parametrize("name", ["description/contract.py", "description/running.py", "setting.py"])
def test_the_seam_is_typed_throughout(name):
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    assert "Any" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
