"""Everything needed to write a description, a setting or a kind of data of your own (docs/extend.md, docs/howto/kind.md).

A description is a subclass of `Description`, most easily of one of its three ready-made forms: `Evolution`, `Memory`,
`Stationary`.
Its `models` is the type of the problems that it is about: a `Model` of your own, or one of dimfree's. A `Setting` is the record
that ties a problem, its model, its start and its descriptions together; a `Kind` is the record of a kind of data for SGD on
fresh samples.

Names are imported on first use: a package with a kind of data is read while the class of problems is still being made.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimfree.dataset.committee.problem import NetworkProblem
    from dimfree.dataset.dataset_model import DataSetModel
    from dimfree.dataset.problem import DataSetProblem
    from dimfree.description import Ask, Cost, Description, Evolution, Memory, Model, Piece, Stationary
    from dimfree.functions.named import activation
    from dimfree.lazy.problem import LazyProblem
    from dimfree.onepass.directions import TeacherModel
    from dimfree.onepass.kind import DataSection, Kind
    from dimfree.onepass.kinds.gaussians.model import TwoGaussiansModel
    from dimfree.onepass.kinds.hypercube.model import HypercubeModel
    from dimfree.onepass.law import Law
    from dimfree.onepass.model import model
    from dimfree.onepass.overlap_model import DirectionsModel
    from dimfree.onepass.problem import OnePassProblem
    from dimfree.onepass.rule import OnePassModel, rule_of
    from dimfree.onepass.start import Start, draw_start
    from dimfree.onepass.structured_model import StructuredModel
    from dimfree.onepass.weights import Network
    from dimfree.problem.section import Section
    from dimfree.results.record import record
    from dimfree.setting import Setting, Variable
    from dimfree.states.overlaps import Overlaps

_HOMES = {
    "dimfree.dataset.committee.problem": ("NetworkProblem",),
    "dimfree.dataset.dataset_model": ("DataSetModel",),
    "dimfree.dataset.problem": ("DataSetProblem",),
    "dimfree.description": ("Ask", "Cost", "Description", "Evolution", "Memory", "Model", "Piece", "Stationary"),
    "dimfree.functions.named": ("activation",),
    "dimfree.lazy.problem": ("LazyProblem",),
    "dimfree.onepass.directions": ("TeacherModel",),
    "dimfree.onepass.kind": ("DataSection", "Kind"),
    "dimfree.onepass.kinds.gaussians.model": ("TwoGaussiansModel",),
    "dimfree.onepass.kinds.hypercube.model": ("HypercubeModel",),
    "dimfree.onepass.law": ("Law",),
    "dimfree.onepass.model": ("model",),
    "dimfree.onepass.overlap_model": ("DirectionsModel",),
    "dimfree.onepass.problem": ("OnePassProblem",),
    "dimfree.onepass.rule": ("OnePassModel", "rule_of"),
    "dimfree.onepass.start": ("Start", "draw_start"),
    "dimfree.onepass.structured_model": ("StructuredModel",),
    "dimfree.onepass.weights": ("Network",),
    "dimfree.problem.section": ("Section",),
    "dimfree.results.record": ("record",),
    "dimfree.setting": ("Setting", "Variable"),
    "dimfree.states.overlaps": ("Overlaps",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Ask",
    "Cost",
    "DataSection",
    "DataSetModel",
    "DataSetProblem",
    "Description",
    "DirectionsModel",
    "Evolution",
    "HypercubeModel",
    "Kind",
    "Law",
    "LazyProblem",
    "Memory",
    "Model",
    "Network",
    "NetworkProblem",
    "OnePassModel",
    "OnePassProblem",
    "Overlaps",
    "Piece",
    "Section",
    "Setting",
    "Start",
    "Stationary",
    "StructuredModel",
    "TeacherModel",
    "TwoGaussiansModel",
    "Variable",
    "activation",
    "draw_start",
    "model",
    "record",
    "rule_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dimfree.extend' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
