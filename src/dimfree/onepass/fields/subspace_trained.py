"""The field of particles (a, b, s, r) of a model: what it trains moves and decays, at its rates."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.onepass.fields.form import Kept
from dimfree.onepass.fields.subspace import Plane, SubspaceField, SubspaceNeurons
from dimfree.onepass.fields.trained import Trained
from dimfree.onepass.rule import OnePassModel


def subspace_trained(
    model: OnePassModel,
    kept: Kept,
    plane: Plane,
    labels: Float[Array, " m"],
    moments: Float[Array, " orders"],
) -> Trained:
    """On nodes of the subspace with these labels, in as many orders as there are moments."""
    inner = SubspaceField(
        model.activation, plane, labels, moments, kept.mass, model.train_a, model.train_b, model.train_w
    )
    rates = _kinds(model.eta_a * model.train_a, 1.0 * model.train_b, 1.0 * model.train_w)
    decays = _kinds(model.omega_a * model.train_a, model.omega * model.train_b, model.omega * model.train_w)
    return Trained(inner, rates, decays, kept.mass)


def _kinds(a: Any, b: Any, w: Any) -> SubspaceNeurons:
    """One number for each kind of parameter."""
    return SubspaceNeurons(*(jnp.reshape(jnp.asarray(x), shape) for x, shape in ((a, 1), (b, 1), (w, (1, 1)), (w, 1))))
