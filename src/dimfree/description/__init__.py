"""The seam: one protocol for theory and experiment, so that the rooms that run them need not ask which is which.

`contract` says what a description has to answer, and what it is given; `running` is the loop that runs a dynamics. A description
implements `account`, or takes one of three ready ways to: `Evolution` (memoryless), `Memory`, `Stationary`.
"""

from dimfree.description.contract import (
    AnyDescription,
    Ask,
    Cost,
    Description,
    Dynamics,
    Model,
    Observed,
    Piece,
    Reached,
    Times,
    Values,
)
from dimfree.description.evolution import Evolution
from dimfree.description.memory import Memory
from dimfree.description.stationary import Stationary

__all__ = [
    "AnyDescription",
    "Ask",
    "Cost",
    "Description",
    "Dynamics",
    "Evolution",
    "Memory",
    "Model",
    "Observed",
    "Piece",
    "Reached",
    "Stationary",
    "Times",
    "Values",
]
