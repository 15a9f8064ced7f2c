"""Problems that a page opens from a list: of the gallery, those that fail on purpose, and one for every kind of data."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from dimfree._version import __version__
from dimfree.gallery.shelf import shelved
from dimfree.lab.help import title_of
from dimfree.problem import Problem
from dimfree.problem.section import Section
from dimfree.registry import settings

Plain = dict[str, Any]


def hello_of(problem: Problem, served: bool) -> Plain:
    """What a page is given first: its problem, and all problems that it can open."""
    return {
        "served": served,
        "version": __version__,
        "problem": plain_problem(problem),
        "gallery": _gallery(),
        "presets": _presets(),
        "settings": _kinds(),
    }


def plain_problem(problem: Problem) -> Plain:
    """A problem as plain data, every key spelled out."""
    found: Plain = problem.model_dump(mode="json")
    return found


@cache
def _listed() -> Plain:
    return tomllib.loads((Path(__file__).parent / "shelf.toml").read_text(encoding="utf-8"))


@cache
def _gallery() -> list[Plain]:
    return [
        {
            "name": one["name"],
            "title": shelved()[one["name"]].title,
            "problem": plain_problem(Problem(**one["problem"])),
        }
        for one in _listed()["gallery"]
    ]


@cache
def _presets() -> list[Plain]:
    return [one | {"problem": plain_problem(Problem(**one["problem"]))} for one in _listed()["presets"]]


@cache
def _kinds() -> list[Plain]:
    """The embedded problem of every kind of data, with what it lacks to run on a page."""
    found = []
    for setting in settings():
        for kind in setting.kinds("data"):
            changes = _listed()["kinds"].get(kind, {})
            training = {"kind": setting.kinds("training")[0], **changes.get("training", {})}
            problem = Problem(**{**changes, "data": {"kind": kind}, "training": training})
            section = getattr(problem, "data")  # noqa: B009  # every setting has one
            assert isinstance(section, Section)
            title = f"{kind}: {title_of(type(section))}"
            found.append({"name": kind, "title": title, "group": setting.name, "problem": plain_problem(problem)})
    return found
