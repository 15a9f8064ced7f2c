"""The table [figure] of a sweep, which says how it is drawn, checked before anything runs."""

from collections.abc import Mapping
from typing import Any

from dimfree.errors import ProblemError, suggest

_KNOWN: dict[str, Any] = {
    "kind": None,
    "observable": "risk",
    "measure": None,
    "x": None,
    "y": None,
    "lines": [],
    "title": "",
}
_WORDS = ("kind", "observable", "x", "y", "title")


def settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a sweep's figure, with defaults for those that are left out."""
    for key, value in given.items():
        if key not in _KNOWN:
            raise ProblemError(f"[figure] has no key {key!r}; {suggest(key, _KNOWN)}")
        if key in _WORDS and not isinstance(value, str) and value != _KNOWN[key]:
            raise ProblemError(f"[figure] got {key} = {value!r}; give a word in quotes.")
    found = _KNOWN | dict(given)
    if not isinstance(found["lines"], list) or not all(map(_is_line, found["lines"])):
        raise ProblemError(
            "[figure] lines cannot be read; give a list of tables as in {label = 'here', x = [1, 2], y = [3, 4]}."
        )
    for words in (found["title"], *(line.get("label", "") for line in found["lines"])):
        _check_formulas(words)
    return found


def _is_line(line: Any) -> bool:
    """Whether a line has as many numbers along one axis as along the other."""
    match line:
        case {"x": [*x], "y": [*y]} if len(x) == len(y) and isinstance(line.get("label", ""), str):
            return all(isinstance(place, int | float) and abs(place) < float("inf") for place in (*x, *y))
        case _:
            return False


def _check_formulas(words: str) -> None:
    """Refuse text between two dollar signs that is no formula."""
    if words.count("$") < 2:
        return
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(words)
    except ValueError:
        raise ProblemError(
            f"[figure] got {words!r}, whose formula between dollars cannot be typeset; correct or remove it."
        ) from None
