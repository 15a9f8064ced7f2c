"""Gaussian averages over a residual y - omega, and what real labels tell about a teacher (docs/theory/static.md, section d).

A label that is a Gaussian given the teacher's field leaves a residual of mean 0 before training; one that is of several kinds
leaves one Gaussian for each. Losses know the residual alone, so that every average has one dimension.
"""

from math import pi, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.convex import Loss
from dimfree.gaussian.nodes import gauss_legendre

_REACH = 9.0  # standard deviations
_ORDER = 20  # nodes of a panel
_PANELS = np.linspace(-_REACH, _REACH, 13)
_HALF = _PANELS[_PANELS >= 0]
_NEAR = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])  # in widths of the region where kinds of labels overlap
_EMPTY = 1e-100  # labels of smaller density do not occur
_TWO_DIMENSIONAL = 8  # nodes of a panel in a product of panels


class Residuals(NamedTuple):
    """Averages of the force f = (P(omega) - omega)/V over one kind of labels, and of the loss on the data set."""

    stiffness: Float[Array, " k"]  # E df/dy
    square: Float[Array, " k"]  # E f²
    loss: Float[Array, " k"]


def residuals(loss: Loss, V: Float[Array, ""], spread: Float[Array, " k"]) -> Residuals:
    """Residuals of these standard deviations, and proximal points at step V."""
    return Residuals(*jax.vmap(lambda s: _averages(loss, V, s))(spread))


def _averages(loss: Loss, V: Float[Array, ""], spread: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
    """One kind of labels; the stiffness by Stein's lemma, which no kink disturbs. Panels end where the force bends."""
    kinks = [jnp.clip((1 - kink) / spread, -_REACH, _REACH) for kink in loss.prox_kinks(V)]
    ends = jax.lax.stop_gradient(jnp.sort(jnp.concatenate([_PANELS, jnp.asarray(kinks)])))
    g, weight = _nodes(ends, _ORDER)
    weight = weight * jnp.exp(-0.5 * g**2) / sqrt(2 * pi)
    omega = 1 - spread * g
    u = loss.prox(omega, V)
    force = (u - omega) / V
    return weight @ (g * force) / spread, weight @ force**2, weight @ loss(u)


def _nodes(ends: Float[Array, " k"], order: int) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Nodes and weights of all panels."""
    x, w = gauss_legendre(order)
    length = jnp.diff(ends)[:, None]
    return (ends[:-1, None] + length * x).ravel(), (length * w).ravel()


def label_information(
    share: Float[Array, " 2"], slope: Float[Array, " 2"], spread: Float[Array, " 2"], q: Float[Array, ""]
) -> Float[Array, ""]:
    """E (d log Z/d omega)² for Z(y) = sum_k share_k N(y; slope_k omega, spread_k²) and omega ~ N(0, q).

    What one label tells about a direction of which omega is known; y and omega change sign together.
    """
    apart = jnp.abs(slope[0] - slope[1]) * jnp.sqrt(q)
    width = (spread[0] + spread[1]) / jnp.maximum(apart, 1e-300)
    ends = jnp.sort(jnp.concatenate([_HALF, jnp.clip(width * _NEAR, 0.0, _REACH)]))
    xi, weight = _nodes(jax.lax.stop_gradient(ends), _TWO_DIMENSIONAL)

    def known(omega: Float[Array, ""]) -> Float[Array, ""]:
        ends = jax.lax.stop_gradient(jnp.sort(((slope * omega)[:, None] + spread[:, None] * _PANELS).ravel()))
        y, length = _nodes(ends, _TWO_DIMENSIONAL)
        Z, dZ = jnp.zeros_like(y), jnp.zeros_like(y)
        for p, b, s in zip(share, slope, spread, strict=True):
            away = (y - b * omega) / s
            each = p / (sqrt(2 * pi) * s) * jnp.exp(-0.5 * away**2)
            Z, dZ = Z + each, dZ + each * (b / s) * away
        return jnp.sum(length * jnp.where(Z > _EMPTY, dZ**2 / jnp.where(Z > _EMPTY, Z, 1.0), 0.0))

    density = 2 * weight * jnp.exp(-0.5 * xi**2) / sqrt(2 * pi)
    return density @ jax.vmap(known)(jnp.sqrt(q) * xi)
