"""The expectations of the mean-field closures: students whose parts orthogonal to the teacher have a known correlation Xi.

docs/theory/committee.md, section 5: lambda = M P^-1 lambda* + lambda_perp with covariances C_ij + xi sqrt(q_i q_j) between
students. At d to infinity xi = 0 for different students, so the network's output, averaged over the orthogonal parts, is a
function of the k teacher fields only. It is written here in their Hermite polynomials instead of on quadrature nodes: by
Mehler's formula the sum over j of a pair kernel is a polynomial in u_i = P^-1/2 m_i / sqrt(Q_ii), whose coefficients are
sums over units. That costs O(p) for every activation, is exact for polynomials, and what is cut off is known
(`truncation`). Narrow networks, and teachers with too many directions for the series, use all p² pairs instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, General, Polynomial
from dimfree.functions.target import Committee, Target
from dimfree.gaussian.adaptive import Sums
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import Cross, cross_terms, second_moment
from dimfree.gaussian.one_point import general_average
from dimfree.gaussian.series import (
    MOST,
    normalised_moments,
    powers,
    series_degrees,
    series_levels,
    sums_over_units,
)
from dimfree.gaussian.two_point.ladder import TwoPoint, two_point
from dimfree.states.overlaps import factor
from dimfree.states.particles import Particles

_CHUNK = 256  # units that are evaluated together, which bounds the memory at any width
_NOTHING = 1e-13  # a series that leaves out less than this is long enough
NARROW = 32  # up to this width all pairs are cheaper than the series, and they leave nothing out


class ClosureTerms(NamedTuple):
    """The right-hand sides of (5.2) for M, q and a, without decay, and the risk R."""

    PsiM: Float[Array, "p k"]
    Psiq: Float[Array, " p"]
    Psia: Float[Array, " p"]
    risk: Float[Array, ""]


class _Sums(NamedTuple):
    """sum_j b_j x_ij with b = a/p, for x = kappa, A, B M_j and xi B sqrt(q_i q_j)."""

    kappa: Float[Array, " p"]
    A: Float[Array, " p"]
    BM: Float[Array, "p k"]
    Bq: Float[Array, " p"]


def dimensionless_terms(model: Learner, state: Particles, self_term: bool, series: bool = True) -> ClosureTerms:
    """The terms at d to infinity: xi = 0 between students, and xi = 1 of a student with itself if `self_term`.

    Without `series` all pairs are used at every width, which is faster to differentiate.
    """
    if series and uses_series(model.activation, model.units, model.width):
        return _assembled(model, state, _series_sums(model, state, self_term), _series_cross(model, state))
    return _pair_terms(model, state, self_term, jnp.zeros(1), jnp.ones(1))


def mean_field_terms(model: Learner, state: Particles, self_term: bool, nodes: int) -> ClosureTerms:
    """The terms at finite d: xi averaged over two independent directions orthogonal to the teacher."""
    return _pair_terms(model, state, self_term, *xi_rule(model.dimension - model.units, nodes))


def xi_rule(free: Float[Array, ""], count: int) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Gauss-Jacobi nodes for the overlap of two uniform directions in `free` = d - k dimensions.

    The density is (1-xi²)^((free-3)/2). The nodes are the eigenvalues of its Jacobi matrix, and not SciPy's, because the
    dimension is a traced number of the model.
    """
    lam = free / 2 - 1
    m = jnp.arange(2.0, count)
    beta = m * (m + 2 * lam - 1) / (4 * (m + lam) * (m + lam - 1))
    off = jnp.sqrt(jnp.concatenate([1 / (2 * (1 + lam))[None], beta]))
    nodes, vectors = jnp.linalg.eigh(jnp.diag(off, 1) + jnp.diag(off, -1))
    return nodes, vectors[0] ** 2


def uses_series(sigma: Activation, k: int, p: int) -> bool:
    """Whether the O(p) series is taken: the network is wide, and k leaves room for enough degrees."""
    return p > NARROW and bool(series_degrees(sigma, k))


