"""Checkpoints: a long run that was killed continues from its last piece, and gives the same numbers.

A file holds what was observed and the state from which the account can be continued; all else follows from the problem.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dimfree.arrays import AnyArray, unpacked
from dimfree.description import AnyDescription, Piece, Reached, Values
from dimfree.errors import DimfreeError, DivergenceError
from dimfree.files import replacing, withdraw, writable
from dimfree.problem import Problem
from dimfree.results.dataset import identity

EVERY = 30.0  # seconds between two checkpoints; a killed run loses at most that, and its last piece
_SEEN, _STATE, _KEY, _DIGEST = "seen ", "state ", "key ", "digest"


class Checkpoints:
    """The checkpoints of all accounts that run into one folder; a run that is killed leaves them, one that ends removes them."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._used: list[Path] = []

    def of(self, problem: Problem, one: AnyDescription, number: int) -> "Checkpoint":
        """The checkpoint of one account from one of its starts."""
        parts = (identity(problem, one), one.title, str(number))
        name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        self._used.append(self.folder / f"{name}.npz")
        return Checkpoint(self._used[-1])

    def clear(self) -> None:
        """Remove all checkpoints, once the results are written."""
        for path in self._used:
            withdraw(path)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


@contextmanager
def checkpoints_in(folder: str | Path | None) -> Iterator[Checkpoints | None]:
    """The checkpoints in a folder, if one is given; they are removed when the block succeeds, or when training diverges.

    Divergence is a result too: continuing from the checkpoint would only give it again.
    """
    kept = None if folder is None else Checkpoints(folder)
    try:
        yield kept
    except DivergenceError:
        _clear(kept)
        raise
    _clear(kept)


def _clear(kept: Checkpoints | None) -> None:
    if kept:
        kept.clear()


class Checkpoint:
    """One account that can be continued."""

    def __init__(self, path: Path) -> None:
        self.path, self._last = path, time.monotonic()

    def earlier(self) -> Piece | None:
        """What an earlier run saved; None if there was none, or if its file cannot be read."""
        try:
            found = unpacked(self.path)
            if str(found.pop(_DIGEST)) != _digest(found):
                return None
            seen: dict[str, Any] = {
                name.removeprefix(_SEEN): values for name, values in found.items() if name.startswith(_SEEN)
            }
            along = cast(Literal["time", "replica"], str(found["along"]))
            return Piece(seen, along, float(found["done"]), Reached(int(found["count"]), tuple(_state(found))))
        except (OSError, ValueError, KeyError, DimfreeError):
            return None

    def keep(self, seen: Callable[[], dict[str, Values]], piece: Piece) -> None:
        """Write all that was observed up to this piece, if the last checkpoint is old enough."""
        due = time.monotonic() - self._last >= EVERY or (piece.done == 1 and self.path.exists())
        if piece.reached is None or not due:
            return
        arrays: dict[str, AnyArray] = {f"{_SEEN}{name}": values for name, values in seen().items()}
        arrays |= {"along": np.array(piece.along), "done": np.array(piece.done), "count": np.array(piece.reached.upto)}
        for number, leaf in enumerate(piece.reached.state):
            is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            kept = jax.random.key_data(leaf) if is_key else leaf
            arrays[f"{_KEY if is_key else _STATE}{number}"] = np.asarray(kept)
        writable(self.path.parent)
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays, **{_DIGEST: np.array(_digest(arrays))})  # type: ignore[arg-type]
        self._last = time.monotonic()


def _digest(arrays: Mapping[str, AnyArray]) -> str:
    """The digest of the arrays; a file with another one was damaged, or written by another program."""
    content = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        content.update(f"{name} {array.dtype} {arrays[name].shape}".encode() + array.tobytes())
    return content.hexdigest()


def _state(found: Mapping[str, Any]) -> Iterator[Array]:
    number = 0
    while True:
        if f"{_STATE}{number}" in found:
            yield jax.device_put(found[f"{_STATE}{number}"])
        elif f"{_KEY}{number}" in found:
            yield jax.random.wrap_key_data(jax.device_put(found[f"{_KEY}{number}"]))
        else:
            return
        number += 1
