"""Counts, means and covariances of columns in one pass over pieces of a table, and rows drawn from all of them."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    from pandas import DataFrame

Matrix = Float[np.ndarray, "n k"]


@dataclass
class Moments:
    """Of columns, the target last; the pieces' moments are merged, so that no precision is lost to large means."""

    width: int
    count: int = 0
    mean: Float[np.ndarray, " k"] = field(init=False)
    squares: Float[np.ndarray, "k k"] = field(init=False)  # sum of (x - mean)(x - mean)ᵀ

    def __post_init__(self) -> None:
        self.mean, self.squares = np.zeros(self.width), np.zeros((self.width, self.width))

    def add(self, rows: Matrix) -> None:
        """One piece more."""
        mean, total = rows.mean(axis=0), self.count + len(rows)
        apart, about = mean - self.mean, rows - mean
        self.squares += about.T @ about + np.outer(apart, apart) * self.count * len(rows) / total
        self.mean += apart * len(rows) / total
        self.count = total

    @property
    def covariance(self) -> Float[np.ndarray, "k k"]:
        """Over all rows."""
        return self.squares / self.count


class Sample:
    """At most so many rows, each subset of all rows being as likely as any other; in their order where all are kept."""

    def __init__(self, most: int, seed: int) -> None:
        self.most, self.chance = most, np.random.default_rng(seed)
        self.frames: list[DataFrame] = []
        self.ranks: list[Float[np.ndarray, " n"]] = []

    def add(self, piece: "DataFrame") -> None:
        """Keep the rows of the lowest ranks, which are drawn at random."""
        self.frames.append(piece)
        self.ranks.append(self.chance.random(len(piece)))
        if sum(map(len, self.frames)) > 2 * self.most:
            self._cut()

    def _cut(self) -> None:
        import pandas

        ranks = np.concatenate(self.ranks)
        chosen = np.sort(np.argsort(ranks, kind="stable")[: self.most])
        self.frames = [pandas.concat(self.frames, ignore_index=True).iloc[chosen]]
        self.ranks = [ranks[chosen]]

    def rows(self) -> "DataFrame":
        """The rows that are kept."""
        self._cut()
        return self.frames[0]
