"""The risk of a single-index target degree by degree: what is learned when (docs/theory/mean-field.md, section e).

f* = sum_n phi_n he_n(z) with orthonormal he_n, and the part of degree n of a network is sum_i b_i s_n(Q_ii) he_n along unit i,
with b = a/p. Parts of different degree are orthogonal, so that the risk is the sum of R_n = E[(part n of f* - f)²]/2 over all n.
"""

from math import comb, factorial, sqrt

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.target import HermiteLink, Target
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.series import normalised_moments, powers
from dimfree.states.overlaps import Overlaps
from dimfree.states.particles import Particles


def has_components(target: Target) -> bool:
    """Whether the target is a polynomial of one direction."""
    return isinstance(target, HermiteLink) and target.units == 1


def link_coefficients(target: Target, count: int | None = None) -> Float[Array, " n"]:
    """phi_0, phi_1, .. in the orthonormal basis, up to the degree of the link, or `count` of them."""
    assert isinstance(target, HermiteLink)
    assert target.units == 1
    degrees = [term[0] for term in target.terms]
    phi = jnp.zeros(max(max(degrees) + 1, count or 0))
    for n, degree in enumerate(degrees):
        phi = phi.at[degree].add(target.coefficients[n] * sqrt(factorial(degree)))
    return phi[:count]


def overlap_components(model: Learner, state: Overlaps, norms: Float[Array, " p"] | None = None) -> Float[Array, " n"]:
    """R_n of a network that is known by the overlaps of all pairs of units, and by Q_ii if that is not the diagonal."""
    phi, Q = link_coefficients(model.target), jnp.diagonal(state.Q) if norms is None else norms
    part, u = _parts(model, Q, state.M, state.a, phi.size)
    scale = jnp.sqrt(Q)
    cosines, shadow = state.Q / jnp.outer(scale, scale), jnp.outer(u, u)
    # integer powers one by one: products of matrices would fill the memory, and cumulative ones are slow to differentiate
    off_target = [part[n] @ (cosines**n - shadow**n) @ part[n] for n in range(phi.size)]
    return 0.5 * (_misfit(phi, part, u) + jnp.stack(off_target))


def particle_components(
    model: Learner, state: Particles, moments: Float[Array, " m"], self_term: bool, count: int | None = None
) -> Float[Array, " n"]:
    """R_n of a network whose parts orthogonal to the target meet at a random angle, of even moments E cos^2j = moments[j]."""
    phi, Q = link_coefficients(model.target, count), state.norms(model.target.P)
    part, u = _parts(model, Q, state.M, state.a, phi.size)
    along, across = powers(u, phi.size - 1), powers(state.q / Q, phi.size // 2)
    off_target, met = jnp.zeros(phi.size), jnp.zeros_like(part)
    for n in range(phi.size):
        for j in range(min(n // 2 + 1, moments.size)):
            weight, shape = comb(n, 2 * j) * moments[j], along[n - 2 * j] * across[j]
            met = met.at[n].add(weight * shape**2)
            if j:
                off_target = off_target.at[n].add(weight * (part[n] @ shape) ** 2)
    itself = jnp.sum(part**2 * (1 - met), axis=1) if self_term else 0.0
    return 0.5 * (_misfit(phi, part, u) + off_target + itself)


def _parts(
    model: Learner, Q: Float[Array, " p"], M: Float[Array, "p 1"], a: Float[Array, " p"], count: int
) -> tuple[Float[Array, "n p"], Float[Array, " p"]]:
    """b_i s_n(Q_ii), and the cosines of the units with the target."""
    moments = normalised_moments(model.activation, Q, max(count, 3))[:count]
    return moments * a / model.width, M[:, 0] / jnp.sqrt(Q)


def _misfit(phi: Float[Array, " n"], part: Float[Array, "n p"], u: Float[Array, " p"]) -> Float[Array, " n"]:
    """(phi_n - the network's part along the target)²."""
    return (phi - jnp.sum(part * powers(u, phi.size - 1), axis=1)) ** 2
