"""What the page computes: operations on regions of the heap, before they become text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dimfree.lab.export.values import Addresses

Argument = str | Addresses  # a number as text, or flat addresses, one for every entry


class Offset(NamedTuple):
    """A shift that is known in the page only: a clamped index times the stride of its axis."""

    where: Addresses  # at which the index lies, for every entry
    most: int  # the largest index that leaves the window inside
    stride: int


@dataclass(eq=False)
class Operation:
    """One statement; `out` is the first address that it writes, `count` how many."""

    out: int
    count: int

    def reads(self) -> Iterator[Addresses]:
        """Addresses that are read."""
        yield from ()

    def blocks(self) -> "tuple[list[Operation], ...]":
        """Statements inside this one."""
        return ()


@dataclass(eq=False)
class Elementwise(Operation):
    """Entry by entry; `text` makes an expression of those of its arguments."""

    text: Callable[..., str]
    arguments: list[Argument]
    nanoseconds: float = 1.0  # what one entry costs, roughly

    def reads(self) -> Iterator[Addresses]:
        """The arguments that are not numbers."""
        yield from (one for one in self.arguments if not isinstance(one, str))


@dataclass(eq=False)
class Dot(Operation):
    """Sums of products: out[b, m, n] = sum_k left[b, m, k] right[b, n, k]."""

    left: Addresses
    right: Addresses

    def reads(self) -> Iterator[Addresses]:
        """Both factors."""
        yield from (self.left, self.right)


@dataclass(eq=False)
class Reduce(Operation):
    """One number of each row of addresses."""

    kind: str  # of the runtime: sum, max, min, prod, and, or
    rows: Addresses

    def reads(self) -> Iterator[Addresses]:
        """All rows."""
        yield self.rows


@dataclass(eq=False)
class Pick(Operation):
    """Read at places known in the page: out[i] = source[inside[i] + offsets]."""

    source: Addresses
    inside: Addresses
    offsets: list[Offset]
    fill: bool  # whether an index outside gives NaN; else it is clamped

    def reads(self) -> Iterator[Addresses]:
        """All that may be read."""
        yield self.source
        yield from (one.where for one in self.offsets)


@dataclass(eq=False)
class Put(Operation):
    """Write at places known in the page: region[inside[i] + offsets] = source[i], or += it."""

    source: Addresses
    inside: Addresses
    offsets: list[Offset]
    add: bool
    drop: bool  # whether an index outside writes nothing; else it is clamped

    def reads(self) -> Iterator[Addresses]:
        """What is written, and where."""
        yield self.source
        yield from (one.where for one in self.offsets)


@dataclass(eq=False)
class Call(Operation):
    """A function of the runtime: name(out, sizes..., tables of addresses...)."""

    name: str
    sizes: tuple[int, ...]
    tables: list[Addresses]
    nanoseconds: float  # of the whole call, roughly

    def reads(self) -> Iterator[Addresses]:
        """All tables."""
        yield from self.tables


@dataclass(eq=False)
class Branch(Operation):
    """One of several blocks, chosen by an index that is clamped."""

    index: int
    cases: list[list[Operation]]

    def reads(self) -> Iterator[Addresses]:
        """The index."""
        yield np.array([self.index])

    def blocks(self) -> tuple[list[Operation], ...]:
        """All cases."""
        return tuple(self.cases)


@dataclass(eq=False)
class While(Operation):
    """Repeat while a number that `test` computes is not 0."""

    test: list[Operation]
    predicate: int
    body: list[Operation]

    def reads(self) -> Iterator[Addresses]:
        """What is tested."""
        yield np.array([self.predicate])

    def blocks(self) -> tuple[list[Operation], ...]:
        """The test and what is repeated."""
        return self.test, self.body


@dataclass(eq=False)
class For(Operation):
    """Repeat with a counter on the heap."""

    times: int
    counter: int
    down: bool
    body: list[Operation] = field(default_factory=list)

    def blocks(self) -> tuple[list[Operation], ...]:
        """What is repeated."""
        return (self.body,)


def everything(operations: list[Operation]) -> Iterator[Operation]:
    """All operations, those inside others too."""
    for one in operations:
        yield one
        for block in one.blocks():
            yield from everything(block)
