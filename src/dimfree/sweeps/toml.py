"""Sweeps as TOML files: a problem, axes, accounts, how to draw them and where to compute them."""

import tomllib
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from dimfree.errors import ProblemError, in_one_line, suggest
from dimfree.files import read_text
from dimfree.problem import Problem, load
from dimfree.problem.code import with_code
from dimfree.sweeps.figure_table import settings
from dimfree.sweeps.points import Sweep
from dimfree.sweeps.run import define
from dimfree.sweeps.slurm import check_slurm

_KEYS = ("problem", "over", "descriptions", "replicas", "seed", "steps", "figure", "slurm")
_SHIPPED = "dimfree.sweeps.shipped"


class SweepFile(NamedTuple):
    """The content of a sweep file."""

    sweep: Sweep
    slurm: dict[str, Any]


def shipped() -> dict[str, str]:
    """The sweeps that come with dimfree, with the first line of each."""
    found = sorted(entry.name for entry in files(_SHIPPED).iterdir() if entry.name.endswith(".toml"))
    return {name.removesuffix(".toml"): _shipped_text(name).splitlines()[0].lstrip("# ") for name in found}


def read_sweep(file: str | Path, changes: Mapping[str, Any] | None = None, *, allow_code: bool = False) -> SweepFile:
    """Read a sweep from a TOML file, or one that comes with dimfree, and change some keys of its problem."""
    text, folder = _text(file)
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as failure:
        raise ProblemError(f"{str(file)!r} is not valid TOML: {in_one_line(failure)}.") from None
    for key in given:
        if key not in _KEYS:
            raise ProblemError(f"a sweep has no key {key!r}; {suggest(key, _KEYS)}")
    for key in ("over", "figure", "slurm"):
        if not isinstance(given.get(key, {}), dict):
            raise ProblemError(f"{key} = {given[key]!r} is not a table; write it as [{key}] with keys below it.")
    problem = _problem(given.get("problem", {}), folder, allow_code)
    run = {f"run.{key}": given[key] for key in ("replicas", "seed") if key in given}
    admitted = partial(with_code, allowed=allow_code, folders=[folder])
    problem = admitted(problem.replace(**run, **(changes or {})))
    check_slurm(given.get("slurm", {}), allow_code)
    settings(given.get("figure", {}))
    descriptions = given.get("descriptions", [])
    if not isinstance(descriptions, list) or not all(isinstance(one, str) for one in descriptions):
        raise ProblemError(f"descriptions = {descriptions!r} is not a list of names, as in ['one', 'another'].")
    sweep = define(problem, given.get("over", {}), descriptions, given.get("steps"), given.get("figure"), admitted)
    return SweepFile(sweep, given.get("slurm", {}))


def _text(file: str | Path) -> tuple[str, Path]:
    """The text of a sweep file, and the folder in which it names other files."""
    path = Path(file)
    if not path.exists() and str(file) in shipped():
        return _shipped_text(f"{file}.toml"), Path()
    try:
        return read_text(path), path.resolve().parent
    except FileNotFoundError:
        known = f"sweeps that come with dimfree: {', '.join(shipped())}"
        raise ProblemError(f"there is no sweep file {str(file)!r}; {known}.") from None
    except (OSError, UnicodeDecodeError) as failure:
        raise ProblemError(f"the sweep file {str(file)!r} cannot be read: {in_one_line(failure)}.") from None


def _shipped_text(name: str) -> str:
    return files(_SHIPPED).joinpath(name).read_text(encoding="utf-8")


def _problem(given: Any, folder: Path, allow_code: bool) -> Problem:
    """The problem of a sweep: a table, or a file beside that of the sweep."""
    if isinstance(given, str):
        return load(folder / given, allow_code=allow_code)
    if not isinstance(given, dict):
        raise ProblemError(f"problem = {given!r} is neither a table nor the name of a problem file.")
    return Problem(**given)
