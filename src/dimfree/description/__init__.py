"""What a description is: one protocol for theory and experiment, so that the code that runs them need not ask which it is.

`contract` says what a description must answer and what it is given; `running` is the loop that runs a dynamics. A
description implements `account`, or subclasses one of three classes that do: `Evolution` (memoryless), `Memory`,
`Stationary`. A dynamics that is also a `Flow` or `Drawn` offers its pure functions, so that it can run outside Python.
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
