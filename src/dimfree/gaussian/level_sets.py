"""What a label without noise says about its preactivation: E[He_k(g) | y] over the level set {g: f(g) = y} of a link.

docs/theory/spectral.md, section 2. The line is cut into pieces on which the link rises, falls or rests: at the real roots of
the derivative for polynomials, at its sign changes for other functions, and at kinks and jumps. A label has at most one
preimage in every piece that moves, found by bisection, and pieces that rest make labels of positive probability.
"""

from collections.abc import Callable
from functools import lru_cache
from math import pi, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from jaxtyping import Array
from numpy.polynomial import polynomial as poly
from numpy.polynomial.hermite_e import hermevander
from scipy.optimize import brentq
from scipy.special import ndtr

from dimfree.errors import ProblemError
from dimfree.functions import Activation, Polynomial, activation
from dimfree.functions.understand import jumps
from dimfree.gaussian.links import Link, on_points
from dimfree.gaussian.nodes import Table, Vector

REACH = 9.0  # beyond this a Gaussian has no weight left
_GRID = np.linspace(-REACH, REACH, 8193)[1:-1] + 1.234e-4  # shifted off the round numbers, where links often turn
_MOST = 64  # pieces
_RESTS = 1e-9  # slope over value below which float64 separates neighbouring labels too badly to invert the link
_INSIDE = 1e-10  # distance kept from an end at which a link may jump
_SLACK = 1e-15  # labels whose relative difference is smaller count as equal
_BLOCK = 2048  # labels whose preimages are searched for together
_AT_ENDS = np.array([_INSIDE, -_INSIDE])
_OnVectors = Callable[[Vector], Vector]


class Atom(NamedTuple):
    """A label of positive probability (from `low` to `high`, where a link saturates), and the pieces on which it rests."""

    low: float
    high: float
    pieces: tuple[tuple[float, float], ...]

    @property
    def probability(self) -> float:
        """The probability of this label."""
        return float(sum(ndtr(right) - ndtr(left) for left, right in self.pieces))

    def hermite(self, count: int) -> Vector:
        """E[He_k(g) | y] for k below `count`: with the Gaussian weight, -He_(k-1) is a primitive of He_k."""
        ends = np.array(self.pieces)
        primitive = -density(ends)[..., None] * hermevander(ends, max(count - 2, 0))
        parts = (primitive[:, 1] - primitive[:, 0]).sum(axis=0) / self.probability
        return np.concatenate([[1.0], parts])[:count]

    def joins(self, other: "Atom") -> bool:
        """Whether two atoms have the same label."""
        return self.low <= other.high + _SLACK * abs(other.high) and other.low <= self.high + _SLACK * abs(self.high)


class LevelSets(NamedTuple):
    """A link in pieces: where it moves, from which label to which, and where it rests."""

    value: _OnVectors
    preimages: Callable[[Vector], tuple[Table, Table]]  # and the slopes there; one row per moving piece
    left: Vector
    right: Vector
    low: Vector  # the labels of a moving piece
    high: Vector
    atoms: tuple[Atom, ...]

    def hermite(self, y: Vector, count: int) -> Table:
        """E[He_k(g) | y] for k below `count`, a row per k; a label that does not occur is read as the nearest that does."""
        found, away = np.zeros((count, len(y))), np.full(len(y), np.inf)
        if len(self.left):
            x, slope = self.preimages(y)
            outside = _distance(y, self.low[:, None], self.high[:, None])
            away = outside.min(axis=0)
            weight = np.where(outside <= away, density(x) / np.maximum(np.abs(slope), 1e-300), 0.0)
            found = np.einsum("pn,pnk->kn", weight, hermevander(x, count - 1)) / weight.sum(axis=0)
        for atom in self.atoms:
            slack = _SLACK * np.abs(y)
            outside = _distance(y, atom.low - slack, atom.high + slack)
            found = np.where(outside <= away, atom.hermite(count)[:, None], found)
            away = np.minimum(outside, away)
        return found

    def cuts(self) -> Vector:
        """Where conditional expectations are not smooth: ends of moving pieces, and all preimages of the labels there."""
        ends = np.concatenate([self.low, self.high, [end for atom in self.atoms for end in atom[:2]]])
        hit = (self.low[:, None] < ends) & (ends < self.high[:, None])
        return np.concatenate([self.left, self.right, self.preimages(ends)[0][hit]])


@lru_cache(maxsize=64)
def level_sets(link: Link) -> LevelSets:
    """The pieces of a link."""
    function = link if callable(link) else activation(link)
    value, slope = on_points(function), on_points(_derivative(function))
    edges = np.array([-REACH, *_turns(function, value, slope), REACH])
    if len(edges) > _MOST:
        raise ProblemError(
            f"the link turns or bends {len(edges) - 2} times between z = -{REACH:g} and {REACH:g}; its level sets are "
            f"followed up to {_MOST - 2} times, so make it slower."
        )
    pieces = np.stack([edges[:-1], edges[1:]], axis=1)
    middle = pieces.mean(axis=1)
    rests = _rests(value(middle), slope(middle))
    moving, resting = pieces[~rests], pieces[rests]
    ends, held = (value((one + _AT_ENDS).ravel()).reshape(-1, 2) for one in (moving, resting))
    inverse = _inverse(function, moving, np.sign(ends[:, 1] - ends[:, 0]))
    left, right = moving.T
    return LevelSets(value, inverse, left, right, ends.min(axis=1), ends.max(axis=1), _atoms(resting, held))


