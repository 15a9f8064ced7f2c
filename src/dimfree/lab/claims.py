"""What a page that judges by itself must know: the words of verdicts, and what each theory claims of its accuracy.

A claim changes with the controls of the page. Its law is found by asking the description at a few values: a constant and one
product of powers, such as 1/width + sqrt(learning_rate/(width dimension)), which is checked at further values.
"""

from collections.abc import Mapping
from math import isclose, log2

from dimfree.comparison.phrases import BEST_FIRST, PHRASES
from dimfree.description import AnyDescription
from dimfree.errors import DimfreeError
from dimfree.problem import Problem
from dimfree.setting import model_of, speaking

_SAME = 1e-9  # relative difference up to which a law holds


def verdict_words() -> dict[str, object]:
    """The phrases of verdicts and the grades, best first, for page/verdict.js."""
    return {"phrases": PHRASES, "grades": list(BEST_FIRST)}


def claim_of(one: AnyDescription, problem: Problem, live: Mapping[str, float]) -> dict[str, object] | str:
    """The accuracy of a description as a law of the page's numbers, and what it leaves open; else why no law was found."""
    here, powers, moving = _accuracy(one, problem), dict[str, float](), 0.0
    for path, value in live.items():
        asked = [_changed(problem, {path: factor * value}) for factor in (2, 4)]
        values = [here if there is None else _accuracy(one, there) for there in asked]
        if isclose(values[0], here, rel_tol=_SAME) and isclose(values[1], here, rel_tol=_SAME):
            continue
        first, second = values[0] - here, values[1] - values[0]
        power = log2(second / first) if first * second > 0 else 0.0
        if power == 0 or (moving and not isclose(first / (2**power - 1), moving, rel_tol=1e-6)):
            return _no_law(one)
        powers[path], moving = power, first / (2**power - 1)
    law: dict[str, object] = {"constant": here - moving, "moving": moving, "powers": powers, "at": dict(live)}
    together = {path: (2 if number % 2 else 3) * live[path] for number, path in enumerate(powers)}
    there = _changed(problem, together)
    if there is not None:
        factor = 1.0
        for path, power in powers.items():
            factor *= (together[path] / live[path]) ** power
        if not isclose(here - moving + moving * factor, _accuracy(one, there), rel_tol=_SAME):
            return _no_law(one)
    return {"accuracy": law, "leaves_open": _open_words(one, problem, live)}


def _no_law(one: AnyDescription) -> str:
    return f"the accuracy that {one.title} claims follows no law that a page knows; use the server for its verdict."


def _accuracy(one: AnyDescription, problem: Problem) -> float:
    return float(speaking(one).accuracy(problem, model_of(problem)))


def _open_words(one: AnyDescription, problem: Problem, live: Mapping[str, float]) -> str:
    """What the claim depends on, with a place {path} for a number that the page may change."""
    text = speaking(one).leaves_open(problem, model_of(problem))
    for path, value in live.items():
        there = _changed(problem, {path: 2 * value})
        if there is None or speaking(one).leaves_open(there, model_of(there)) == text:
            continue
        text = text.replace(f"{value:,}", f"{{{path}}}")
    return text


def _changed(problem: Problem, values: Mapping[str, float]) -> Problem | None:
    """The problem at other values; None where it does not allow them, or where a value is 0 and stays so."""
    try:
        return problem.replace(**values) if values else problem
    except DimfreeError:
        return None
