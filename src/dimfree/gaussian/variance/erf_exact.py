"""Four-point term of the overlap ODE for erf, exact for any covariance (docs/theory/committee.md, section 3.3, (3.4)).

sigma'(u_i) sigma'(u_j) = (2/pi) exp(-(u_i^2 + u_j^2)/2) is itself Gaussian, so it only tilts the law of u: the expectation
of E0^2 under the tilted covariance is a quadratic form in two-point arcsine kernels. Everything here is about visiting
those p^2 (p+k)^2 / 4 arcsines in long fused loops over small blocks, so that nothing large is ever stored.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dimfree.gaussian.arcsine import arcsine

_PAIRS_AT_ONCE = 16  # a block of this many (i, j) keeps its arcsines in the cache (measured at p = 16, 32, 64)
_PAIRS_WITHOUT_LOOP = 64  # below this the loop over blocks costs more than it saves
_STRIPS = 4  # l <= m is exploited strip by strip: 10 of 16 blocks of (l, m) remain

Pairs = Int[np.ndarray, " r"]


def _tilt(Omega: Float[Array, "n n"], i: Pairs, j: Pairs) -> tuple[Float[Array, "3 n r"], Float[Array, " r"]]:
    """Return, for each pair, (1, g, h)/sqrt(1 + diag) of the tilted covariance Omega - g g^T - h h^T, and det(Gamma).

    g and h are the columns of Omega E Gamma^(-1/2) with the Cholesky factor of the 2x2 matrix Gamma = I + E^T Omega E. For
    i = j the same formulas give the one-unit tilt of the sheet, since det(Gamma) = 1 + 2 Omega_ii there.
    """
    q = 1.0 + jnp.diagonal(Omega)
    q_i, q_j, c = q[i], q[j], Omega[i, j]
    det = q_i * q_j - c * c
    column_i, column_j = Omega[i].T, Omega[j].T
    g = column_i / jnp.sqrt(q_i)
    h = (column_j - column_i * (c / q_i)) / jnp.sqrt(det / q_i)
    s = jnp.sqrt(q[:, None] - g * g - h * h)
    return jnp.stack([1.0 / s, g / s, h / s]), det


def _kernel_sums(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], tilted: Float[Array, "3 n r"]
) -> Float[Array, " r"]:
    """Return sum_lm v_l v_m arcsin(tilted correlation of l and m) for each pair, visiting l <= m only, strip by strip."""
    width = -(-v.shape[0] // _STRIPS)
    empty = width * _STRIPS - v.shape[0]
    left, right = np.triu_indices(_STRIPS)
    strips = jnp.pad(v, (0, empty)).reshape(_STRIPS, width)
    twice = np.where(left == right, 1.0, 2.0)[:, None, None]
    weights = jnp.ravel(twice * strips[left][:, :, None] * strips[right][:, None, :])
    blocks = jnp.pad(Omega, (0, empty)).reshape(_STRIPS, width, _STRIPS, width).transpose(0, 2, 1, 3)[left, right]

    def one_block(rows: tuple[Float[Array, "m b"], ...]) -> Float[Array, " b"]:
        s, g, h = (row.reshape(_STRIPS, width, -1) for row in rows)
        correlation = (
            blocks[..., None] * s[left][:, :, None] * s[right][:, None]
            - g[left][:, :, None] * g[right][:, None]
            - h[left][:, :, None] * h[right][:, None]
        )
        return weights @ arcsine(correlation).reshape(weights.shape[0], -1)

    count = tilted.shape[-1]
    rows = tuple(jnp.pad(tilted, ((0, 0), (0, empty), (0, 0))))
    if count <= _PAIRS_WITHOUT_LOOP:
        return one_block(rows)
    short = -count % _PAIRS_AT_ONCE
    split = tuple(
        jnp.pad(row, ((0, 0), (0, short))).reshape(row.shape[0], -1, _PAIRS_AT_ONCE).transpose(1, 0, 2) for row in rows
    )
    sums: Float[Array, "blocks b"] = jax.lax.map(jax.checkpoint(one_block), split)
    return sums.reshape(-1)[:count]


def tilted_squares(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], i: Pairs, j: Pairs
) -> tuple[Float[Array, " r"], Float[Array, " r"]]:
    """Return E[g'(u_i) g'(u_j) E0^2] and E[g'(u_i) g'(u_j)] for the listed pairs of units."""
    tilted, det = _tilt(Omega, i, j)
    plain = (2.0 / np.pi) * jax.lax.rsqrt(det)
    return plain * (2.0 / np.pi) * _kernel_sums(Omega, v, tilted), plain


def variance_erf_exact(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], a: Float[Array, " p"], Delta: Float[Array, ""]
) -> Float[Array, "p p"]:
    """Return a_i a_j E[g'(u_i) g'(u_j) (E0^2 + Delta)] at a cost of p^2 (p+k)^2 / 4 arcsines."""
    p = a.shape[0]
    i, j = np.triu_indices(p)
    squares, plain = tilted_squares(Omega, v, i, j)
    place = np.zeros((p, p), dtype=np.intp)
    place[i, j] = place[j, i] = np.arange(i.size)
    return a[:, None] * a * (squares + Delta * plain)[place]
