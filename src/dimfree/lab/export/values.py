"""What a variable of a jaxpr stands for while it is written: numbers that are known, or addresses on the heap."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Addresses = np.ndarray[Any, np.dtype[np.int64]]

KNOWN, NUMBERS, STATE = 0, 1, 2  # stages: when a value is known. While writing, once the sliders rest, at every call


_MOST_NUMBERS = 5_000_000  # on the heap
_MOST_CONSTANTS = 100_000  # of a module; more would be too large for a page in any case


class Unsupported(Exception):
    """What has no JavaScript here, as the end of the sentence "it cannot be written as JavaScript: ..."."""


@dataclass(frozen=True)
class Constant:
    """Numbers that are known while writing."""

    values: Array

    @property
    def stage(self) -> int:
        """Known before anything runs."""
        return KNOWN


@dataclass(frozen=True)
class OnHeap:
    """Numbers that are computed in the page."""

    addresses: Addresses
    stage: int


Value = Constant | OnHeap


@dataclass
class Heap:
    """Addresses that were given out, in regions that are written as a whole, and the constants that lie among them."""

    size: int = 0
    firsts: list[int] = field(default_factory=list)  # of every region, rising
    constants: dict[int, Array] = field(default_factory=dict)  # by the region that holds them
    _held: int = 0  # numbers in all constants
    _known: dict[tuple[tuple[int, ...], bytes], Addresses] = field(default_factory=dict)

    def new(self, shape: tuple[int, ...]) -> Addresses:
        """Addresses of a new region."""
        first, count = self.size, int(np.prod(shape, dtype=int))
        self.firsts.append(first)
        self.size += max(count, 1)
        if self.size > _MOST_NUMBERS:
            raise Unsupported(f"it works on more than {_MOST_NUMBERS:,} numbers at once")
        return np.arange(first, first + count).reshape(shape)

    def addresses(self, value: Value) -> Addresses:
        """Where a value lies; equal constants lie at one place."""
        if isinstance(value, OnHeap):
            return value.addresses
        numbers = np.asarray(value.values, dtype=float)
        if numbers.size > 1 and len({one.tobytes() for one in numbers.ravel()}) == 1:
            return np.broadcast_to(self.addresses(Constant(numbers.ravel()[:1].reshape(()))), numbers.shape)
        key = numbers.shape, numbers.tobytes()
        if key not in self._known:
            self._held += numbers.size
            if self._held > _MOST_CONSTANTS:
                raise Unsupported(f"it holds more than {_MOST_CONSTANTS:,} constants")
            self.constants[len(self.firsts)] = numbers.ravel()
            self._known[key] = self.new(numbers.shape)
        return self._known[key]

    def regions(self, addresses: Addresses) -> Addresses:
        """The numbers of the regions in which addresses lie, each once."""
        return np.unique(np.searchsorted(self.firsts, addresses.ravel(), side="right") - 1)

    @property
    def zeros(self) -> Addresses:
        """Addresses at which there is always 0."""
        found = [self.firsts[region] + np.flatnonzero(values == 0) for region, values in self.constants.items()]
        return np.concatenate([np.zeros(0, int), *found])
