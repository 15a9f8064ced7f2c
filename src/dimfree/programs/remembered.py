"""From time to time, drop what jax and equinox remember about dimfree's programs, because they never drop it themselves.

jax keeps every trace, translation and small program of its own, up to thousands of each kind and whatever their size: 3 MB for a
small theory, 40 MB for runs on a data set, and the maps of their programs. Entries of dimfree and of the user look alike.
All can be made again, so everything is dropped, through public functions of jax and equinox, and only after many programs.
"""

import gc
from threading import Lock

import equinox as eqx
import jax
from jax.extend.backend import get_backend

from dimfree.programs.tracing import is_tracing
from dimfree.system import give_back_memory

MOST = 256  # programs; a comparison of the embedded problem makes 19


class Remembered:
    """Counts the programs that were made, and drops what is remembered of them after so many."""

    def __init__(self, most: int) -> None:
        self._most, self._made, self._books = most, 0, Lock()

    def count(self, made: int) -> None:
        """Count programs that were made."""
        with self._books:
            self._made += made
            if full := self._made >= self._most and not is_tracing():
                self._made = 0
        if full:
            forget()


REMEMBERED = Remembered(MOST)


def forget() -> None:
    """Drop what jax and equinox remember. Programs that run go on, and those that `Forms` holds stay."""
    eqx.clear_caches()  # type: ignore[no-untyped-call]
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()  # traces refer to each other in cycles
    give_back_memory()


def programs_alive() -> int:
    """How many programs there are in this process, of dimfree or not."""
    return len(get_backend().live_executables())
