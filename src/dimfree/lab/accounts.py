"""The accounts that were computed last, so that a verdict need not compute them again."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import xarray as xr

_MOST = 4  # problems


class Accounts:
    """Accounts of theories by problem; those of a few problems, so that memory does not grow."""

    def __init__(self) -> None:
        self._held, self._books = OrderedDict[str, dict[str, xr.Dataset]](), Lock()
        self._complete = set[str]()  # problems of which all theories are held
        self._begun = Counter[str]()  # how many threads solve the theories of a problem

    def keep(self, digest: str, title: str, account: xr.Dataset) -> None:
        """Hold an account of the problem with this digest."""
        with self._books:
            self._held.setdefault(digest, {})[title] = account
            self._held.move_to_end(digest)
            while len(self._held) > _MOST:
                dropped, _ = self._held.popitem(last=False)
                self._complete.discard(dropped)

    def complete(self, digest: str) -> None:
        """Take note that all theories of a problem were solved."""
        with self._books:
            if digest in self._held:
                self._complete.add(digest)

    @contextmanager
    def solving(self, digest: str) -> Iterator[None]:
        """Take note that the theories of a problem are being solved."""
        with self._books:
            self._begun[digest] += 1
        try:
            yield
        finally:
            with self._books:
                self._begun[digest] -= 1
                if not self._begun[digest]:
                    del self._begun[digest]

    def is_being_solved(self, digest: str) -> bool:
        """Whether a thread solves the theories of a problem."""
        with self._books:
            return digest in self._begun

    def is_complete(self, digest: str) -> bool:
        """Whether all theories of a problem are held."""
        with self._books:
            return digest in self._complete

    def of(self, digest: str) -> dict[str, xr.Dataset]:
        """All accounts of a problem that are held."""
        with self._books:
            return dict(self._held.get(digest, {}))
