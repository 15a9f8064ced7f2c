"""Accounts as plain data for a page: curves, points of a run that arrives, refusals, verdicts."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dimfree.comparison.comparison import Comparison
from dimfree.description import AnyDescription, Description, Times, Values
from dimfree.drawing import band
from dimfree.problem import Problem
from dimfree.registry import setting_of
from dimfree.setting import Variable

Part = dict[str, Any]
_MOST = 256  # entries of an observable at one time: a page draws no more
_QUINTILES = (0.2, 0.4, 0.6, 0.8)  # of a number that every one of very many units has


class _Verdict(NamedTuple):
    """What a page shows of all theories."""

    part: str
    reference: str | None
    rows: list[Part]
    text: str
    running: bool


def pending(one: AnyDescription, seconds: float) -> Part:
    """What is about to be computed, and takes long."""
    return {"part": "pending", "name": one.title, "seconds": seconds}


def curve(
    problem: Problem, one: AnyDescription, seen: Mapping[str, Values], seconds: float, share: float = 1.0
) -> Part:
    """An account, or what there is of it when this share of its work is done."""
    return {
        "part": "curve",
        **_named(one),
        "times": problem.times[: len(seen["risk"])].tolist(),
        **_observed(problem, one, seen),
        "variables": _variables(problem, one, seen),
        "milliseconds": round(1000 * seconds, 2),
        "share": share,
    }


def points(
    problem: Problem, one: AnyDescription, first: int, times: Times, seen: Mapping[str, Values], speed: float
) -> Part:
    """A part of a run that arrives; it takes the place of all that there is from its first time on."""
    return {
        "part": "points",
        **_named(one),
        "from": first,
        "times": times.tolist(),
        **_observed(problem, one, seen),
        "variables": _variables(problem, one, seen),
        "experiment": one.experiment,
        "steps": problem.steps(float(times[-1])) if one.experiment == Description.experiment else None,
        "steps_per_second": round(speed),
    }


def sketch(drawn: Mapping[str, Any]) -> Part:
    """Lines over one key of the problem, by the names of theories."""
    lines = {name: _numbers(values) for name, values in drawn["lines"].items()}
    return {"part": "sketch", **drawn, "x": drawn["x"].tolist(), "lines": lines}


def refusal(name: str, sentence: str) -> Part:
    """Why an account is not there."""
    return {"part": "refusal", "name": name, "sentence": sentence}


def warning(name: str, sentence: str) -> Part:
    """What is to be distrusted in an account."""
    return {"part": "warning", "name": name, "sentence": sentence}


def error(sentence: str) -> Part:
    """Why nothing could be answered."""
    return {"part": "error", "sentence": sentence}


def verdict(found: Comparison, running: bool) -> Part:
    """What `dimfree compare` says of the theories."""
    grades = found.grades()
    rows = [
        {"name": name, "verdict": grades[name], "sentence": sentence} for name, sentence in found.verdicts().items()
    ]
    return _Verdict("verdict", found.reference, rows, found.verdict(), running)._asdict()


def done(cancelled: bool = False) -> Part:
    """The last part of an answer."""
    return {"part": "done"} | ({"cancelled": True} if cancelled else {})


def _named(one: AnyDescription) -> Part:
    return {"name": one.title, "label": one.title, "summary": one.summary, "real": one.real}


def _observed(problem: Problem, one: AnyDescription, seen: Mapping[str, Values]) -> Part:
    """The risk with its band, and all other observables: their means, or the quintiles of very many numbers."""
    declared, risk = _declared(problem, one), seen["risk"]
    low, high = band(risk, one.scatters) if risk.shape[1] > 1 else (None, None)
    others = {
        name: _quintiles(values) if _are_many(values) else _means(declared[name], values)
        for name, values in seen.items()
        if name != "risk" and (values[0, 0].size <= _MOST or _are_many(values))
    }
    ends = {name: None if end is None else _numbers(end) for name, end in (("low", low), ("high", high))}
    return {"risk": {"mean": _numbers(risk.mean(axis=1)), **ends}, "observables": others}


def _are_many(values: Values) -> bool:
    """Whether an observable is one number for each of more units than a page draws lines for."""
    return values.ndim == 3 and values.shape[2] > _MOST


def _means(declared: Variable, values: Values) -> Part:
    flat = values.mean(axis=1).reshape(len(values), -1)
    return {"dims": list(declared.dims[2:]), "shape": list(values.shape[2:]), "values": _numbers(flat)}


def _quintiles(values: Values) -> Part:
    """Of all units of all replicas."""
    found = np.quantile(values.reshape(len(values), -1), _QUINTILES, axis=1).T
    return {"dims": ["quintile"], "shape": [len(_QUINTILES)], "values": _numbers(found)}


def _variables(problem: Problem, one: AnyDescription, seen: Mapping[str, Values]) -> Part:
    declared = _declared(problem, one)

    def meaning(name: str, values: Values) -> str:
        said = declared[name].meaning
        return f"{said}: quintiles over {declared[name].dims[2]}s" if _are_many(values) else said

    return {name: {"meaning": meaning(name, v), "units": declared[name].units} for name, v in seen.items()}


def _declared(problem: Problem, one: AnyDescription) -> dict[str, Variable]:
    return {**setting_of(problem).variables, **one.variables}


def _numbers(values: Values) -> list[Any]:
    """Lists of numbers; what is not finite is None, which JSON can hold."""
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    found = values.astype(object)
    found[~finite] = None
    return found.tolist()
