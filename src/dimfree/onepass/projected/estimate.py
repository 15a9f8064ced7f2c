"""The exponents of a table with their errors: by chance, and by the window of ranks (docs/theory/scaling.md, sections 5 and 6).

The sample noise of the coefficients, Delta/rows for every mode, is taken off the energies. Ranks at which eigenvalues are biased
low for want of rows, and those at which this noise hides the target, are not used.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.errors import ProblemError
from dimfree.onepass.projected.exponents import FEWEST, energy_exponent, exponents
from dimfree.onepass.projected.phases import phase

Vector = Float[np.ndarray, " _"]
Matrix = Float[np.ndarray, "_ _"]
_FIRST = 3  # rank at which windows begin, because leading modes rarely follow a power law
_ROWS_PER_RANK = 10
_BLOCKS = 40  # blocks of rows, which are drawn with replacement
_DRAWS = 60
_VANISHING = 1e-12  # of the largest eigenvalue
_CUT = 0.5  # of all ranks: the last ones of a table fall off whatever the law


class Window(NamedTuple):
    """Exponents from one window of ranks; beta from those up to `seen`, and nan if they are too few."""

    first: int
    last: int
    seen: int
    alpha: float
    beta: float


class Estimate(NamedTuple):
    """Alpha and beta of a table. `by_chance` are standard errors over drawn rows, `by_window` half the range over windows.

    `phases` are shares of all drawn tables and windows whose point lies in a phase; beta is nan where labels are too noisy.
    """

    alpha: float
    beta: float
    by_chance: tuple[float, float]
    by_window: tuple[float, float]
    windows: tuple[Window, ...]  # the whole one first
    phases: dict[str, float]
    rows: int
    hidden_beyond: int  # the last rank at which the target is not hidden by noise


class _Moments(NamedTuple):
    """Averages over rows: x xᵀ, x y and y²."""

    xx: Matrix
    xy: Vector
    yy: float


class _Modes(NamedTuple):
    """Eigenvalues in falling order, energies of the target, and what they leave of the labels."""

    h: Vector
    energies: Vector
    left: float


def estimate(x: Float[np.ndarray, "n v"], y: Float[np.ndarray, " n"], seed: int = 0) -> Estimate:
    """The exponents of centred rows and their labels."""
    n, v = x.shape
    last = min(n // _ROWS_PER_RANK, int(_CUT * v))
    if last - _FIRST + 1 < 2 * FEWEST:
        raise ProblemError(
            f"a table of {n} rows and {v} columns has {max(last - _FIRST + 1, 0)} ranks that exponents could be read off, and "
            f"{2 * FEWEST} are needed; give more rows or columns."
        )
    order = np.random.default_rng(seed).permutation(n)
    parts = [order[part::_BLOCKS] for part in range(min(_BLOCKS, n // 2))]
    blocks = [_Moments(x[p].T @ x[p] / len(p), x[p].T @ y[p] / len(p), float(np.mean(y[p] ** 2))) for p in parts]
    table = _modes(_mean(blocks))
    noise = table.left / max(n - len(table.h), 1)
    seen = _seen(table, noise)
    windows = _windows(table, noise, seen, last)
    rng, points = np.random.default_rng(seed + 1), []
    for _ in range(_DRAWS):
        drawn = _modes(_mean([blocks[k] for k in rng.integers(len(blocks), size=len(blocks))]))
        # coefficients of a drawn table have the noise of the table itself, and once more that of the draw
        points.append([(one.alpha, one.beta) for one in _windows(drawn, 2 * noise, seen, last)])
    chance = np.std(np.array(points)[:, 0], axis=0, ddof=1)
    betas = {(one.first, one.seen): one.beta for one in windows if np.isfinite(one.beta)}
    names = Counter(phase(a, b).name for a, b in np.reshape(points, (-1, 2)) if np.isfinite(b))
    return Estimate(
        windows[0].alpha,
        windows[0].beta,
        (float(chance[0]), float(chance[1])),
        (_half_range([one.alpha for one in windows]), _half_range([*betas.values()])),
        windows,
        {name: count / sum(names.values()) for name, count in names.most_common()},
        n,
        seen,
    )


def _half_range(values: list[float]) -> float:
    """Half the range of the values; not known for a single value."""
    return float(np.ptp(values)) / 2 if len(values) > 1 else np.nan


def _mean(blocks: list[_Moments]) -> _Moments:
    xx, xy, yy = zip(*blocks, strict=True)
    return _Moments(np.mean(xx, axis=0), np.mean(xy, axis=0), float(np.mean(yy)))


def _modes(moments: _Moments) -> _Modes:
    values, U = np.linalg.eigh(moments.xx)
    held = values > _VANISHING * values[-1]
    h, along = values[held][::-1], (U.T @ moments.xy)[held][::-1]
    energies = along**2 / h
    return _Modes(h, energies, max(moments.yy - float(energies.sum()), 0.0))


def _seen(table: _Modes, noise: float) -> int:
    """The last rank from which on the energy of the target is above what noise alone would give."""
    tails, modes = np.cumsum(table.energies[::-1])[::-1], np.arange(len(table.h), 0, -1)
    hidden = np.flatnonzero(tails < 2 * noise * modes)
    return int(hidden[0]) if len(hidden) else len(table.h)


def _windows(table: _Modes, noise: float, seen: int, last: int) -> tuple[Window, ...]:
    """The whole window and its two halves."""
    middle = round((_FIRST * last) ** 0.5)
    bounds = ((_FIRST, last), (_FIRST, max(middle, _FIRST + FEWEST - 1)), (min(middle, last - FEWEST + 1), last))
    return tuple(_window(table.h, table.energies - noise, low, min(high, len(table.h)), seen) for low, high in bounds)


def _window(h: Vector, energies: Vector, first: int, last: int, seen: int) -> Window:
    """Alpha from all ranks of the window, beta from those at which the target is seen."""
    alpha, end = exponents(h, np.ones(len(h)), first, last).alpha, min(last, seen)
    beta = energy_exponent(energies, first, end) / 2 - alpha if end - first + 1 >= FEWEST else np.nan
    return Window(first, last, end, alpha, beta)
