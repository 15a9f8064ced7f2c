"""The expectations that drive the overlaps: gradient-flow terms and risk from two-point kernels alone.

docs/theory/committee.md, section 3.1: [H | Psi^M] = J Omega and Psi^GF = H + Hᵀ with J = E[dc/du], equations (3.2), (3.3).
"""

from math import factorial, prod
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.two_point.ladder import TwoPoint, two_point


class GradientTerms(NamedTuple):
    """Psi^M, Psi^GF, Psi^a, the Jacobian J and the risk R."""

    PsiM: Float[Array, "p k"]
    PsiGF: Float[Array, "p p"]
    Psia: Float[Array, " p"]
    J: Float[Array, "p n"]
    risk: Float[Array, ""]


class Cross(NamedTuple):
    """T_i = E[sigma(lambda_i) f*], its gradient in m_i, and E[sigma''(lambda_i) f*]."""

    value: Float[Array, " p"]
    gradient: Float[Array, "p k"]
    curvature: Float[Array, " p"]


def gradient_terms(model: Learner, state: Overlaps) -> GradientTerms:
    """All terms of equation (2.1) but the variance."""
    Q, M, a, p = state.Q, state.M, state.a, model.width
    students, cross = student_kernels(model.activation, Q), cross_terms(model.activation, model.target, Q, M)
    alpha = cross.curvature - students.A @ a / p
    J_students = jnp.diag(a * alpha) - a[:, None] * students.B * a / p
    J = jnp.concatenate([J_students, a[:, None] * cross.gradient], axis=1)
    flow = J @ state.covariance(model.target.P)
    H = flow[:, :p]
    Psia = cross.value - students.kappa @ a / p
    return GradientTerms(flow[:, p:], H + H.T, Psia, J, _risk(model, a, students, cross))


def risk(model: Learner, state: Overlaps) -> Float[Array, ""]:
    """R = E[(f* - f)²]/2, without the noise floor Delta/2."""
    students = student_kernels(model.activation, state.Q)
    return _risk(model, state.a, students, cross_terms(model.activation, model.target, state.Q, state.M))


def student_kernels(sigma: Activation, Q: Float[Array, "p p"]) -> TwoPoint:
    """kappa, A, B between all pairs of students."""
    q = jnp.diagonal(Q)
    return two_point(sigma, sigma, q[:, None], Q, q[None, :])


def cross_terms(sigma: Activation, target: Target, Q: Float[Array, "p p"], M: Float[Array, "p k"]) -> Cross:
    """Expectations of one student against the target."""
    q = jnp.diagonal(Q)
    match target:
        case Committee():
            weights = target.second_layer / target.units
            pair = two_point(sigma, target.activation, q[:, None], M, jnp.diagonal(target.P)[None, :])
            return Cross(pair.kappa @ weights, pair.B * weights, pair.A @ weights)
        case HermiteLink():
            return _hermite_cross(sigma, target, q, M)


def second_moment(target: Target) -> Float[Array, ""]:
    """E[f*²]."""
    match target:
        case Committee():
            q, weights = jnp.diagonal(target.P), target.second_layer / target.units
            K = two_point(target.activation, target.activation, q[:, None], target.P, q[None, :]).kappa
            return weights @ K @ weights
        case HermiteLink():
            norms = jnp.asarray([float(prod(factorial(s) for s in term)) for term in target.terms])
            return jnp.sum(norms * target.coefficients**2)


def _risk(model: Learner, a: Array, students: TwoPoint, cross: Cross) -> Array:
    b = a / model.width
    return 0.5 * (second_moment(model.target) - 2 * b @ cross.value + b @ students.kappa @ b)


def _hermite_cross(sigma: Activation, target: HermiteLink, q: Array, M: Array) -> Cross:
    """E[sigma(u) prod_r He_{S_r}(z_r)] = h_|S|(q) prod_r m_r^{S_r} for orthonormal directions z_r."""
    h = hermite_moments(sigma, q, max(sum(term) for term in target.terms) + 3)
    value, curvature, gradient = jnp.zeros_like(q), jnp.zeros_like(q), jnp.zeros_like(M)
    for n, term in enumerate(target.terms):
        c, degree = target.coefficients[n], sum(term)
        powers = [M[:, r] ** s for r, s in enumerate(term)]
        product = prod(powers, start=jnp.ones_like(q))
        value += c * h[:, degree] * product
        curvature += c * h[:, degree + 2] * product
        for r, s in enumerate(term):
            if s:
                others = prod((x for j, x in enumerate(powers) if j != r), start=jnp.ones_like(q))
                gradient = gradient.at[:, r].add(c * h[:, degree] * s * M[:, r] ** (s - 1) * others)
    return Cross(value, gradient, curvature)
