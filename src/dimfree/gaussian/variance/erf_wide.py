"""Four-point term of the overlap ODE for erf at large width: closed control variates plus a small sampled remainder.

The closed form costs p^2 (p+k)^2 / 4 arcsines (docs/theory/committee.md, section 3.3). Here g'_i g'_j E0^2 is split into
parts whose expectations are closed and cheap, and only the rest is averaged over fixed Sobol points u = A xi, A A^T = Omega:

* E0^2 = 2 (l.u) E0 - (l.u)^2 + r(u), r = (E0 - l.u)^2, with l.u the linear part of E0. The first two terms need, by Stein's
  lemma under the law tilted by a pair, O(p+k) operations per pair; r is a few per cent of E0^2;
* g'_i = m_i + delta_i: E[g'_i r] is a tilt by one unit, hence p (p+k)^2 / 2 arcsines for all i;
* delta_i = (its regression on the teachers' delta) + eps_i: pairs with a teacher in them are few and done exactly.

What remains, E[eps_i eps_j r], is a weighted Gram matrix of the samples: one matrix product. Since eps vanishes as students
align with teachers, the error falls during specialisation, where E0^2 itself becomes small.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Float, Int

from dimfree.gaussian.points import normal_points
from dimfree.gaussian.variance.erf_exact import tilted_squares

_POINTS = 4096
_POINTS_AT_ONCE = 1024  # one block of preactivations stays in the cache
_NULL_PIVOT = 1e-10  # relative
_RIDGE = 1e-10  # relative; teachers may repeat each other
_UNITS_PER_ANCHOR = 16  # at most p/16 teachers are treated exactly, so that their cost stays below that of the samples
_SLOPE = np.sqrt(2.0 / np.pi)  # g'(0)


class _Closed(NamedTuple):
    """Closed moments: of g'(u_l), and of q = 2 (l.u) E0 - (l.u)^2 against pairs of kept units (students, anchors, null)."""

    m: Float[Array, " n"]  # E[g'_l]
    slope: Float[Array, " n"]  # l
    B: Float[Array, "w w"]  # E[g'_i g'_j]
    q: Float[Array, "w w"]  # E[g'_i g'_j q]


def _closed(Omega: Float[Array, "n n"], v: Float[Array, " n"], kept: Int[np.ndarray, " w"]) -> _Closed:
    """Tilt by every pair of kept units: Omega - g g^T - h h^T, as in `variance_erf_exact`, but applied to the vector l."""
    z = 1.0 + jnp.diagonal(Omega)
    m = _SLOPE / jnp.sqrt(z)
    slope = v * m
    image = Omega @ slope
    z_j, image_j, columns = z[kept], image[kept], Omega[:, kept]

    def row(i: Int[Array, ""]) -> tuple[Float[Array, " w"], Float[Array, " w"]]:
        z_i, column, c = z[i], Omega[:, i], columns[i]
        det = z_i * z_j - c * c
        scale = jnp.sqrt(det / z_i)
        h, h_slope = (columns - column[:, None] * (c / z_i)) / scale, (image_j - image[i] * (c / z_i)) / scale
        g, g_slope = column / jnp.sqrt(z_i), image[i] / jnp.sqrt(z_i)
        tilted_image = (image - g * g_slope)[:, None] - h * h_slope
        cross = _SLOPE * (v @ (tilted_image / jnp.sqrt((z - g * g)[:, None] - h * h)))
        square = slope @ image - g_slope**2 - h_slope**2
        plain = (2.0 / np.pi) / jnp.sqrt(det)
        return plain, plain * (2.0 * cross - square)

    B, q = jax.lax.map(jax.checkpoint(row), jnp.asarray(kept))
    return _Closed(m, slope, B, q)


def _exact_rest(
    Omega: Float[Array, "n n"], v: Float[Array, " n"], closed: _Closed, kept: Int[np.ndarray, " w"], p: int
) -> tuple[Float[Array, " w"], Float[Array, "p t"], Float[Array, "t t"]]:
    """Return E[(delta_i + m_i/2) r] for the kept units, then E[delta_i delta_t r] for students i and for anchors i.

    The half makes E[g'_i g'_j r] = E[delta_i delta_j r] + m_i single_j + m_j single_i.
    """
    null = kept.size - 1
    anchors = null - p
    t = np.arange(p, null)
    first, second = np.triu_indices(anchors)
    i = np.concatenate([np.arange(null + 1), np.repeat(np.arange(p), anchors), t[first]])
    j = np.concatenate([np.full(null + 1, null), np.tile(t, p), t[second]])
    squares, _ = tilted_squares(Omega, v, kept[i], kept[j])
    r, m = squares - closed.q[i, j], closed.m[kept]
    single = r[: null + 1] / _SLOPE
    single = single - 0.5 * m * single[null] / _SLOPE
    i, j = i[null + 1 :], j[null + 1 :]
    both = r[null + 1 :] - m[i] * single[j] - m[j] * single[i]
    place = np.zeros((anchors, anchors), dtype=np.intp)
    place[first, second] = place[second, first] = np.arange(first.size)
    return single, both[: p * anchors].reshape(p, anchors), both[p * anchors :][place]


