"""Real labels of which some are outliers (docs/theory/static.md, section d).

    y = z + sqrt(Delta) n,   or with probability epsilon   y = beta z + sqrt(Delta_o) n

z is the teacher's field and n standard normal. Without outliers there is the first line alone.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

_INSIDE = 1e-15  # a probability is kept this far from 0 and from 1


class OutlierLaw(eqx.Module):
    """epsilon, beta and Delta_o."""

    fraction: Float[Array, ""]
    slope: Float[Array, ""]
    variance: Float[Array, ""]


class Mixture(NamedTuple):
    """The kinds of labels, one entry for each: y = slope z + sqrt(variance) n with probability `share`."""

    share: Float[Array, " k"]
    slope: Float[Array, " k"]
    variance: Float[Array, " k"]

    def moments(self, rho: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """c = E[y z]/rho and E[y²], rho being the variance of z: all that matters for the square loss."""
        return jnp.sum(self.share * self.slope), jnp.sum(self.share * (self.slope**2 * rho + self.variance))


def mixture(Delta: Float[Array, ""], outliers: OutlierLaw | None) -> Mixture:
    """The law of labels with noise Delta."""
    one = jnp.ones_like(Delta)
    if outliers is None:
        return Mixture(one[None], one[None], Delta[None])
    epsilon = outliers.fraction
    return Mixture(
        jnp.stack([1 - epsilon, epsilon]), jnp.stack([one, outliers.slope]), jnp.stack([Delta, outliers.variance])
    )


def drawn(
    z: Float[Array, "..."], noise: Float[Array, "..."], Delta: Float[Array, ""], outliers: OutlierLaw | None
) -> Float[Array, "..."]:
    """Labels from teacher fields and one standard normal each, whose lowest quantiles are the outliers.

    What is left of a quantile is uniform again, so that no other number has to be drawn.
    """
    if outliers is None:
        return z + jnp.sqrt(Delta) * noise
    u, epsilon = ndtr(noise), outliers.fraction
    is_outlier = u < epsilon
    inside = jnp.where(is_outlier, u / jnp.where(is_outlier, epsilon, 1.0), (u - epsilon) / (1 - epsilon))
    n = ndtri(jnp.clip(inside, _INSIDE, 1 - _INSIDE))
    return jnp.where(is_outlier, outliers.slope * z + jnp.sqrt(outliers.variance) * n, z + jnp.sqrt(Delta) * n)
