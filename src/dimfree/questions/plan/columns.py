"""What the columns of a table are like, in sentences one can act on, and the scaling that follows from it."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from dimfree.errors import ProblemError
from dimfree.questions.plan.table import Table

Scaling = Literal["common", "each"]
SCALINGS = ("common", "each")
_CONSTANT = 1e-12  # of the largest standard deviation
_DOMINATES = 0.5  # share of the variance in one column
_LARGER = 10.0  # times as much as the others have on average
_SAME = 1e-9  # distance of a correlation from 1
_FAR = 10.0  # standard deviations between a mean and 0
_STRAY = 3.0  # ratio of the norms' variance to a Gaussian's
_RANKS = (2, 0.5)  # the first rank, and the share of all ranks, between which the spectrum's exponent is read off
_FEWEST_RANKS = 5  # of which an exponent says something
_TOLD = 0.999  # correlation of a column with the target that is too good to be true
_NAMED = 4

Names = Shaped[np.ndarray, " k"]


class Columns(NamedTuple):
    """Which columns vary, how they are scaled, the spectrum that results, and what is said."""

    varies: Bool[np.ndarray, " k"]
    scale: Scaling
    spectrum: Float[np.ndarray, " d"]  # eigenvalues, of mean 1, largest first
    exponent: float  # eigenvalues fall as rank^-exponent; not a number where they are few
    said: tuple[str, ...]

    @property
    def effective_rank(self) -> float:
        """(tr Sigma)²/tr Sigma²."""
        return float(self.spectrum.sum() ** 2 / np.sum(self.spectrum**2))


def look_at(table: Table, asked: str | None) -> Columns:
    """Constant, doubled, dominating and shifted columns; every column has its own scale where one would dominate."""
    if asked is not None and asked not in SCALINGS:
        raise ProblemError(f"scale = {asked!r} is not known; choose 'common' or 'each'.")
    Sigma = table.moments.covariance[:-1, :-1]
    spread = np.sqrt(np.diag(Sigma))
    varies = spread > _CONSTANT * spread.max()
    if not varies.any():
        raise ProblemError(f"no column of {table.name} varies; give features that do.")
    names = np.array(table.columns)
    live = Sigma[np.ix_(varies, varies)]
    variances = np.diag(live)
    share = float(variances.max() / variances.sum())
    dominates = share > _DOMINATES and share * (len(variances) - 1) > _LARGER * (1 - share)
    scale: Scaling = "each" if asked == "each" or (asked is None and dominates) else "common"
    scaled = live / np.sqrt(np.outer(variances, variances)) if scale == "each" else live
    values = np.maximum(np.linalg.eigvalsh(scaled)[::-1], 0.0)
    values = values / values.mean()
    said = [*_said_of_shape(table, int(varies.sum())), *_constant(names[~varies])]
    said += _telling(table, varies)
    said += _doubled(live / np.sqrt(np.outer(variances, variances)), names[varies])
    if dominates:
        word = names[varies][np.argmax(variances)]
        done = (
            "every column is divided by its standard deviation"
            if scale == "each"
            else "scale = 'each' would divide it out"
        )
        said.append(f"Column {word} has {100 * share:.0f} % of the variance of all columns; {done}.")
    said += [*_shifted(table, spread, varies), *_stray(table, varies, scale, values)]
    return Columns(varies, scale, values, exponent(values), tuple(said))


def exponent(values: Float[np.ndarray, " d"]) -> float:
    """The power with which eigenvalues fall with their rank, by a straight line through their logarithms."""
    ranks = np.arange(1.0, len(values) + 1)
    inner = (ranks >= _RANKS[0]) & (ranks <= max(_RANKS[1] * len(values), 4)) & (values > _CONSTANT * values[0])
    if inner.sum() < _FEWEST_RANKS:
        return float("nan")
    return float(-np.polyfit(np.log(ranks[inner]), np.log(values[inner]), 1)[0])


def _said_of_shape(table: Table, columns: int) -> Iterator[str]:
    if table.moments.count <= columns:
        yield (
            f"There are {table.moments.count} rows and {columns} columns: fewer rows than columns determine no covariance. A "
            "linear teacher with a ridge is fitted, and theory is a rough guide."
        )


def _constant(names: Names) -> Iterator[str]:
    if len(names):
        columns = "column is constant and" if len(names) == 1 else "columns are constant and"
        yield f"{len(names)} {columns} left out: {_few(names)}."


def _telling(table: Table, varies: Bool[np.ndarray, " k"]) -> Iterator[str]:
    """Columns that give the target away, and those that may only number the rows."""
    Sigma = table.moments.covariance
    spread = np.sqrt(np.diag(Sigma))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(Sigma[-1, :-1]) / (spread[:-1] * spread[-1])
    names = np.array(table.columns)
    if len(given := names[varies & (correlation > _TOLD)]):
        yield (
            f"Column {_few(given)} says nearly all of the target by itself; leave it out, unless it is known before the target."
        )
    if len(numbers := names[varies & _counting(table)]):
        yield (
            f"Column {_few(numbers)} has another whole number in every row, as row numbers have; leave it out if it is one."
        )
    if len(unnamed := [name for name in names[varies] if str(name).startswith("Unnamed: ")]):
        yield f"Column {_few(np.array(unnamed))} has no name, as row numbers have in files of pandas; leave it out if it is one."


def _counting(table: Table) -> Bool[np.ndarray, " k"]:
    """Columns with names whose whole numbers are all different, and no more spread out than there are rows."""
    known = np.array([not name.startswith("Unnamed: ") for name in table.columns])
    X = np.sort(table.X, axis=0)
    steps = np.diff(X, axis=0)
    return known & np.all((steps >= 1) & (steps % 1 == 0), axis=0) & (X[-1] - X[0] < table.moments.count)


def _doubled(correlation: Float[np.ndarray, "d d"], names: Names) -> Iterator[str]:
    first, second = np.nonzero(np.triu(np.abs(correlation) > 1 - _SAME, 1))
    if len(first):
        pairs = [f"{names[i]} and {names[j]}" for i, j in zip(first[:_NAMED], second[:_NAMED], strict=True)]
        more = ", ..." if len(first) > _NAMED else ""
        many = "1 pair of columns says" if len(first) == 1 else f"{len(first)} pairs of columns say"
        yield (
            f"{many} the same ({', '.join(pairs)}{more}): they count twice for every rate; leave one of each out, unless you "
            "want that."
        )


def _shifted(table: Table, spread: Float[np.ndarray, " k"], varies: Bool[np.ndarray, " k"]) -> Iterator[str]:
    """Means far from 0: harmless, because rows are centred, but not in a script that forgets it."""
    away = np.abs(table.moments.mean[:-1][varies]) / spread[varies]
    if away.max() > _FAR:
        name = np.array(table.columns)[varies][np.argmax(away)]
        yield (
            f"Column {name} lies {away.max():.3g} standard deviations from 0: rows are centred here, and must be wherever the "
            "plan is used."
        )


def _stray(
    table: Table, varies: Bool[np.ndarray, " k"], scale: Scaling, values: Float[np.ndarray, " d"]
) -> Iterator[str]:
    """Rows of enormous norm, which is what standardised pixels have."""
    x = table.X[:, varies] - table.X[:, varies].mean(axis=0)
    squares = np.sum((x / x.std(axis=0)) ** 2 if scale == "each" else x**2, axis=1)
    ratio = float(np.var(squares / squares.mean()) * values.sum() ** 2 / (2 * np.sum(values**2)))
    if ratio > _STRAY:
        advice = "scale = 'common' often mends it" if scale == "each" else "look at the rows of largest norm"
        yield (
            f"The squared norms of rows vary {ratio:.2g} times as much as those of Gaussians: Gaussian theory allows rates at "
            f"which these rows diverge, so rates are capped; {advice}."
        )


def _few(names: Names) -> str:
    return ", ".join(map(str, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
