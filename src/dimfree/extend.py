"""Everything needed to write a description, a setting or a kind of data of your own (docs/extend.md).

A description is a subclass of `Description`, most easily of one of its three ready-made forms: `Evolution`, `Memory`,
`Stationary`.
Its `models` is the type of the problems that it is about: a `Model` of your own, or one of dimfree's. A `Setting` is the record
that ties a problem, its model, its start and its descriptions together.
"""

from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.dataset.problem import DataSetProblem
from dimfree.description import Ask, Cost, Description, Evolution, Memory, Model, Piece, Stationary
from dimfree.functions.named import activation
from dimfree.lazy.problem import LazyProblem
from dimfree.onepass.directions import StructuredModel, TeacherModel
from dimfree.onepass.kinds.gaussians.model import TwoGaussiansModel
from dimfree.onepass.kinds.hypercube.model import HypercubeModel
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start, draw_start
from dimfree.problem.section import Section
from dimfree.results.record import record
from dimfree.setting import Setting, Variable
from dimfree.states.overlaps import Overlaps

__all__ = [
    "Ask",
    "Cost",
    "DataSetProblem",
    "Description",
    "Evolution",
    "HypercubeModel",
    "LazyProblem",
    "Memory",
    "Model",
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
]
