"""Results files of earlier releases: attributes that these did not write yet are filled in when a file is read."""

from collections.abc import Hashable, Mapping
from typing import Any

from dimfree.problem import Problem
from dimfree.registry import description
from dimfree.results.dataset import settings
from dimfree.setting import model_of, speaking

_TERSE = ("0.1.0",)  # releases whose files do not say whether an account is an experiment, nor how accurate it is


def completed(problem: Problem, attributes: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """The attributes of an account as this version writes them; those that a file lacks come from the description's defaults."""
    if attributes.get("dimfree_version") not in _TERSE or "real" in attributes:
        return dict(attributes)
    one = description(str(attributes["description"]))
    return {
        "title": one.name,
        "real": int(one.real),
        "scatters": int(one.scatters),
        "settings": settings(one),
        "accuracy": speaking(one).accuracy(problem, model_of(problem)),
        "leaves_open": speaking(one).leaves_open(problem, model_of(problem)),
        "warnings": "",
        **attributes,
    }
