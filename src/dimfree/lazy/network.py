"""The network and its Jacobian J on points, which is never built: only Gram matrices J J^T are computed.

docs/theory/mean-field.md, section h. With h = X W^T, J = [sigma(h) | a_i sigma'(h_i) x], so that for any two sets of points
J J'^T = sigma(h) sigma(h')^T + [a sigma'(h)] [a sigma'(h')]^T * (X X'^T), elementwise in the last product.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dimfree.functions.activation import Activation


class Weights(NamedTuple):
    """All that is trained: theta = (a, W)."""

    a: Float[Array, " N"]
    W: Float[Array, "N d"]


class Shape(eqx.Module):
    """All of the network but its weights: the activation, which layers are trained, and the law of the start."""

    activation: Activation
    first: bool = eqx.field(static=True)
    second: bool = eqx.field(static=True)
    scale: Float[Array, ""]  # standard deviation of W at the start
    second_scale: Float[Array, ""]  # and of a


class Rows(NamedTuple):
    """The rows of a Jacobian: the columns of a, the factors of x in those of W, and the points."""

    values: Float[Array, "n N"]
    slopes: Float[Array, "n N"]
    X: Float[Array, "n d"]


def paired(shape: Shape, width: int, dimension: int, key: Key[Array, ""]) -> Weights:
    """Draw half of the units, and repeat them with the opposite a, so that the output vanishes everywhere."""
    first, second = jax.random.split(key)
    a = shape.second_scale * jax.random.normal(second, (width // 2,))
    W = shape.scale * jax.random.normal(first, (width // 2, dimension))
    return Weights(jnp.concatenate([a, -a]), jnp.concatenate([W, W]))


def output(shape: Shape, theta: Weights, X: Float[Array, "n d"]) -> Float[Array, " n"]:
    """f(x) = sum_i a_i sigma(w_i.x), without the output scale."""
    return shape.activation(X @ theta.W.T) @ theta.a


def jacobian(shape: Shape, theta: Weights, X: Float[Array, "n d"]) -> Rows:
    """The rows of J; what is not trained has columns of zeros."""
    h = X @ theta.W.T
    return Rows(
        shape.activation(h) if shape.second else jnp.zeros_like(h),
        shape.activation.derivative(h) * theta.a if shape.first else jnp.zeros_like(h),
        X,
    )


def product(left: Rows, right: Rows) -> Float[Array, "n m"]:
    """J J'^T."""
    return left.values @ right.values.T + (left.slopes @ right.slopes.T) * (left.X @ right.X.T)


def difference(later: Rows, before: Rows) -> Rows:
    """J_t - J_0 on the same points."""
    return Rows(later.values - before.values, later.slopes - before.slopes, later.X)


def pulled_back(shape: Shape, theta: Weights, X: Float[Array, "n d"], e: Float[Array, " n"]) -> Weights:
    """J^T e."""
    rows = jacobian(shape, theta, X)
    return Weights(e @ rows.values, (rows.slopes * e[:, None]).T @ X)


def distance(one: Weights, other: Weights) -> Float[Array, ""]:
    """|theta - theta'|."""
    return jnp.sqrt(jnp.sum((one.a - other.a) ** 2) + jnp.sum((one.W - other.W) ** 2))
