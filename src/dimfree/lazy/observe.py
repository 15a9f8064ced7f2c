"""The observables of a network or its linearisation: losses, and how far weights, Jacobian and kernel moved."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.lazy.model import LazyModel
from dimfree.lazy.network import Weights, difference, distance, jacobian, output, product


class Errors(NamedTuple):
    """Losses and errors at one time, and how far the weights moved."""

    risk: Float[Array, ""]
    train_loss: Float[Array, ""]
    residual: Float[Array, " n"]
    residual_norm: Float[Array, ""]
    movement: Float[Array, ""]
    relative_movement: Float[Array, ""]


class Features(NamedTuple):
    """How far the Jacobian moved, which a linearised network does not have."""

    jacobian_change: Float[Array, ""]
    kernel_change: Float[Array, ""]
    smallest_eigenvalue: Float[Array, ""]
    largest_eigenvalue: Float[Array, ""]


def errors(
    model: LazyModel,
    e: Float[Array, " n"],
    g_held: Float[Array, " m"],
    moved: Float[Array, ""],
    size: Float[Array, ""],
) -> Errors:
    """From the residual on the points, the outputs on the held-out ones, |theta - theta_0| and |theta_0|."""
    square = jnp.sum(e**2)
    # the norm has no derivative at zero
    norm = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    return Errors(jnp.mean((g_held - model.y_held) ** 2) / 2, square / 2, e, norm, moved, moved / size)


def network_errors(model: LazyModel, theta: Weights, start: Weights) -> Errors:
    """The errors of a network that began at `start`."""
    g, g_held = (model.gamma * output(model.shape, theta, X) for X in (model.X, model.X_held))
    return errors(model, g - model.y, g_held, distance(theta, start), size(start))


def features(model: LazyModel, theta: Weights, start: Weights) -> Features:
    """How far the Jacobian of a network is from that of its start."""
    rows, before = (jacobian(model.shape, weights, model.X) for weights in (theta, start))
    K, K_0, change = product(rows, rows), product(before, before), difference(rows, before)
    eigenvalues = jnp.linalg.eigvalsh(K)
    return Features(
        jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(product(change, change))[-1], 0.0)),
        jnp.linalg.norm(K - K_0) / jnp.linalg.norm(K_0),
        eigenvalues[0],
        eigenvalues[-1],
    )


def size(theta: Weights) -> Float[Array, ""]:
    """|theta|."""
    return jnp.sqrt(jnp.sum(theta.a**2) + jnp.sum(theta.W**2))