def truncation(model: Learner, state: Particles) -> Float[Array, ""]:
    """What the full series leaves out; large when students lie in the teacher's span or are long."""
    if not uses_series(model.activation, model.units, model.width):
        return jnp.zeros(())
    return _left_out(model, state, series_degrees(model.activation, model.units))


def _left_out(model: Learner, state: Particles, degrees: tuple[int, ...]) -> Float[Array, ""]:
    """The size of the last terms of a series in sum_j b_j A_ij, by the inequality of Cauchy and Schwarz."""
    sigma, N, Q, top = model.activation, state.along(model.target.P), state.norms(model.target.P), degrees[-1]
    if isinstance(sigma, Polynomial) and top == sigma.degree:
        return jnp.zeros(())
    last = jnp.max(jnp.abs(normalised_moments(sigma, Q, top + 1)[np.asarray(degrees[-2:])]), axis=0)
    size = last * (jnp.sum(N**2, axis=1) / Q) ** (top / 2)
    return top**2 * jnp.max(size) * jnp.mean(jnp.abs(state.a) * size)


def _assembled(model: Learner, state: Particles, sums: _Sums, cross: Cross) -> ClosureTerms:
    """Equation (5.2) from the sums over students and the expectations against the target."""
    a, alpha = state.a, cross.curvature - sums.A
    PsiM = a[:, None] * (alpha[:, None] * state.M + cross.gradient @ model.target.P - sums.BM)
    twice_risk = second_moment(model.target) - jnp.mean(a * (2 * cross.value - sums.kappa))
    return ClosureTerms(PsiM, 2 * a * (alpha * state.q - sums.Bq), cross.value - sums.kappa, 0.5 * twice_risk)


def _pair_terms(model: Learner, state: Particles, self_term: bool, xi: Array, weights: Array) -> ClosureTerms:
    """All pairs of students, averaged over xi with the given rule."""
    N, s, b = state.along(model.target.P), _root(state.q), state.a / model.width
    Q = state.norms(model.target.P)
    C, free = N @ N.T, jnp.outer(s, s)
    itself = jnp.eye(model.width, dtype=bool) if self_term else jnp.zeros((model.width, model.width), dtype=bool)

    def at(node: tuple[Array, Array]) -> _Sums:
        xi_ij = jnp.where(itself, 1.0, node[0])
        c = jnp.where(itself, Q, C + xi_ij * free)  # a unit's own covariance is its variance to the last bit
        pair = two_point(model.activation, model.activation, Q[:, None], c, Q[None, :])
        sums = _Sums(pair.kappa @ b, pair.A @ b, (pair.B * b) @ state.M, (xi_ij * pair.B * free) @ b)
        return jax.tree.map(lambda x: node[1] * x, sums)

    sums = jax.tree.map(lambda x: jnp.sum(x, axis=0), jax.lax.map(at, (xi, weights)))
    return _assembled(model, state, sums, cross_of_units(model.activation, model.target, Q, state.M))


def _root(q: Array) -> Array:
    """The square root, with gradient 0 at a unit that lies in the teacher's span."""
    positive = q > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, q, 1.0)), 0.0)


def cross_of_units(sigma: Activation, target: Target, Q: Array, M: Array) -> Cross:
    """Students against the target, a few at a time; no p x p matrix is made."""
    one: Callable[[Any], Cross] = lambda unit: cross_terms(sigma, target, unit[0][None, None], unit[1][None])  # noqa: E731
    rows = jax.lax.map(one, (Q, M), batch_size=min(_CHUNK, Q.shape[0]))
    return Cross(*(x.reshape(Q.shape[0], *x.shape[2:]) for x in rows))


def _series_cross(model: Learner, state: Particles) -> Cross:
    """Students against the target; for smooth functions without closed kernels by Mehler's series, which costs far less."""
    sigma, target, Q = model.activation, model.target, state.norms(model.target.P)
    smooth = isinstance(target, Committee) and not (sigma.kinks or target.activation.kinks)
    if not (smooth and isinstance(target, Committee) and General in (type(sigma), type(target.activation))):
        return cross_of_units(sigma, target, Q, state.M)
    weights, P = target.second_layer / target.units, jnp.diagonal(target.P)
    pair = _mehler(sigma, target.activation, Q[:, None], state.M, P[None, :])
    return Cross(pair.kappa @ weights, pair.B * weights, pair.A @ weights)


