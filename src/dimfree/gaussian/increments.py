"""The noise of one SGD step: mean and covariance of the scaled increments of the overlaps X = (M, Q, a), at leading order in 1/d.

One step changes X by dt zeta, dt = gamma/(p d). With c = a sigma'(lambda) E, E = E_0 + sqrt(Delta) z, |x|² -> 1 and
g = gamma/(p batch) (docs/theory/committee.md, sections 1.1 and 6; a schedule multiplies gamma):

    zeta_M = c lambda*ᵀ,    zeta_Q = c lambdaᵀ + lambda cᵀ + g c cᵀ,    zeta_a = eta_a sigma(lambda) E.

The step is the mean of zeta over its batch: two different samples of a batch are orthogonal up to 1/sqrt(d), so their cross
terms are one order smaller, and Cov(step) = Cov(zeta)/batch. Decay is not random at this order. Weights kept on a
sphere are shrunk by s_i = 1 - dt zeta_ii/(2 Q_ii), which linearises to (6.5) for any activation:

    zeta_M,ir - zeta_ii M_ir/(2 Q_ii),    zeta_Q,ij - (zeta_ii/Q_ii + zeta_jj/Q_jj) Q_ij/2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import roots_genlaguerre

from dimfree.gaussian.learner import Stepper
from dimfree.gaussian.nodes import gauss_hermite
from dimfree.gaussian.points import normal_points
from dimfree.gaussian.variance.ladder import fields, product_rule
from dimfree.states.overlaps import Overlaps

_RADII = 6  # radii of the rule, exact for polynomials of degree 22 along every direction


class Rule(NamedTuple):
    """Weighted standard normal points in p + k directions and, last, the one of the label noise."""

    x: Float[Array, "N n"]
    w: Float[Array, " N"]
    exact: bool  # whether it is a product rule; otherwise directions are Sobol points


class Increments(NamedTuple):
    """Mean of zeta and covariance of a step's zeta, in the order of `pack`."""

    mean: Float[Array, " D"]
    covariance: Float[Array, "D D"]


class Spreads(NamedTuple):
    """Variances of zeta summed over M and, unless they are kept, over the norms."""

    leading: Float[Array, " part"]
    exact: Float[Array, " part"]


