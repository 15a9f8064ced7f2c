"""The population risk of a student whose neurons have offsets: R = E[(f* - f)²]/2 for f = (1/p) sum_i a_i sigma(u_i + b_i).

docs/theory/committee.md, section 2, with kernels at shifted arguments. At b = 0 it is `moments.risk`.
"""

from math import prod

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.target import Committee, HermiteLink, UnlikeUnits
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import second_moment
from dimfree.gaussian.two_point.shifted import shifted_kernel, shifted_moments
from dimfree.gaussian.unlike_units import kernels_with
from dimfree.states.overlaps import Overlaps


def offset_risk(model: Learner, state: Overlaps, bias: Float[Array, " p"]) -> Float[Array, ""]:
    """The risk, without the noise floor."""
    a, q, sigma = state.a / model.width, jnp.diagonal(state.Q), model.activation
    kernel = shifted_kernel(sigma, sigma, q[:, None], state.Q, q[None, :], bias[:, None], bias[None, :])
    return 0.5 * (second_moment(model.target) - 2 * a @ _with_target(model, q, state.M, bias) + a @ kernel @ a)


def _with_target(model: Learner, q: Float[Array, " p"], M: Float[Array, "p k"], bias: Array) -> Float[Array, " p"]:
    """E[sigma(u_i + b_i) f*]."""
    target, sigma = model.target, model.activation
    match target:
        case Committee():
            P = jnp.diagonal(target.P)[None, :]
            kernel = shifted_kernel(sigma, target.activation, q[:, None], M, P, bias[:, None], jnp.zeros_like(P))
            return kernel @ (target.second_layer / target.units)
        case UnlikeUnits():
            return kernels_with(sigma, target, q, M, bias)
        case HermiteLink():
            return _with_link(sigma, target, q, M, bias)


def _with_link(sigma: Activation, target: HermiteLink, q: Array, M: Array, bias: Array) -> Float[Array, " p"]:
    """E[sigma(u + b) prod_r He_{S_r}(z_r)] = E[sigma(sqrt(q) x + b) He_|S|(x)] prod_r (m_r/sqrt(q))^{S_r}."""
    h = shifted_moments(sigma, q, bias, max(sum(term) for term in target.terms) + 1)
    cosines = M / jnp.sqrt(q)[:, None]
    total = jnp.zeros_like(q)
    for n, term in enumerate(target.terms):
        powers = (cosines[:, r] ** s for r, s in enumerate(term))
        total += target.coefficients[n] * h[:, sum(term)] * prod(powers, start=jnp.ones_like(q))
    return total