def _mehler(sigma: Activation, g: Activation, q_u: Array, c: Array, q_w: Array) -> TwoPoint:
    """kappa = sum_n s_n(q_u) g_n(q_w) rho^n with normalised Hermite coefficients; degrees as in the series for k = 1."""
    top = MOST
    scale = jnp.sqrt(q_u * q_w)
    s, h = normalised_moments(sigma, q_u, top + 3), normalised_moments(g, q_w, top + 2)
    n = jnp.arange(1.0 * top + 1)[:, None, None]
    power = powers(c / scale, top)
    kappa = jnp.sum(s[: top + 1] * h[: top + 1] * power, axis=0)
    A = jnp.sum(jnp.sqrt((n + 1) * (n + 2)) * s[2 : top + 3] * h[: top + 1] * power, axis=0) / q_u
    B = jnp.sum((n + 1) * s[1 : top + 2] * h[1 : top + 2] * power, axis=0) / scale
    return TwoPoint(kappa, A, B)


def _series_sums(model: Learner, state: Particles, self_term: bool) -> _Sums:
    """The sums by the shortest series that leaves nothing out, which is far shorter than the full one at most times."""
    levels = series_levels(model.activation, model.units)
    too_short = [_left_out(model, state, level) > _NOTHING for level in levels[:-1]]
    branches = [partial(_level_sums, model, self_term, level) for level in levels]
    sums: _Sums = jax.lax.switch(sum(too_short, jnp.zeros((), dtype=int)), branches, state)
    return sums


def _level_sums(model: Learner, self_term: bool, degrees: tuple[int, ...], state: Particles) -> _Sums:
    sigma, P, b = model.activation, model.target.P, state.a / model.width
    N, Q = state.along(P), state.norms(P)
    kappa, A, gradient = sums_over_units(sigma, degrees, N / jnp.sqrt(Q)[:, None], Q, b)
    BM = gradient / jnp.sqrt(Q)[:, None] @ factor(P, model.units).T
    if not self_term:
        return _Sums(kappa, A, BM, jnp.zeros_like(kappa))
    itself, apart = _itself(sigma, Q), _apart(sigma, degrees, jnp.sum(N**2, axis=1) / Q, Q)
    more = TwoPoint(*(b * (one - other) for one, other in zip(itself, apart, strict=True)))
    return _Sums(kappa + more.kappa, A + more.A, BM + more.B[:, None] * state.M, b * itself.B * state.q)


def _itself(sigma: Activation, Q: Array) -> TwoPoint:
    """kappa, A, B of a unit with itself; one-dimensional where the pair kernel would be a quadrature in two."""
    if not isinstance(sigma, General):
        return two_point(sigma, sigma, Q, Q, Q)

    def terms(x: Array, w: Array, scale: Array) -> Sums:
        u = scale[:, None] * x
        value, slope = sigma(u), sigma.derivative(u)
        products = value**2, u * slope * value, slope**2
        return tuple(jnp.sum(w * product, axis=-1) for product in products)

    kappa, stein, B = general_average(sigma, terms, Q)
    return TwoPoint(kappa, stein / Q - B, B)  # A = (E[u sigma' sigma] - Q B)/Q, also at kinks


def _apart(sigma: Activation, series: tuple[int, ...], ratio: Array, Q: Array) -> TwoPoint:
    """What the series holds of a unit with itself, at xi = 0."""
    degrees, n = np.asarray(series), np.asarray(series)[:, None]
    s, power = normalised_moments(sigma, Q, series[-1] + 3), powers(ratio, series[-1])
    kappa = jnp.sum(s[degrees] ** 2 * power[degrees], axis=0)
    A = jnp.sum(np.sqrt((n + 1) * (n + 2)) * s[degrees + 2] * s[degrees] * power[degrees], axis=0) / Q
    B = jnp.sum(n * s[degrees] ** 2 * power[np.maximum(degrees - 1, 0)], axis=0) / Q
    return TwoPoint(kappa, A, B)
