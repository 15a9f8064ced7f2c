"""One figure of the source documents as an object: what to measure, which statements it must show, how to draw it."""

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeVar

import equinox as eqx
import xarray as xr
from matplotlib.figure import Figure

from dimfree.progress import PartWatcher

Data = TypeVar("Data", xr.Dataset, xr.DataTree)


class Claim(NamedTuple):
    """One statement, and the number that decides it: the statement is true when low <= value <= high."""

    statement: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the number lies where the statement says; a number that is not one never does."""
        return bool(self.low <= self.value <= self.high)


class Entry(eqx.Module, Generic[Data]):
    """One figure. Its ingredients (theories, sizes) are fields: a test replaces one and sees the claims fail."""

    name: eqx.AbstractClassVar[str]  # the word after `dimfree reproduce`
    title: eqx.AbstractClassVar[str]  # one line for `dimfree reproduce --list`, and over the figure
    cites: eqx.AbstractClassVar[tuple[str, ...]]  # keys into references.bib

    @abstractmethod
    def measure(self, full: bool, watch: PartWatcher) -> Data:
        """Every number that the claims and the figure need; with `full` at the sizes of the documents."""

    @abstractmethod
    def claims(self, data: Data) -> tuple[Claim, ...]:
        """The claims that the figure must show."""

    @abstractmethod
    def draw(self, data: Data, figure: Figure) -> None:
        """Draw into an empty figure with constrained layout; the entry chooses its size."""

    @abstractmethod
    def seconds(self, full: bool) -> float:
        """CPU seconds that `measure` will take on a machine like the ones in benchmarks/, compilation included."""
