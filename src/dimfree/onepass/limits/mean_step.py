"""The exact mean of one step at finite d: how far the high-dimensional ODE is from it, without any noise."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.gaussian.variance.ladder import variance
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.structured_model import StructuredModel
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps


class MeanStep(NamedTuple):
    """E[M' - M] and E[Q' - Q]."""

    M: Float[Array, "p k"]
    Q: Float[Array, "p p"]


def mean_step(model: DirectionsModel, state: Overlaps) -> MeanStep:
    """Equation (1.5) of docs/theory/committee.md, without decay and projection."""
    terms = model.terms(state)
    return MeanStep(model.time_step * terms.PsiM, model.time_step * (terms.PsiGF + mean_growth(model, state, terms.J)))


def mean_growth(model: DirectionsModel, state: Overlaps, J: Float[Array, "p n"]) -> Float[Array, "p p"]:
    """What the squares of the steps add to Q per time, with its terms of order 1/d; J is that of the gradient terms."""
    n_b, d, step = model.batch, model.dimension, model.gamma / model.width
    descent = (1 - 1 / n_b) * J @ state.covariance(model.P) @ J.T
    return step / n_b * model.lengthened(state) + step / d * descent


def block_growth(model: StructuredModel, state: Blocks, J: Float[Array, "p n"]) -> Float[Array, "b p p"]:
    """The same for every eigenvalue, equation (1.5) of docs/theory/structured.md.

    E[c cᵀ |x_b|²] asks how Psi^Var changes with the covariance of the fields in the direction of Omega^b.
    """
    n_b, d, step, fields = model.batch, model.dimension, model.gamma / model.width, state.fields(model.units)
    p, k = model.width, model.units

    def along(Omega: Float[Array, "n n"]) -> Float[Array, "p p"]:
        direction = Overlaps(Omega[:p, :p], Omega[:p, -k:], jnp.zeros_like(state.a))
        of_teacher = eqx.tree_at(lambda m: m.target.P, _zeros(model), Omega[-k:, -k:])
        return eqx.filter_jvp(variance, (model, fields), (of_teacher, direction))[1]

    s, rho = state.s[:, None, None], state.rho[:, None, None]
    longer = s * rho * variance(model, fields) + 2 * s**2 / d * jax.vmap(along)(state.Omega)
    seen = jnp.concatenate([state.Omega[:, :p], state.Omega[:, -k:]], axis=1)  # rows of students and teachers
    seen = jnp.concatenate([seen[..., :p], seen[..., -k:]], axis=2)
    return step / n_b * longer + step / d * (1 - 1 / n_b) * s**2 * (J @ seen @ J.T)


def _zeros(model: StructuredModel) -> StructuredModel:
    """Increments that are all zero."""
    return jax.tree.map(lambda x: jnp.zeros_like(x) if eqx.is_inexact_array(x) else None, model)