def _factor(S: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return a lower triangular A with A A^T = S for semidefinite S: a Cholesky factor with null columns for null pivots.

    Unlike LAPACK's it never fails and has finite derivatives on singular S, and it starts no second pool of threads.
    """
    null = _NULL_PIVOT * jnp.mean(jnp.diagonal(S))

    def eliminate(S: Float[Array, "n n"], j: Int[Array, ""]) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
        regular = S[j, j] > null
        column = jnp.where(regular, S[j] / jnp.sqrt(jnp.where(regular, S[j, j], 1.0)), 0.0)
        return S - column[:, None] * column, column

    columns: Float[Array, "n n"] = jax.lax.scan(eliminate, S, jnp.arange(S.shape[0]))[1]
    return columns.T


def _sampled_rest(
    Omega: Float[Array, "n n"],
    v: Float[Array, " n"],
    closed: _Closed,
    regression: Float[Array, "p t"],
    xi: Float[np.ndarray, "N n"],
) -> Float[Array, "p p"]:
    """Return the average of eps_i eps_j r over the points. E0^2 and g' are even, so mirror images would add nothing."""
    n, (p, anchors) = v.shape[0], regression.shape
    order = np.roll(np.arange(n), n - p)  # teachers first: they take the leading, best distributed Sobol directions
    A = _factor(Omega[order][:, order])[np.argsort(order)]

    def add(total: Float[Array, "p p"], points: Float[Array, "b n"]) -> tuple[Float[Array, "p p"], None]:
        u = points @ A.T
        rest = (erf(u * np.sqrt(0.5)) @ v - u @ closed.slope[:n]) ** 2
        delta = _SLOPE * jnp.exp(-0.5 * u[:, : p + anchors] ** 2) - closed.m[: p + anchors]
        eps = delta[:, :p] - delta[:, p:] @ regression.T
        return total + (eps * rest[:, None]).T @ eps, None

    blocks = jnp.asarray(xi).reshape(-1, min(_POINTS_AT_ONCE, xi.shape[0]), n)
    total: Float[Array, "p p"] = jax.lax.scan(jax.checkpoint(add), jnp.zeros((p, p), Omega.dtype), blocks)[0]
    return total / len(xi)


def _variance(
    Omega: Float[Array, "n n"],
    v: Float[Array, " n"],
    a: Float[Array, " p"],
    Delta: Float[Array, ""],
    xi: Float[np.ndarray, "N n"],
) -> Float[Array, "p p"]:
    """Put the closed, the exact and the sampled parts together.

    A null unit (zero variance, g' = g'(0) always, no weight) appended to Omega makes the tilt by one unit a tilt by a pair.
    """
    n, p = v.shape[0], a.shape[0]
    anchors = min(n - p, max(1, p // _UNITS_PER_ANCHOR))
    kept = np.append(np.arange(p + anchors), n)
    padded, padded_v = jnp.pad(Omega, (0, 1)), jnp.pad(v, (0, 1))
    closed = _closed(padded, padded_v, kept)
    single, student_anchor, anchor_anchor = _exact_rest(padded, padded_v, closed, kept, p)
    t = slice(p, p + anchors)
    C = closed.B[:, t] - closed.m[kept, None] * closed.m[t]  # covariances of delta with the anchors' delta
    ridge = _RIDGE * jnp.trace(C[t]) * jnp.eye(anchors)
    regression: Float[Array, "p t"] = jnp.linalg.solve(C[t] + ridge, C[:p].T).T
    cross = student_anchor @ regression.T
    anchored = cross + cross.T - regression @ anchor_anchor @ regression.T
    shifted = closed.m[:p, None] * single[:p]
    rest = anchored + shifted + shifted.T + _sampled_rest(Omega, v, closed, regression, xi)
    return a[:, None] * a * (closed.q[:p, :p] + Delta * closed.B[:p, :p] + rest)


def variance_erf_wide(
    Omega: Float[Array, "n n"],
    v: Float[Array, " n"],
    a: Float[Array, " p"],
    Delta: Float[Array, ""],
    points: int = _POINTS,
    scramble: int = 0,
) -> Float[Array, "p p"]:
    """Return a_i a_j E[g'(u_i) g'(u_j) (E0^2 + Delta)] up to a small sampling error, at O(N (p+k)^2) cost.

    Relative error at p = 128, k = 4: 2e-4 for random weights, at most 2e-3 half-way, 1e-5 once students resemble teachers.
    The points are the same at every call: the result is a deterministic, smooth function of Omega. Its derivative is the
    derivative of the sampled average, whose error grows as Omega becomes singular.
    """
    return _variance(Omega, v, a, Delta, normal_points(v.shape[0], points, scramble))


def variance_erf_wide_error(
    Omega: Float[Array, "n n"],
    v: Float[Array, " n"],
    a: Float[Array, " p"],
    Delta: Float[Array, ""],
    points: int = _POINTS,
    scrambles: int = 4,
) -> Float[Array, ""]:
    """Return the relative standard error (Frobenius norm) of `variance_erf_wide`, from independent scramblings."""
    estimates = jnp.stack([variance_erf_wide(Omega, v, a, Delta, points, 1 + s) for s in range(scrambles)])
    mean = jnp.mean(estimates, axis=0)
    return jnp.sqrt(jnp.sum((estimates - mean) ** 2) / (scrambles - 1) / jnp.sum(mean**2))
