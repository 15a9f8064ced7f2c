"""The base of all answers to questions: words, plain data, a file and a figure."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import xarray as xr
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dimfree.comparison.text import plain_text, slim
from dimfree.drawing import drawing
from dimfree.plain_data import plain
from dimfree.problem import Problem
from dimfree.results.dataset import origin
from dimfree.results.store import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = TypeVar("P", bound=Problem, covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class Answer(ABC, Generic[P]):
    """The answer to one question about one problem."""

    problem: P

    @abstractmethod
    def said(self) -> Iterator[Table | str]:
        """Tables and sentences, in the order in which they are read."""

    @abstractmethod
    def values(self) -> dict[str, object]:
        """The numbers by name; `to_dict` turns them into plain data."""

    @abstractmethod
    def datasets(self) -> Mapping[str, xr.Dataset]:
        """All numbers with labelled axes, one dataset per account."""

    @abstractmethod
    def draw(self, figure: "Figure") -> None:
        """Draw into an empty figure with constrained layout; the answer chooses its size."""

    def __rich__(self) -> Group:
        """The answer as it is printed in a terminal."""
        return Group(*(Text(part) if isinstance(part, str) else slim(part) for part in self.said()))

    def summary(self) -> str:
        """All tables and sentences as text, one sentence per line."""
        return plain_text(self.said())

    def __repr__(self) -> str:
        """What a prompt or a notebook shows: the summary, without arrays."""
        return self.summary()

    def to_dict(self) -> dict[str, object]:
        """The problem and the numbers as plain data; NaN and infinity become None."""
        return {"problem": self.problem.model_dump(mode="json")} | plain(self.values())

    def to_tree(self) -> xr.DataTree:
        """All datasets, and where they came from."""
        tree = xr.DataTree.from_dict(dict(self.datasets()))
        tree.attrs.update(origin(self.problem))
        return tree

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file."""
        save(self.to_tree(), Path(path))
        return Path(path)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: 0, unless the answer itself is a failure."""
        return 0

    def files(self, folder: Path, name: str) -> dict[str, Path]:
        """Write figure and numbers into a folder, named after the question; return the paths of the files by what they hold."""
        written = {"figure": folder / f"{name}.png", "results": folder / f"{name}.nc"}
        self.plot(written["figure"])
        self.save(written["results"])
        return written

    def plot(self, path: str | Path | None = None) -> "Figure":
        """The figure; written to a file, if one is named."""
        return drawing(self.draw, path)
