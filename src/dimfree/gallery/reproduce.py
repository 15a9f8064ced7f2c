"""Reproducing a figure: measure, decide, draw, and only then write: data, figure and claims, each complete or not at all."""

import json
import math
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import xarray as xr
from matplotlib.figure import Figure

from dimfree._version import __version__
from dimfree.drawing import style
from dimfree.files import replacing, save_figure, together
from dimfree.gallery.entry import Claim, Entry
from dimfree.gallery.shelf import entry as named
from dimfree.plain_data import plain
from dimfree.progress import PartWatcher, nobody
from dimfree.results.store import save
from dimfree.strokes import tell_apart


class Files(NamedTuple):
    """What was written."""

    data: Path
    figure: Path
    claims: Path


class Reproduction(NamedTuple):
    """The claims of a figure as they came out, and where everything lies."""

    name: str
    title: str
    full: bool
    claims: tuple[Claim, ...]
    files: Files
    cpu_seconds: float

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim.holds for claim in self.claims)

    def summary(self) -> str:
        """One line of text per claim."""
        rows = [
            f"{'ok' if claim.holds else 'FAIL':<6}{claim.statement}: {claim.value:.4g}, must be {_range(claim)}"
            for claim in self.claims
        ]
        verdict = "all claims hold" if self.holds else f"{sum(not claim.holds for claim in self.claims)} claims fail"
        return "\n".join([f"{self.name}: {self.title}", *rows, f"{verdict} ({len(self.claims)} checked)."])

    def to_dict(self) -> dict[str, Any]:
        """The claims as plain data; an open end of a range is None."""
        return {
            "name": self.name,
            "title": self.title,
            "full": self.full,
            "holds": self.holds,
            "claims": [plain(claim) | {"holds": claim.holds} for claim in self.claims],
            "files": {kind: str(path) for kind, path in self.files._asdict().items()},
            "cpu_seconds": self.cpu_seconds,
            "dimfree_version": __version__,
        }


def reproduce(figure: str | Entry[Any], out: Path, full: bool = False, watch: PartWatcher = nobody) -> Reproduction:
    """Measure one figure of the documents, check its claims, and write data, figure and claims into `out`."""
    chosen = named(figure) if isinstance(figure, str) else figure
    began = time.process_time()
    data = chosen.measure(full, watch)
    claims = chosen.claims(data)
    files = Files(*(out / f"{chosen.name}.{suffix}" for suffix in ("nc", "png", "json")))
    with matplotlib.rc_context(style() | {"legend.frameon": False}), together():
        drawn = Figure(layout="constrained")
        chosen.draw(data, drawn)
        tell_apart(drawn)
        done = Reproduction(chosen.name, chosen.title, full, claims, files, time.process_time() - began)
        text = json.dumps(done.to_dict(), indent=2) + "\n"
        save(_labelled(data, done, chosen.cites), files.data)
        save_figure(lambda temporary: drawn.savefig(temporary, dpi=160), files.figure)
        with replacing(files.claims) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return done


def _labelled(data: xr.Dataset | xr.DataTree, done: Reproduction, cites: tuple[str, ...]) -> xr.DataTree:
    tree = data.copy() if isinstance(data, xr.DataTree) else xr.DataTree(data)
    tree.attrs = {
        "figure": done.name,
        "title": done.title,
        "full": int(done.full),
        "cites": " ".join(cites),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu_seconds": done.cpu_seconds,
        "dimfree_version": __version__,
    }
    return tree


def _range(claim: Claim) -> str:
    if math.isinf(claim.low):
        return f"at most {claim.high:.4g}"
    return f"at least {claim.low:.4g}" if math.isinf(claim.high) else f"in [{claim.low:.4g}, {claim.high:.4g}]"
