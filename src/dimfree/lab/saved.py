"""A problem as one HTML file that needs no server: its theories and real SGD run in the reader's browser."""

from pathlib import Path
from typing import Any

from dimfree.errors import RefusalError
from dimfree.files import replacing
from dimfree.lab.claims import verdict_words
from dimfree.lab.controls import controls_of
from dimfree.lab.export.script import Script, script_of, unwritten
from dimfree.lab.page import one_file
from dimfree.lab.phase import phase_of
from dimfree.lab.shelf import hello_of
from dimfree.lab.tabulated import Axis, axis_of, table_of
from dimfree.problem import Problem
from dimfree.registry import candidates, setting_of
from dimfree.setting import Recipe

Plain = dict[str, Any]

_OF_THE_RUN = ("run.until", "run.replicas", "run.seed")  # what the page itself follows


def page_of(problem: Problem, asked: str | None = None) -> str:
    """Write a problem as a page.

    **Arguments:**

    - `problem`: The problem. Sliders change its numbers; its structure is that of the page.
    - `asked`: A number of the problem, `KEY` or `KEY=LOW:HIGH`. Theories that cannot be written as JavaScript come as a table of
        their curves over it, which takes a few minutes at most.

    **Returns:**

    The text of an HTML file that makes no request. Descriptions that cannot be written as JavaScript say so in the page; where
    none can, or the start cannot be drawn there, and no table is asked for, a `RefusalError` says why.
    """
    setting = setting_of(problem)
    made = setting.recipe_of(problem)
    if isinstance(made, str) and asked is None:
        why = made.removesuffix(".")
        raise RefusalError(
            f"the page cannot be saved: {why}, or ask for a table of its theories over one number (docs/lab.md)."
        )
    recipe, script = (None, unwritten(problem, made)) if isinstance(made, str) else (made, script_of(problem))
    axis = None if asked is None else axis_of(problem, asked)
    others = [one.title for one in candidates(problem) if not one.real and one.title not in script.descriptions]
    table = None if axis is None else table_of(problem, axis, others)
    if not script.descriptions and script.chain is None and not (table and table["theories"]):
        name, why = next(iter(script.refused.items()), ("the setting", "it has no equations."))
        raise RefusalError(f"the page cannot be saved, because nothing can be written into it; {name}: {why}")
    known = {
        "gallery": [],  # other problems have another structure
        "presets": [],
        "settings": [],
        "controls": saved_controls(problem, script, recipe, axis),
        "grid": table,
        "remark": setting.remark(problem) or "",
        "recipe": recipe,
        "words": verdict_words(),
        "phase": phase_of(problem),
    }
    return one_file(script.text, hello_of(problem, served=False) | known)


def save_page(problem: Problem, path: Path, asked: str | None = None) -> None:
    """Write a problem as a page to a file, which exists as a whole or not at all; `asked` is what `page_of` makes a table of."""
    text = page_of(problem, asked)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def saved_controls(problem: Problem, script: Script, recipe: Recipe | None, axis: Axis | None = None) -> list[Plain]:
    """The controls of a problem, with the ranges in which the script or a table holds, and why the others do not move."""
    by_start = {*recipe["live"]} | {*_OF_THE_RUN} if recipe else set()  # type: ignore[misc]  # a list of paths
    if getattr(problem.run, "times", None) is not None:
        by_start -= {"run.until"}
    return [_saved(control, script, by_start, axis) for control in controls_of(problem)]


def _saved(control: Plain, script: Script, by_start: set[str], axis: Axis | None) -> Plain:
    path = control["path"]
    if path in script.live and control["type"] in ("number", "integer"):
        low, high = script.laws.bounds(path, control["min"], control["max"])
        return control | {"live": True, "min": low, "max": high}
    if axis is not None and path == axis.path:
        return control | {"live": True, "min": axis.low, "max": axis.high, "scale": "log" if axis.low > 0 else "linear"}
    if path in by_start and path not in script.fixed:
        return control | {"live": True}
    why = script.fixed.get(path, "it changes the structure of the equations")
    return control | {"live": False, "reason": f"Here it cannot change: {why}. Use dimfree lab."}
