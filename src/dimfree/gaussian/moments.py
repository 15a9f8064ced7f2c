"""The expectations that drive the overlaps: gradient-flow terms and risk from two-point kernels alone.

docs/theory/committee.md, section 3.1: [H | Psi^M] = J Omega and Psi^GF = H + Hᵀ with J = E[dc/du], equations (3.2), (3.3).
"""

from math import factorial, prod
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation, General
from dimfree.functions.target import Committee, HermiteLink, Target, UnlikeUnits
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.one_point import hermite_moments
from dimfree.gaussian.two_point.ladder import TwoPoint, two_point
from dimfree.gaussian.unlike_units import mean_square, pairs_with
from dimfree.states.overlaps import Overlaps


class GradientTerms(NamedTuple):
    """Psi^M, Psi^GF, Psi^a, the Jacobian J and the risk R; Psi^Var where one average gives all of them."""

    PsiM: Float[Array, "p k"]
    PsiGF: Float[Array, "p p"]
    Psia: Float[Array, "*outputs p"]
    J: Float[Array, "p n"]
    risk: Float[Array, ""]
    Var: Float[Array, "p p"] | None = None


class Cross(NamedTuple):
    """T_i = E[sigma(lambda_i) f*], its gradient in m_i, and E[sigma''(lambda_i) f*]."""

    value: Float[Array, " p"]
    gradient: Float[Array, "p k"]
    curvature: Float[Array, " p"]


def gradient_terms(model: Learner, state: Overlaps) -> GradientTerms:
    """All terms of equation (2.1) but the variance."""
    a, p = state.a, model.width
    students, cross = kernels(model, state)
    alpha = cross.curvature - students.A @ a / p
    J_students = jnp.diag(a * alpha) - a[:, None] * students.B * a / p
    J = jnp.concatenate([J_students, a[:, None] * cross.gradient], axis=1)
    flow = J @ state.covariance(model.target.P)
    H = flow[:, :p]
    Psia = cross.value - students.kappa @ a / p
    return GradientTerms(flow[:, p:], H + H.T, Psia, J, risk_of(model, a, students, cross))


def risk(model: Learner, state: Overlaps) -> Float[Array, ""]:
    """R = E[(f* - f)²]/2, without the noise floor Delta/2."""
    return risk_of(model, state.a, *kernels(model, state))


def kernels(model: Learner, state: Overlaps) -> tuple[TwoPoint, Cross]:
    """All expectations of two students, and of a student and the target; one loop over nodes where both use the same nodes."""
    sigma, target, p = model.activation, model.target, model.width
    if not (isinstance(target, Committee) and sigma == target.activation and isinstance(sigma, General)) or sigma.kinks:
        return student_kernels(sigma, state.Q), cross_terms(sigma, target, state.Q, state.M)
    Omega = state.covariance(target.P)
    q = jnp.diagonal(Omega)
    pairs = two_point(sigma, sigma, q[:p, None], Omega[:p], q[None, :])
    return TwoPoint(*(x[:, :p] for x in pairs)), _committee_cross(target, TwoPoint(*(x[:, p:] for x in pairs)))


def student_kernels(sigma: Activation, Q: Float[Array, "p p"]) -> TwoPoint:
    """kappa, A, B between all pairs of students."""
    q = jnp.diagonal(Q)
    return two_point(sigma, sigma, q[:, None], Q, q[None, :])


def cross_terms(sigma: Activation, target: Target, Q: Float[Array, "p p"], M: Float[Array, "p k"]) -> Cross:
    """Expectations of one student against the target."""
    q = jnp.diagonal(Q)
    match target:
        case Committee():
            return _committee_cross(
                target, two_point(sigma, target.activation, q[:, None], M, jnp.diagonal(target.P)[None, :])
            )
        case UnlikeUnits():
            return _unlike_cross(target, *pairs_with(sigma, target, q, M))
        case HermiteLink():
            return _hermite_cross(sigma, target, q, M)


def second_moment(target: Target) -> Float[Array, ""]:
    """E[f*²]."""
    match target:
        case Committee():
            q, weights = jnp.diagonal(target.P), target.second_layer / target.units
            K = two_point(target.activation, target.activation, q[:, None], target.P, q[None, :]).kappa
            return weights @ K @ weights
        case UnlikeUnits():
            return mean_square(target)
        case HermiteLink():
            norms = jnp.asarray([float(prod(factorial(s) for s in term)) for term in target.terms])
            return jnp.sum(norms * target.coefficients**2)


def _committee_cross(target: Committee, pairs: TwoPoint) -> Cross:
    weights = target.second_layer / target.units
    return Cross(pairs.kappa @ weights, pairs.B * weights, pairs.A @ weights)


def _unlike_cross(target: UnlikeUnits, pairs: TwoPoint, alone: TwoPoint) -> Cross:
    weights, c = target.second_layer / target.units, target.constant
    return Cross(pairs.kappa @ weights + c * alone.kappa, pairs.B * weights, pairs.A @ weights + c * alone.A)


def risk_of(model: Learner, a: Float[Array, " p"], students: TwoPoint, cross: Cross) -> Float[Array, ""]:
    """R from the kernels."""
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
