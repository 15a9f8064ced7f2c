"""Four-point term of the overlap ODE for ReLU: E[theta_i theta_j r_l r_m] by an orthant recursion (section 3.3).

Integration by parts removes the two linear factors (docs/theory/committee.md, section 3.3, "ReLU"), one at a time, until
orthant probabilities remain. Those of up to three units are sums of arcsines. That of four is one smooth integral, shared by
all the tuples on the same four units. Everything is written for unit variances (ReLU is homogeneous), so that a unit enters
only through its correlations; perfectly correlated, opposite and null units then need no case of their own, provided that a
unit which conditioning makes constant counts as independent of the others: its two one-sided limits average to that.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dimfree.gaussian.arcsine import arcsine

_DEGENERATE = 1e-14  # below this, 1 - rho^2 is rounding error and the units are the same up to sign
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_NODES = 64
_TUPLES_AT_ONCE = 4096
_QUADS_AT_ONCE = 256

Correlations = dict[tuple[int, int], Float[Array, " r"]]  # upper triangle, by position within a tuple
Index = Int[np.ndarray, " r"]


class _Group(NamedTuple):
    """Tuples (i, j, l, m) with the same number of distinct units, as positions l, m, others; `pair` numbers (i, j)."""

    units: Int[np.ndarray, "s r"]
    pair: Index
    twice: Float[np.ndarray, " r"]


def _angle(rho: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return arcsin(rho), with a zero instead of an infinite derivative at rho = +-1."""
    inside = jnp.abs(rho) < 1.0 - _DEGENERATE
    return jnp.where(inside, arcsine(jnp.where(inside, rho, 0.0)), 0.5 * np.pi * jnp.sign(rho))


def _safe_sqrt(x: Float[Array, "*s"], floor: float) -> Float[Array, "*s"]:
    """Return sqrt(x), zero (also in its derivative) below the floor."""
    regular = x > floor
    return jnp.where(regular, jnp.sqrt(jnp.where(regular, x, 1.0)), 0.0)


