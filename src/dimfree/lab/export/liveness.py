"""Which operations anyone needs, and which regions are read where."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from dimfree.lab.export.operations import Operation
from dimfree.lab.export.values import Addresses, Heap


class Needed:
    """The operations that lead to the wanted addresses, and who reads each region."""

    def __init__(self, heap: Heap, lists: list[list[Operation]], wanted: Iterable[Addresses]) -> None:
        self._heap = heap
        self._writers: dict[int, list[Operation]] = defaultdict(list)
        self._around: dict[int, Operation] = {}  # the operation in whose block one lies
        for operations in lists:
            self._enter(operations, None)
        self.readers: dict[int, set[int]] = defaultdict(set)  # region -> operations, by their identity
        self.wanted = {int(region) for one in wanted for region in heap.regions(one)}
        self.regions: set[int] = set()
        self._operations: set[int] = set()
        self._spread([*self.wanted])
        for operations in lists:
            self._prune(operations)

    def _enter(self, operations: list[Operation], around: Operation | None) -> None:
        for one in operations:
            if around is not None:
                self._around[id(one)] = around
            if one.count:
                self._writers[self.region(one)].append(one)
            for block in one.blocks():
                self._enter(block, one)

    def region(self, operation: Operation) -> int:
        """The region that an operation writes."""
        return int(np.searchsorted(self._heap.firsts, operation.out, side="right")) - 1

    def _spread(self, waiting: list[int]) -> None:
        while waiting:
            region = waiting.pop()
            if region in self.regions:
                continue
            self.regions.add(region)
            for writer in self._writers[region]:
                one: Operation | None = writer
                while one is not None and id(one) not in self._operations:
                    self._operations.add(id(one))
                    for addresses in one.reads():
                        for read in map(int, self._heap.regions(addresses)):
                            self.readers[read].add(id(one))
                            waiting.append(read)
                    one = self._around.get(id(one))

    def _prune(self, operations: list[Operation]) -> None:
        operations[:] = [one for one in operations if id(one) in self._operations]
        for one in operations:
            for block in one.blocks():
                self._prune(block)
