"""Expectations with a teacher whose units have functions and offsets of their own (docs/theory/committee.md, section 3.4)."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.target import UnlikeUnits
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.ladder import TwoPoint, two_point
from dimfree.gaussian.two_point.shifted import shifted_kernel, shifted_mean, shifted_two_point


def pairs_with(
    sigma: Activation, target: UnlikeUnits, q: Float[Array, " p"], M: Float[Array, "p k"]
) -> tuple[TwoPoint, TwoPoint]:
    """kappa, A and B of every student with every unit, and of every student with the constant 1."""
    found = [jnp.zeros_like(M)] * 3
    P = jnp.diagonal(target.P)
    for g, offset, units in target.groups:
        at = np.array(units)
        numbers = q[:, None], M[:, at], P[None, at]
        pair = shifted_two_point(sigma, g, *numbers, target.bias[at]) if offset else two_point(sigma, g, *numbers)
        found = [whole.at[:, at].set(part) for whole, part in zip(found, pair, strict=True)]
    h = hermite_moments(sigma, q, 3)
    return TwoPoint(*found), TwoPoint(h[:, 0], h[:, 2], jnp.zeros_like(q))


def kernels_with(
    sigma: Activation, target: UnlikeUnits, q: Float[Array, " p"], M: Float[Array, "p k"], bias: Float[Array, " p"]
) -> Float[Array, " p"]:
    """E[sigma(u + b) f*] of students with offsets."""
    P, v = jnp.diagonal(target.P), target.second_layer / target.units
    total = target.constant * shifted_mean(sigma, q, bias)
    for g, _, units in target.groups:
        at = np.array(units)
        pair = shifted_kernel(sigma, g, q[:, None], M[:, at], P[None, at], bias[:, None], target.bias[None, at])
        total = total + pair @ v[at]
    return total


def unit_kernels(target: UnlikeUnits) -> tuple[Float[Array, "k k"], Float[Array, " k"]]:
    """E[g_r g_s] of all pairs of units, and E[g_r]."""
    P, bias = target.P, target.bias
    q, found, means = jnp.diagonal(P), jnp.zeros_like(P), jnp.zeros_like(bias)
    for g, offset, units in target.groups:
        at = np.array(units)
        means = means.at[at].set(shifted_mean(g, q[at], bias[at]))
        for h, other_offset, others in target.groups:
            rows, columns = np.ix_(at, np.array(others))
            numbers = q[rows], P[rows, columns], q[columns]
            if offset or other_offset:
                block = shifted_kernel(g, h, *numbers, bias[rows], bias[columns])
            else:
                block = two_point(g, h, *numbers).kappa
            found = found.at[rows, columns].set(block)
    return found, means


def mean_square(target: UnlikeUnits) -> Float[Array, ""]:
    """E[f*²]."""
    v, (K, means) = target.second_layer / target.units, unit_kernels(target)
    found: Array = v @ K @ v + 2 * target.constant * (v @ means) + target.constant**2
    return found