def _ratio(x: Float[Array, "*s"], y: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Return x/y, zero where y = 0."""
    return jnp.where(y > 0.0, x / jnp.where(y > 0.0, y, 1.0), 0.0)


def _rho(R: Correlations, a: int, b: int) -> Float[Array, " r"] | float:
    """Look up a correlation."""
    return 1.0 if a == b else R[min(a, b), max(a, b)]


def _condition(R: Correlations, units: tuple[int, ...], b: int) -> tuple[dict[int, Float[Array, " r"]], Correlations]:
    """Return the standard deviations and correlations of the other units given x_b = 0."""
    others = [c for c in units if c != b]
    sd = {c: _safe_sqrt(jnp.asarray((1.0 - _rho(R, b, c)) * (1.0 + _rho(R, b, c))), _DEGENERATE) for c in others}
    rest = {(c, d): _ratio(R[c, d] - _rho(R, b, c) * _rho(R, b, d), sd[c] * sd[d]) for c, d in combinations(others, 2)}
    return sd, rest


def _orthant(R: Correlations, units: tuple[int, ...]) -> Float[Array, " r"] | float:
    """Return the probability that up to three units are all positive."""
    angles: Float[Array, " r"] | float = sum((_angle(R[c, d]) for c, d in combinations(units, 2)), 0.0)
    return 0.5 ** len(units) + angles / (2.0 * np.pi) * (0.5 if len(units) == 3 else 1.0)


def _first_moment(R: Correlations, units: tuple[int, ...], m: int) -> Float[Array, " r"] | float:
    """Return E[prod theta x_m]."""
    total: Float[Array, " r"] | float = 0.0
    for b in units:
        _, given = _condition(R, units, b)
        total = total + _rho(R, m, b) * _orthant(given, tuple(c for c in units if c != b))
    return total / _ROOT_2PI


def _second_moment(
    R: Correlations, units: tuple[int, ...], m: int, P: Float[Array, " r"] | float
) -> Float[Array, " r"] | float:
    """Return E[prod theta x_0 x_m], given the orthant probability P of all units."""
    total = _rho(R, 0, m) * P
    for b in units:
        if b != m:
            sd, given = _condition(R, units, b)
            inner = sd[m] * _first_moment(given, tuple(c for c in units if c != b), m)
            total = total + _rho(R, 0, b) / _ROOT_2PI * inner
    return total


def _four_orthant(R: Correlations) -> Float[Array, " r"]:
    """Return the probability that four units are all positive: Plackett's integral over correlations tau R.

    With tau = sin(phi) the inverse square roots at tau = 1 of a nearly singular R become regular, so that Gauss-Legendre
    converges geometrically up to, and at, exact linear dependence.
    """
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    phi = 0.25 * np.pi * (x + 1.0)[:, None]
    tau, cos = np.sin(phi), np.cos(phi)
    total = jnp.zeros((_NODES, 1))
    for a, b in combinations(range(4), 2):
        c, d = (e for e in range(4) if e not in (a, b))
        ab, cd = R[a, b], _rho(R, c, d)
        ac, ad, bc, bd = _rho(R, a, c), _rho(R, a, d), _rho(R, b, c), _rho(R, b, d)
        det_ab = cos**2 + tau**2 * (1.0 - ab) * (1.0 + ab)
        det_abc = det_ab - tau**2 * (ac**2 + bc**2 - 2.0 * tau * ab * ac * bc)
        det_abd = det_ab - tau**2 * (ad**2 + bd**2 - 2.0 * tau * ab * ad * bd)
        covariance = tau * (cd * det_ab - tau * (ac * ad + bc * bd - tau * ab * (ac * bd + bc * ad)))
        angle = _angle(_ratio(covariance, _safe_sqrt(det_abc * det_abd, _DEGENERATE**2)))
        total = total + ab * cos * _ratio(0.25 + angle / (2.0 * np.pi), _safe_sqrt(det_ab, _DEGENERATE))
    return 1.0 / 16.0 + jnp.asarray(0.125 * weight) @ total


def _in_blocks(
    f: Callable[[Int[Array, "s r"]], Float[Array, " r"]], units: Int[np.ndarray, "s r"], size: int
) -> Float[Array, " r"]:
    """Apply f to the columns of `units`, a bounded number at a time."""
    count = units.shape[1]
    if count <= size:
        return f(jnp.asarray(units))
    padded = np.pad(units, ((0, 0), (0, -count % size)), mode="edge").reshape(units.shape[0], -1, size)
    values: Float[Array, "blocks size"] = jax.lax.map(jax.checkpoint(f), jnp.asarray(padded.transpose(1, 0, 2)))
    return values.reshape(-1)[:count]


def _lookup(R: Float[Array, "n n"], units: Int[Array, "s r"]) -> Correlations:
    """Gather the correlations within each tuple."""
    return {(a, b): R[units[a], units[b]] for a, b in combinations(range(units.shape[0]), 2)}


@lru_cache(maxsize=16)
def _groups(p: int, n: int) -> dict[tuple[int, int], _Group]:
    """Sort the tuples i <= j < p, l <= m < n by (number of distinct units, position of m)."""
    (i, j), (ell, m) = np.triu_indices(p), np.triu_indices(n)
    pair = np.repeat(np.arange(i.size), ell.size)
    i, j, ell, m = np.repeat(i, ell.size), np.repeat(j, ell.size), np.tile(ell, i.size), np.tile(m, i.size)
    new_i = (i != ell) & (i != m)
    new_j = (j != ell) & (j != m) & (j != i)
    size = 1 + (ell != m) + new_i + new_j
    other = np.where(new_i, i, j)
    groups = {}
    for position in (0, 1):
        for s in range(1 + position, 5):
            chosen = np.flatnonzero((size == s) & ((ell != m) == bool(position)))
            columns = [ell, m, other, j] if position else [ell, other, j]
            if chosen.size:
                units = np.stack([column[chosen] for column in columns[:s]])
                groups[s, position] = _Group(units, pair[chosen], 1.0 + position * np.ones(chosen.size))
    return groups


def _four_orthants(R: Float[Array, "n n"], units: Int[np.ndarray, "4 r"]) -> Float[Array, " r"]:
    """Return the orthant probability of each tuple of four units, computing it once for each set."""
    sets, which = np.unique(np.sort(units, axis=0), axis=1, return_inverse=True)
    return _in_blocks(lambda quads: _four_orthant(_lookup(R, quads)), sets, _QUADS_AT_ONCE)[which.reshape(-1)]


def _moments(R: Float[Array, "n n"], units: Int[np.ndarray, "s r"], m: int) -> Float[Array, " r"]:
    """Return E[prod theta x_l x_m] for each tuple of a group."""
    s = units.shape[0]
    positions = tuple(range(s))

    def closed(block: Int[Array, "s r"]) -> Float[Array, " r"]:
        C = _lookup(R, block)
        P = 0.0 if s == 4 else _orthant(C, positions)
        return jnp.broadcast_to(jnp.asarray(_second_moment(C, positions, m, P)), block.shape[1:])

    total = _in_blocks(closed, units, _TUPLES_AT_ONCE)
    return total + R[units[0], units[m]] * _four_orthants(R, units) if s == 4 else total


def variance_relu(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], a: Float[Array, " p"], Delta: Float[Array, ""]
) -> Float[Array, "p p"]:
    """Return a_i a_j E[g'(u_i) g'(u_j) (E0^2 + Delta)], u ~ N(0, Omega) with the p students first, E0 = sum_l v_l g(u_l)."""
    p, n = a.shape[0], v.shape[0]
    sd = _safe_sqrt(jnp.diagonal(Omega), 0.0)
    R = _ratio(Omega, sd[:, None] * sd)
    weight = v * sd
    first, second = np.triu_indices(p)
    distinct = 0.25 + _angle(R[first, second]) / (2.0 * np.pi)
    total = Delta * jnp.where(first == second, 0.5, distinct)
    for (_, m), group in _groups(p, n).items():
        l_units, m_units = group.units[0], group.units[m]
        terms = group.twice * weight[l_units] * weight[m_units] * _moments(R, group.units, m)
        total = total + jax.ops.segment_sum(terms, group.pair, num_segments=first.size, indices_are_sorted=True)
    place = np.zeros((p, p), dtype=np.intp)
    place[first, second] = place[second, first] = np.arange(first.size)
    return a[:, None] * a * total[place]
