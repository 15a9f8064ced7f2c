"""Sweeps on disk: one Zarr store each, in which every point is a group of its own, named by the hash of its content.

A complete group takes its place by one rename, so that a point is stored completely or not at all, even if processes are killed
or several write. A journal beside the store says when and by which process points were computed; the store itself is the same
for every run of a sweep.
"""

import json
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dimfree.errors import OutputError, first_line
from dimfree.files import placing, take_away, writable
from dimfree.sweeps.assembly import Layout
from dimfree.sweeps.axes import Axis
from dimfree.sweeps.batches import Outcome
from dimfree.sweeps.extras import needed
from dimfree.sweeps.groups import METADATA, read_group, read_point, write_group, write_point
from dimfree.sweeps.points import Clock

_KIND = "dimfree sweep"


class Shelf:
    """The results of one sweep in memory."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}

    def prepare(self, plan: Layout, attrs: Mapping[str, Any]) -> None:
        """Do nothing: memory needs no preparation."""

    def has(self, key: str) -> bool:
        """Whether a point is there."""
        return key in self._outcomes

    def put(self, outcome: Outcome) -> None:
        """Add a point."""
        self._outcomes[outcome.key] = outcome

    def get(self, key: str) -> Outcome:
        """The result of a finished point."""
        return self._outcomes[key]

    def forget(self, key: str) -> None:
        """Take a point out, so that it is computed anew."""
        del self._outcomes[key]

    def failure(self, key: str) -> str:
        """Why a finished point has no numbers; empty if it has them."""
        return self._outcomes[key].failure


class Store(Shelf):
    """The results of one sweep in a folder."""

    def __init__(self, path: Path) -> None:
        path = path if path.name else path.resolve()  # '.' has no name
        self.path, self._points, self._journal = path, path / "points", path.with_name(f"{path.name}.journal")
        self._notes = self._journal / f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"

    def prepare(self, plan: Layout, attrs: Mapping[str, Any]) -> None:
        """Make the folder a store of this sweep, or check that it is one; points that it holds stay."""
        needed("zarr", "a store")
        if self.path.exists() and not self._is_empty():
            self._attributes()
        for folder in (self.path, self._points, self._journal):
            writable(folder)
        write_group(self._points, {})
        write_group(self.path, {"kind": _KIND, "layout": _written(plan), **attrs})

    def has(self, key: str) -> bool:
        """Whether a point is there."""
        return (self._points / key).is_dir()

    def put(self, outcome: Outcome) -> None:
        """Add a point, completely or not at all; a point that is stored already stays."""
        try:
            with placing(self._points / outcome.key, self.path) as temporary:
                write_point(temporary, outcome)
            self._note({"point": outcome.key, "cpu_seconds": outcome.seconds, "failure": outcome.failure})
        except OSError as failure:
            raise OutputError(
                f"the store {str(self.path)!r} cannot take another point ({failure.strerror}); those in it are safe: "
                "make room, and run the same sweep again."
            ) from None

    def get(self, key: str) -> Outcome:
        """A stored point; an error if it is damaged."""
        try:
            return read_point(self._points / key, key)
        except Exception as failure:  # zarr raises many types of errors over damaged files
            raise OutputError(
                f"the point {key} in {str(self.path)!r} is damaged ({first_line(failure)}); run the sweep "
                "again, which computes it anew."
            ) from None

    def failure(self, key: str) -> str:
        """Why a finished point has no numbers, without reading them; empty if it has them."""
        try:
            return str(read_group(self._points / key)["failure"])
        except (OSError, ValueError, KeyError):
            return "damaged"

    def forget(self, key: str) -> None:
        """Take a point out, so that it is computed anew."""
        take_away(self._points / key)

    def metadata(self) -> tuple[Layout, dict[str, Any]]:
        """The attributes that say what the store is about."""
        if not self.path.is_dir():
            raise OutputError(f"there is no store {str(self.path)!r}; `dimfree sweep` writes one.")
        attrs = self._attributes()
        try:
            return _read(attrs["layout"]), {
                name: value for name, value in attrs.items() if name not in ("kind", "layout")
            }
        except (KeyError, TypeError, ValueError):
            raise OutputError(f"the store {str(self.path)!r} was written by another version of dimfree.") from None

    def journal(self) -> Iterator[dict[str, Any]]:
        """Every point that was ever computed, with the process and the time."""
        for path in sorted(self._journal.glob("*.jsonl")):
            lines = path.read_text(encoding="utf-8").splitlines()
            yield from ({"by": path.stem, **json.loads(line)} for line in lines if line.endswith("}"))

    def _note(self, what: Mapping[str, Any]) -> None:
        """Write a line into this process's own part of the journal."""
        with self._notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **what}) + "\n")

    def _is_empty(self) -> bool:
        """Whether the folder holds nothing, or only what a sweep that was killed right at its start left there."""
        if not self.path.is_dir():
            raise OutputError(f"{str(self.path)!r} is a file; give a folder for the store.")
        return all(
            entry.name == self._points.name or entry.name.startswith(".dimfree-") for entry in self.path.iterdir()
        )

    def _attributes(self) -> dict[str, Any]:
        foreign = OutputError(
            f"{str(self.path)!r} is not the store of a sweep, and was not changed; give another folder."
        )
        try:
            attrs = read_group(self.path)
        except FileNotFoundError:
            raise foreign from None
        except (OSError, ValueError, KeyError):
            raise OutputError(
                f"{str(self.path / METADATA)!r} is damaged; remove it and run the same sweep again: the points are safe."
            ) from None
        if attrs.get("kind") != _KIND:
            raise foreign
        return attrs


def _written(plan: Layout) -> dict[str, Any]:
    """Values as plain data, which JSON can hold."""
    return {
        "axes": [{"name": axis.name, "values": axis.values, "keys": axis.keys} for axis in plan.axes],
        "titles": plan.titles,
        "keys": plan.keys,
        "clock": plan.clock._asdict(),
    }


def _read(written: Mapping[str, Any]) -> Layout:
    axes = tuple(
        Axis(axis["name"], tuple(axis["values"]), {key: tuple(values) for key, values in axis["keys"].items()})
        for axis in written["axes"]
    )
    clock = written["clock"]
    return Layout(
        axes,
        tuple(written["titles"]),
        tuple(written["keys"]),
        Clock(clock["dim"], tuple(clock["values"]), clock["units"]),
    )
