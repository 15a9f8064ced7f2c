"""Gaussian averages over a student's field and the label that a sign teacher gives (docs/theory/static.md, section a).

The field is omega = sqrt(q) xi with xi standard normal, the label is the sign of a Gaussian of variance 1 whose correlation with
xi is R. Losses know the margin alone, so that the sum over both labels is twice the term of y = +1, whose weight is
Phi(R xi/sqrt(1 - R²)): a step of width sqrt(1 - R²)/R. Panels end where the proximal map bends and narrow around that step.
"""

from math import pi, sqrt
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr
from jaxtyping import Array, Float

from dimfree.functions.convex import Loss
from dimfree.gaussian.nodes import gauss_legendre

_REACH = 9.0  # standard deviations
_ORDER = 20  # nodes of a panel
_PANELS = np.linspace(-_REACH, _REACH, 13)
_STEP = np.arange(-8.0, 9.0, 2.0)  # panel ends near the step of the label, in widths of that step


class Fields(NamedTuple):
    """Nodes: standard normal xi, field omega, its proximal point h; and the weights of E Sum_y Z and E Sum_y dZ/d(R xi)."""

    xi: Float[Array, " n"]
    omega: Float[Array, " n"]
    h: Float[Array, " n"]
    weight: Float[Array, " n"]
    slope: Float[Array, " n"]


def fields(loss: Loss, V: Float[Array, ""], q: Float[Array, ""], R: Float[Array, ""]) -> Fields:
    """Fields of variance q of a student with overlap R, and their proximal points at step V."""
    across = jnp.sqrt(1 - R**2)
    t, length = _nodes(*jax.lax.stop_gradient(_ends(loss, V, q, across / R)))
    omega, h = loss.traced(t, V)
    stretch = jax.jvp(lambda x: loss.traced(x, V)[0], (t,), (jnp.ones_like(t),))[1]
    xi = omega / jnp.sqrt(q)
    normal = 2 * length * stretch / jnp.sqrt(q) * jnp.exp(-0.5 * xi**2) / sqrt(2 * pi)
    argument = R * xi / across
    return Fields(xi, omega, h, normal * ndtr(argument), normal * jnp.exp(-0.5 * argument**2) / (sqrt(2 * pi) * across))


def _ends(
    loss: Loss, V: Float[Array, ""], q: Float[Array, ""], width: Float[Array, ""]
) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """Where panels begin and end, in the coordinate of the loss."""
    xi = jnp.concatenate([_PANELS, jnp.clip(width * _STEP, -_REACH, _REACH)])
    t = loss.coordinate(jnp.sqrt(q) * xi, V)
    ends = jnp.sort(jnp.concatenate([t, jnp.clip(loss.knots(V), jnp.min(t), jnp.max(t))]))
    return ends[:-1], ends[1:]


def _nodes(low: Float[Array, " k"], high: Float[Array, " k"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Nodes and weights of all panels."""
    x, w = gauss_legendre(_ORDER)
    return (low[:, None] + (high - low)[:, None] * x).ravel(), ((high - low)[:, None] * w).ravel()


def sign_information(gap: Float[Array, ""]) -> Float[Array, ""]:
    """2 E[N(z; 0, gap)²/Phi(z/sqrt(gap))] over z of variance 1 - gap: what one sign tells about a direction known up to `gap`.

    Both Gaussians together have unit width in x, where z = x sqrt(gap (1 - gap)).
    """
    x, w = _nodes(jnp.asarray(_PANELS[:-1]), jnp.asarray(_PANELS[1:]))
    u = x * jnp.sqrt(1 - gap)
    density = jnp.exp(-0.5 * (x**2 * gap) - u**2 - log_ndtr(u)) / (2 * pi) ** 1.5
    return 2 / jnp.sqrt(gap) * jnp.sum(w * density)
