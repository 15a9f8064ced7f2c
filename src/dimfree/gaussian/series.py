"""Hermite series of sums over units: sum_j b_j kappa_ij as a polynomial of u_i, at a cost linear in the number of units.

Mehler's formula (docs/theory/committee.md, section 5, with xi = 0): for a pair with correlation u_i.u_j,
kappa_ij = sum_n s_n(Q_i) s_n(Q_j) (u_i.u_j)^n with the normalised Hermite coefficients s_n of the activation, and
(u.v)^n = sum_{|alpha| = n} phi_alpha(u) phi_alpha(v) with phi_alpha(u) = sqrt(n!/alpha!) u^alpha, so the sum over j factors.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations, pairwise
from math import comb, factorial, pi, prod, sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, Erf, PiecewiseLinear, Polynomial
from dimfree.gaussian.adaptive import Sums
from dimfree.gaussian.one_point import general_average, hermite_moments

_FEATURES = 5000  # largest number of Hermite products of the teacher fields
LEAST, MOST = 16, 96  # lowest and highest degree: a shorter series is too inaccurate, a longer one gains nothing
_LEVELS = 24, 40  # shorter series, taken where they leave nothing out
_CHUNK = 64  # units that are evaluated together, which bounds the memory at any width


@lru_cache(maxsize=64)
def series_degrees(sigma: Activation, k: int) -> tuple[int, ...]:
    """The degrees of the series for k teacher directions: as many as fit; none when they would be too few."""
    least, most = (sigma.degree, sigma.degree) if isinstance(sigma, Polynomial) else (LEAST, MOST)
    first, stride = (1, 2) if isinstance(sigma, Erf) else (0, 1)  # erf is odd
    degrees, size = [], 0
    for n in range(first, most + 1, stride):
        size += comb(n + k - 1, k - 1)
        if size > _FEATURES:
            break
        degrees.append(n)
    return tuple(degrees) if degrees and degrees[-1] + stride > least else ()


def series_levels(sigma: Activation, k: int) -> tuple[tuple[int, ...], ...]:
    """The full series and shorter ones, shortest first."""
    full = series_degrees(sigma, k)
    cut = [tuple(n for n in full if n <= top) for top in _LEVELS]
    return (*(level for level in cut if 2 <= len(level) < len(full)), full)


def series_size(sigma: Activation, k: int) -> int:
    """How many Hermite products the series has."""
    return sum(comb(n + k - 1, k - 1) for n in series_degrees(sigma, k))


def normalised_moments(sigma: Activation, Q: Float[Array, "..."], count: int) -> Float[Array, "count ..."]:
    """s_n = E[sigma(sqrt(Q) x) He_n(x)]/sqrt(n!), degree first; written for many degrees at once."""
    match sigma:
        case Erf():
            return _erf_moments(Q, count)
        case Polynomial():
            scale = np.sqrt([float(factorial(n)) for n in range(count)]).reshape(-1, *[1] * Q.ndim)
            return jnp.moveaxis(hermite_moments(sigma, Q, count), -1, 0) * powers(jnp.sqrt(Q), count - 1) / scale
        case PiecewiseLinear():
            return _piecewise_linear_moments(sigma, Q, count)
        case _:
            return _general_moments(sigma, Q, count)


def _general_moments(sigma: Activation, Q: Array, count: int) -> Float[Array, "count ..."]:
    def terms(x: Array, w: Array, scale: Array) -> Sums:
        values, table = w * sigma(scale[..., None] * x), normalised_hermite(x, count)
        shared = x.ndim == 1
        return (values @ table.T if shared else jnp.moveaxis(jnp.sum(table * values, axis=-1), 0, -1),)

    return jnp.moveaxis(general_average(sigma, terms, Q)[0], -1, 0)


def _erf_moments(Q: Array, count: int) -> Float[Array, "count ..."]:
    """The coefficients of erf, by s_{n+2} = -n Q/(1+Q) s_n / sqrt((n+1)(n+2))."""
    share = Q / (1 + Q)
    n = np.arange(1, count, 2)
    ratios = np.concatenate([[sqrt(2 / pi)], -n[:-1] / np.sqrt((n[:-1] + 1.0) * (n[:-1] + 2.0))])
    odd = np.cumprod(ratios).reshape(-1, *[1] * Q.ndim) * jnp.sqrt(share) * powers(share, len(n) - 1)
    return jnp.zeros((count, *Q.shape)).at[1::2].set(odd)


def _piecewise_linear_moments(sigma: PiecewiseLinear, Q: Array, count: int) -> Float[Array, "count ..."]:
    """From the second degree on only the kinks count: s_n = sum bend sqrt(Q) phi(x) He_{n-2}(x)/sqrt(n!) at x = kink/sqrt(Q)."""
    scale = jnp.sqrt(Q)
    x = jnp.asarray(sigma.kinks) / scale[..., None]
    density = jnp.asarray(sigma.bends) * jnp.exp(-0.5 * x**2) / sqrt(2 * pi)
    n = np.arange(2.0, count).reshape(-1, *[1] * Q.ndim)
    bent = jnp.sum(normalised_hermite(x, count - 2) * density, axis=-1) * scale / np.sqrt(n * (n - 1))
    straight = jnp.moveaxis(hermite_moments(sigma, Q, 2), -1, 0)
    return jnp.concatenate([straight * jnp.stack([jnp.ones_like(Q), scale]), bent])


def normalised_hermite(x: Float[Array, "..."], count: int) -> Float[Array, "count ..."]:
    """He_n(x)/sqrt(n!) by recursion."""

    def step(pair: tuple[Array, Array], n: Array) -> tuple[tuple[Array, Array], Array]:
        before, now = pair
        return (now, (x * now - jnp.sqrt(n) * before) / jnp.sqrt(n + 1)), now

    return jax.lax.scan(step, (jnp.zeros_like(x), jnp.ones_like(x)), jnp.arange(1.0 * count))[1]


def powers(x: Array, top: int) -> Float[Array, "n ..."]:
    """1, x, .. x^top along a new first axis."""
    rows = jnp.broadcast_to(x, (top, *x.shape))
    return jnp.concatenate([jnp.ones((1, *x.shape)), jnp.cumprod(rows, axis=0)])


class _Basis(NamedTuple):
    """phi_alpha(u) = scale_alpha u^alpha, so that (u.v)^n = sum_{|alpha| = n} phi_alpha(u) phi_alpha(v)."""

    exponents: np.ndarray[tuple[int, int], np.dtype[np.int64]]
    degrees: np.ndarray[tuple[int], np.dtype[np.int64]]
    scale: np.ndarray[tuple[int], np.dtype[np.float64]]


@lru_cache(maxsize=16)
def _basis(degrees: tuple[int, ...], k: int) -> _Basis:
    rows = []
    for n in degrees:
        bars = combinations(range(n + k - 1), k - 1)
        rows += [tuple(right - left - 1 for left, right in pairwise((-1, *bar, n + k - 1))) for bar in bars]
    scale = [sqrt(factorial(sum(row)) // prod(factorial(j) for j in row)) for row in rows]
    exponents = np.array(rows, dtype=np.int64)
    return _Basis(exponents, exponents.sum(axis=1), np.array(scale))


class _Chunk(NamedTuple):
    """A group of units: powers of their coordinates u, moments of sigma at their norms, and the same for A."""

    powers: Float[Array, "*batch n k c"]
    s: Float[Array, "*batch n c"]
    lifted: Float[Array, "*batch n c"]


def sums_over_units(
    sigma: Activation,
    degrees: tuple[int, ...],
    u: Float[Array, "p k"],
    Q: Float[Array, " p"],
    b: Float[Array, " p"],
) -> tuple[Float[Array, " p"], Float[Array, " p"], Float[Array, "p k"]]:
    """sum_j b_j kappa_ij, sum_j b_j A_ij and the gradient of the first in u_i, chunk by chunk of units."""
    p, k = u.shape
    basis, size, top = _basis(degrees, k), min(_CHUNK, p), degrees[-1]
    prepared: Callable[[tuple[Array, Array]], _Chunk] = lambda unit: _prepared(sigma, unit[0], unit[1], top)  # noqa: E731
    chunks = jax.lax.map(prepared, (_chunked(u, size, 0.0), _chunked(Q, size, 1.0)))

    @jax.checkpoint
    def collect(total: Array, given: tuple[_Chunk, Array]) -> tuple[Array, None]:
        chunk, b = given
        return total + basis.scale * (prod(_columns(basis, chunk), start=_rows(chunk.s, basis.degrees)) @ b), None

    empty = jnp.zeros(len(basis.degrees))
    coefficients, _ = jax.lax.scan(collect, empty, (chunks, _chunked(b, size, 0.0)))
    evaluate = jax.checkpoint(lambda chunk: _evaluated(basis, coefficients, chunk))
    kappa, A, gradient = (x.reshape(-1, *x.shape[2:])[:p] for x in jax.lax.map(evaluate, chunks))
    return kappa, A, gradient


def _prepared(sigma: Activation, u: Float[Array, "c k"], Q: Float[Array, " c"], top: int) -> _Chunk:
    s, n = normalised_moments(sigma, Q, top + 3), np.arange(top + 1)[:, None]
    return _Chunk(powers(u.T, top), s[:-2], np.sqrt((n + 1) * (n + 2)) * s[2:] / Q)


def _evaluated(basis: _Basis, coefficients: Float[Array, " f"], chunk: _Chunk) -> tuple[Array, Array, Array]:
    weights, columns = coefficients * basis.scale, _columns(basis, chunk)
    s, value = _rows(chunk.s, basis.degrees), prod(columns[1:], start=columns[0])
    gradient = []
    for r, exponents in enumerate(basis.exponents.T):
        lowered = _rows(chunk.powers[:, r], np.maximum(exponents - 1, 0))
        rest = prod((column for n, column in enumerate(columns) if n != r), start=lowered)
        gradient.append((weights * exponents) @ (rest * s))
    A = weights @ (value * _rows(chunk.lifted, basis.degrees))
    return weights @ (value * s), A, jnp.stack(gradient, axis=-1)


def _columns(basis: _Basis, chunk: _Chunk) -> list[Float[Array, "f c"]]:
    """u_r^alpha_r for every coordinate r and every product alpha."""
    return [_rows(chunk.powers[:, r], exponents) for r, exponents in enumerate(basis.exponents.T)]


def _rows(table: Float[Array, "n c"], index: np.ndarray[Any, np.dtype[np.int64]]) -> Float[Array, "f c"]:
    """Rows of a table, copied: read inside a fused loop, the compiler would look every entry up by itself."""
    rows: Array = jax.lax.optimization_barrier(table.at[index].get(mode="promise_in_bounds"))  # type: ignore[no-untyped-call]
    return rows


def _chunked(x: Array, size: int, fill: float) -> Array:
    """Rows in groups of `size`, the last one filled up."""
    missing = -x.shape[0] % size
    padded = jnp.concatenate([x, jnp.full((missing, *x.shape[1:]), fill)])
    return padded.reshape(-1, size, *x.shape[1:])