def density(x: Table) -> Table:
    """The density of a standard Gaussian."""
    return np.exp(-0.5 * x**2) / sqrt(2 * pi)


def _derivative(function: Callable[..., Array]) -> Callable[[Array], Array]:
    return lambda z: jax.jvp(function, (z,), (jnp.ones_like(z),))[1]


def _turns(function: Callable[..., Array], value: _OnVectors, slope: _OnVectors) -> list[float]:
    """The points at which the link may turn, bend or become constant, in increasing order."""
    if isinstance(function, Polynomial):
        derivative = np.trim_zeros(poly.polyder(function.coefficients), "b")
        roots = poly.polyroots(derivative) if len(derivative) > 1 else np.zeros(0)
        found = roots.real[np.abs(roots.imag) <= 1e-7 * (1 + np.abs(roots))].tolist()
    else:
        sharp = list(function.kinks) if isinstance(function, Activation) else [*jumps(value), *jumps(slope)]
        found = sharp + [x for x in _smooth_turns(value, slope) if all(abs(x - kink) > 0.01 for kink in sharp)]
    ordered = sorted(x for x in found if abs(x) < REACH - 1e-6)
    return [x for x, before in zip(ordered, [-np.inf, *ordered], strict=False) if x - before > 1e-7]


def _smooth_turns(value: _OnVectors, slope: _OnVectors) -> list[float]:
    """Sign changes of the slope, and places where the link comes to rest."""
    rates = slope(_GRID)
    still = _rests(value(_GRID), rates)
    turning = np.flatnonzero((rates[:-1] * rates[1:] < 0) & ~still[:-1] & ~still[1:])
    resting = np.flatnonzero(still[:-1] != still[1:])
    moves = lambda x: np.abs(slope(x)) - _RESTS * np.abs(value(x)) - 1e-300  # noqa: E731
    return [*_zeros(slope, turning), *_zeros(moves, resting)]


def _zeros(function: _OnVectors, cells: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> list[float]:
    """The zero of a function in each of these cells of the grid."""
    return [
        float(brentq(lambda x: function(np.array([x]))[0], _GRID[cell], _GRID[cell + 1], xtol=1e-14)) for cell in cells
    ]


def _rests(value: Vector, slope: Vector) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.abs(slope) <= _RESTS * np.abs(value)


def _inverse(function: Callable[..., Array], pieces: Table, rising: Vector) -> Callable[[Vector], tuple[Table, Table]]:
    """For labels, the point of every piece that has them (an end of it, if none has) and the slope there."""
    halving = optimistix.Bisection(1e-15, 1e-15, flip=False)  # type: ignore[call-arg, var-annotated]
    slope = _derivative(function)

    def one(y: Array, left: Array, right: Array, up: Array) -> tuple[Array, Array]:
        x: Array = optimistix.root_find(
            lambda x, _: up * (function(x) - y),
            halving,
            0.5 * (left + right),
            options={"lower": left, "upper": right},
            max_steps=64,
            throw=False,
        ).value
        return x, slope(x)

    over_pieces = jax.vmap(jax.vmap(one, (0, None, None, None)), (None, 0, 0, 0))
    ends = (jnp.asarray(pieces[:, 0]), jnp.asarray(pieces[:, 1]))
    solve = jax.jit(lambda y: over_pieces(y, *ends, jnp.asarray(rising)))

    def inverse(y: Vector) -> tuple[Table, Table]:
        blocks = np.pad(y, (0, -len(y) % _BLOCK), mode="edge").reshape(-1, _BLOCK)
        parts = [solve(jnp.asarray(block)) for block in blocks]
        x, rate = (np.concatenate([np.asarray(part[i]) for part in parts], axis=1) for i in (0, 1))
        return x[:, : len(y)], rate[:, : len(y)]

    return inverse


def _atoms(pieces: Table, ends: Table) -> tuple[Atom, ...]:
    """Merge atoms that have the same label."""
    found: list[Atom] = []
    for piece, values in zip(pieces.tolist(), ends.tolist(), strict=True):
        new = Atom(min(values), max(values), ((piece[0], piece[1]),))
        for same in [one for one in found if one.joins(new)]:
            found.remove(same)
            new = Atom(min(same.low, new.low), max(same.high, new.high), same.pieces + new.pieces)
        found.append(new)
    return tuple(found)


def _distance(y: Vector, low: Table, high: Table) -> Table:
    """The distance of points from an interval."""
    return np.maximum(np.maximum(low - y, y - high), 0.0)
