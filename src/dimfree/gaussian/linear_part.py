"""A function of a standard Gaussian as constant + linear part + the rest: sigma(g) = kappa_0 + kappa_1 g + kappa_* (noise)."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.features import Sign
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.ladder import two_point


class LinearPart(NamedTuple):
    """E[sigma], E[g sigma], and the standard deviation of what is left."""

    kappa0: Float[Array, ""]
    kappa1: Float[Array, ""]
    kappastar: Float[Array, ""]


def linear_part(sigma: Activation) -> LinearPart:
    """The three numbers of a function; for a straight line the rest is 0."""
    one = jnp.ones(())
    if isinstance(sigma, Sign):
        return LinearPart(0 * one, jnp.sqrt(2 / jnp.pi) * one, jnp.sqrt(1 - 2 / jnp.pi) * one)
    kappa0, kappa1 = hermite_moments(sigma, one, 2)
    left = two_point(sigma, sigma, one, one, one).kappa - kappa0**2 - kappa1**2
    return LinearPart(kappa0, kappa1, jnp.sqrt(jnp.maximum(left, 0.0)))
