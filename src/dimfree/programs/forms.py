"""The programs that a process holds: only the most recently used, because each takes memory and memory maps.

The system limits the memory maps of a process (65,530 on Linux) and aborts one that needs more; a program takes about fifty.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock, RLock
from typing import Generic, TypeVar

F = TypeVar("F")

MOST = 128  # programs; a comparison of the embedded problem takes 19
MAKING = RLock()  # held while a form is made or traced, by one thread of the process at a time


class Forms(Generic[F]):
    """Compiled programs, each found by everything that it depends on. A program that is dropped is freed when no
    thread runs it any more.

    One thread makes a form at a time: making one changes settings of the process and sets them back.
    """

    def __init__(self, most: int) -> None:
        self._most, self._held = most, OrderedDict[Hashable, F]()
        self._books = Lock()

    def get(self, form: Hashable, make: Callable[[], F]) -> F:
        """The form, made if it is not held: by one thread at a time, and once if several ask for it."""
        if (found := self._found(form)) is not None:
            return found
        with MAKING:
            if (found := self._found(form)) is not None:
                return found
            made = make()
            with self._books:
                self._held[form] = made
                while len(self._held) > self._most:
                    self._held.popitem(last=False)
        return made

    def clear(self) -> None:
        """Hold nothing."""
        with self._books:
            self._held.clear()

    def __len__(self) -> int:
        """How many forms are held."""
        return len(self._held)

    def _found(self, form: Hashable) -> F | None:
        with self._books:
            if form in self._held:
                self._held.move_to_end(form)
            return self._held.get(form)