def rule(model: Stepper, most: int = 50_000) -> Rule:
    """The product rule of the variance term if it has at most `most` points, else Sobol directions times exact radii.

    zeta² grows like a power of |x| that plain Sobol points miss: for squares they are still wrong by 20 % at 16 384 points.
    """
    x, w = product_rule(model, power=4)
    if 0 < 3 * len(w) <= most:
        z, v = gauss_hermite(3, 1)  # zeta² is of degree four in the label noise
        joint = np.concatenate([np.repeat(x, 3, axis=0), np.tile(z, (len(w), 1))], axis=1)
        return Rule(jax.device_put(joint), jax.device_put(np.outer(w, v).ravel()), exact=True)
    n = model.width + model.units + 1
    half = normal_points(n, 1 << ((most // (2 * _RADII)).bit_length() - 1))
    directions = np.concatenate([half, -half]) / np.tile(np.linalg.norm(half, axis=1), 2)[:, None]
    squares, v = roots_genlaguerre(_RADII, n / 2 - 1)  # of |x|²/2
    points = (np.sqrt(2 * squares)[:, None, None] * directions).reshape(-1, n)
    weights = np.repeat(v / v.sum() / len(directions), len(directions))
    return Rule(jax.device_put(points), jax.device_put(weights), exact=False)


def increments(model: Stepper, rate: Float[Array, ""], state: Overlaps, nodes: Rule) -> Increments:
    """Mean and covariance at the factor `rate` on the learning rate."""
    samples = _samples(model, state, nodes.x)

    def one(sample: _Samples) -> Array:
        alone = _Samples(*(part[None] for part in sample))
        return pack(model, _total(model, rate, state, alone, jnp.ones(1)))

    zeta: Array = jax.vmap(one)(samples)
    mean = nodes.w @ zeta
    centred = jnp.sqrt(nodes.w)[:, None] * (zeta - mean)
    return Increments(mean, centred.T @ centred / model.batch)


def spreads(model: Stepper, rate: Float[Array, ""], state: Overlaps, nodes: Rule) -> Spreads:
    """What one sample adds to the variance of M and of the norms Q_ii, at leading order and at the dimension of the model.

    The second one is (1.1), (1.2) and the projection as they stand, so that one long step cannot move weights on a sphere
    further than their norm. Of |x|² = (|xi|² + chi²)/d the second part is at its mean: that leaves out a share of 2/d.
    """
    p, n, d = model.width, model.width + model.units, model.dimension
    samples, Q = _samples(model, state, nodes.x), jnp.diagonal(state.Q)
    h = rate * model.gamma / (p * model.batch * d)
    dM = samples.c[:, :, None] * samples.u[:, None, p:]
    linear, square = 2 * samples.c * samples.u[:, :p], h * d * samples.c**2
    dQ = linear + square
    lengths = (jnp.sum(nodes.x[:, :n] ** 2, axis=1) + d - n) / d
    dQ_exact = linear + lengths[:, None] * square

    def total(zeta: Array) -> Array:
        flat = zeta.reshape(nodes.w.size, -1)
        return jnp.sum(nodes.w @ (flat - nodes.w @ flat) ** 2)

    if not model.spherical:
        return Spreads(jnp.stack([total(dM), total(dQ)]), jnp.stack([total(dM), total(dQ_exact)]))
    projected = dM - (dQ / (2 * Q))[:, :, None] * state.M
    shrink = jnp.sqrt(Q / (Q + h * dQ_exact))[:, :, None]
    return Spreads(total(projected)[None], total((shrink * (state.M + h * dM) - state.M) / h)[None])


def lengthening(model: Stepper, rate: Float[Array, ""], state: Overlaps, nodes: Rule) -> Float[Array, ""]:
    """How fast the terms of order 1/d in the squares of the steps, E[c²(|x|² - 1)] in (1.5), move the risk if the errors of the
    units are independent.
    """
    p, n, d = model.width, model.width + model.units, model.dimension
    _, slopes, _ = fields(model, state, nodes.x[:, :n])
    longer = nodes.w * (jnp.sum(nodes.x[:, :n] ** 2, axis=1) - n) / d
    growth = rate**2 * model.gamma / (p * model.batch) * jnp.abs(longer @ _samples(model, state, nodes.x).c ** 2)
    return growth @ ((state.a / p) ** 2 * (nodes.w @ slopes**2)) / 2


def kick(
    model: Stepper,
    rate: Float[Array, ""],
    state: Overlaps,
    mean: Overlaps,
    nodes: Rule,
    normals: Float[Array, " N"],
) -> Overlaps:
    """A Gaussian vector with the covariance of a step's zeta, one standard normal per point: sum_N sqrt(w) (zeta - mean) xi.

    It needs no covariance matrix and no factor of it, and lies in its range where it is singular. The mean is asked for
    because the average over few points would take noise away.
    """
    shares = jnp.sqrt(nodes.w / model.batch) * normals
    total = _total(model, rate, state, _samples(model, state, nodes.x), shares)
    return jax.tree.map(lambda zeta, average: zeta - jnp.sum(shares) * average, total, mean)


def pack(model: Stepper, state: Overlaps) -> Float[Array, " D"]:
    """What moves, as a vector: M, the upper triangle of Q (without its diagonal on the sphere), a if it is trained."""
    parts = [state.M.ravel(), state.Q[_triangle(model)]]
    return jnp.concatenate([*parts, state.a] if model.train_a else parts)


def unpack(model: Stepper, vector: Float[Array, " D"], like: Overlaps) -> Overlaps:
    """The inverse of `pack`; what does not move is taken from `like`."""
    rows, columns = _triangle(model)
    sizes = [like.M.size, rows.size]
    M, upper, a = jnp.split(vector, np.cumsum(sizes))
    Q = like.Q.at[rows, columns].set(upper).at[columns, rows].set(upper)
    return Overlaps(Q, M.reshape(like.M.shape), a if model.train_a else like.a)


class _Samples(NamedTuple):
    u: Float[Array, "N n"]
    c: Float[Array, "N p"]
    s: Float[Array, "N p"]  # sigma(lambda) E


def _samples(model: Stepper, state: Overlaps, x: Array) -> _Samples:
    n, p = model.width + model.units, model.width
    u, slopes, error = fields(model, state, x[:, :n])
    error = (error + jnp.sqrt(model.Delta) * x[:, n])[:, None]
    return _Samples(u, state.a * slopes * error, model.activation(u[:, :p]) * error)


def _total(model: Stepper, rate: Array, state: Overlaps, samples: _Samples, weights: Array) -> Overlaps:
    """sum_N weights zeta."""
    p, weighted = model.width, samples.c * weights[:, None]
    linear = rate * weighted.T @ samples.u
    H, M = linear[:, :p], linear[:, p:]
    Q = H + H.T + rate**2 * model.gamma / (p * model.batch) * weighted.T @ samples.c
    a = rate * model.eta_a * weights @ samples.s if model.train_a else jnp.zeros_like(state.a)
    if not model.spherical:
        return Overlaps(Q, M, a)
    shrink = jnp.diagonal(Q) / (2 * jnp.diagonal(state.Q))
    return Overlaps(Q - (shrink[:, None] + shrink) * state.Q, M - shrink[:, None] * state.M, a)


def _triangle(model: Stepper) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    return np.triu_indices(model.width, k=int(model.spherical))
