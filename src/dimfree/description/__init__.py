"""The seam: one protocol for theory and experiment, so that the rooms that run them need not ask which is which.

`contract` says what a description has to answer, and what it is given; `running` is the loop that runs a dynamics. A description
implements `account`, or takes one of three ready ways to: `Evolution` (memoryless), `Memory`, `Stationary`. A dynamics that is a
`Flow` or is `Drawn` offers its pure functions beside, so that it can run outside of Python.
"""

from dimfree.description.contract import (
    AnyDescription,
    Ask,
    Cost,
    Description,
    Dynamics,
    Model,
    Observed,
    PartialStart,
    Piece,
    Reached,
    Times,
    Values,
)
from dimfree.description.drawn import Block, Drawn, Draws
from dimfree.description.evolution import Evolution
from dimfree.description.flow import Flow
from dimfree.description.memory import Memory
from dimfree.description.stationary import Stationary

__all__ = [
    "AnyDescription",
    "Ask",
    "Block",
    "Cost",
    "Description",
    "Drawn",
    "Draws",
    "Dynamics",
    "Evolution",
    "Flow",
    "Memory",
    "Model",
    "Observed",
    "PartialStart",
    "Piece",
    "Reached",
    "Stationary",
    "Times",
    "Values",
]
