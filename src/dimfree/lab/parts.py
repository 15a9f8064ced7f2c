"""Accounts as plain data for a page: curves, points of a run that arrives, refusals, verdicts."""

from collections.abc import Mapping
from math import floor, log10
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
_SAMPLE = 128  # units that stand for more, where a page shows them in a plane
_MOST_OF_UNIT = 8  # numbers of one unit in such a sample


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
    """The risk with its band, all other observables in the form in which a page draws them, and what they mean."""
    declared, risk = {**setting_of(problem).variables, **one.variables}, seen["risk"]
    low, high = band(risk, one.scatters) if risk.shape[1] > 1 else (None, None)
    ends = {name: None if end is None else _numbers(end) for name, end in (("low", low), ("high", high))}
    drawn = {name: form for one in seen if one != "risk" for name, form in _drawn(declared, one, seen).items()}
    about = {"risk": declared["risk"].meaning} | {name: meaning for name, (_, meaning) in drawn.items()}
    return {
        "risk": {"mean": _numbers(risk.mean(axis=1)), **ends},
        "observables": {name: part for name, (part, _) in drawn.items()},
        "variables": {name: {"meaning": said, "units": declared[name].units} for name, said in about.items()},
    }


def _drawn(declared: Mapping[str, Variable], name: str, seen: Mapping[str, Values]) -> dict[str, tuple[Part, str]]:
    """An observable and what it means: its means over replicas, or less if it has more entries than a page draws.

    Of products of very many units their diagonal is left, of one number of every unit its quintiles beside a sample, of a few
    numbers of every unit a sample. All samples are of the same units.
    """
    values, about = seen[name], declared[name]
    count = values.shape[2] if values.ndim > 2 else 0
    few = values[0, 0].size <= _MOST
    if few or (values.ndim == 4 and count <= _SAMPLE and values.shape[3] <= _MOST_OF_UNIT):
        sample = {"sample": _sampled(values)} if values.ndim == 3 and count > _SAMPLE else {}
        return {name: (_means(about, values) | sample, about.meaning)}
    if values.ndim == 3:
        meaning = f"{about.meaning}: quintiles over {about.dims[2]}s"
        return {name: (_quintiles(values) | {"sample": _sampled(values)}, meaning)}
    if values.ndim == 4 and about.dims[3] == f"{about.dims[2]}_":
        diagonal = f"{name}_diagonal"
        left = {diagonal: values.diagonal(axis1=2, axis2=3)}
        return _drawn(declared, diagonal, left) if diagonal in declared and diagonal not in seen else {}
    if values.ndim == 4 and values.shape[3] <= _MOST_OF_UNIT:
        shown = values[:, :1, _places(count)]
        return {name: (_means(about, shown), f"{about.meaning}: {_SAMPLE} of {count} {about.dims[2]}s")}
    return {}


def _places(count: int) -> Any:
    """Which of very many units are in a sample."""
    return np.linspace(0, count - 1, _SAMPLE).round().astype(int)


def _sampled(values: Values) -> list[Any]:
    """The number of some units in the first replica, with as many digits as a screen shows."""
    shown = values[:, 0, _places(values.shape[2])]
    largest = float(np.max(np.abs(shown), initial=0.0, where=np.isfinite(shown)))
    return _numbers(np.round(shown, min(4 - floor(log10(largest)), 300)) if largest else shown)


def _means(declared: Variable, values: Values) -> Part:
    flat = values.mean(axis=1).reshape(len(values), -1)
    return {"dims": list(declared.dims[2:]), "shape": list(values.shape[2:]), "values": _numbers(flat)}


def _quintiles(values: Values) -> Part:
    """Of all units of all replicas."""
    found = np.quantile(values.reshape(len(values), -1), _QUINTILES, axis=1).T
    return {"dims": ["quintile"], "shape": [len(_QUINTILES)], "values": _numbers(found)}


def _numbers(values: Values) -> list[Any]:
    """Lists of numbers; what is not finite is None, which JSON can hold."""
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    found = values.astype(object)
    found[~finite] = None
    return found.tolist()
