"""The exact mean of one step at finite d: how far the high-dimensional ODE is from the truth before any noise."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.variance.ladder import variance
from dimfree.onepass.model import TeacherModel


class MeanStep(NamedTuple):
    """E[M' - M] and E[Q' - Q]."""

    M: Float[Array, "p k"]
    Q: Float[Array, "p p"]


def mean_step(model: TeacherModel, state: Overlaps) -> MeanStep:
    """Equation (1.5) of docs/theory/committee.md, without decay and projection."""
    terms = gradient_terms(model, state)
    return MeanStep(model.time_step * terms.PsiM, model.time_step * (terms.PsiGF + mean_growth(model, state, terms.J)))


def mean_growth(model: TeacherModel, state: Overlaps, J: Float[Array, "p n"]) -> Float[Array, "p p"]:
    """What the squares of the steps add to Q per time, with its terms of order 1/d; J is that of the gradient terms."""
    n_b, d, step = model.batch, model.dimension, model.gamma / model.width
    spread, stretched = jax.jvp(lambda s: _stretched_variance(model, state, s), (jnp.ones(()),), (jnp.ones(()),))
    descent = (1 - 1 / n_b) * J @ state.covariance(model.target.P) @ J.T
    return step / n_b * (spread + 2 * stretched / d) + step / d * descent


def _stretched_variance(model: TeacherModel, state: Overlaps, s: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var at covariance s Omega: its derivative at s = 1 is E[(u.grad) c cᵀ]/2."""
    stretched = eqx.tree_at(lambda m: m.target.P, model, s * model.target.P)
    return variance(stretched, Overlaps(s * state.Q, s * state.M, state.a))
