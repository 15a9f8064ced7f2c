"""What drives a network of several outputs, its risk and its errors, at points of which the law of the label is known.

docs/theory/losses.md, equation (1.5): with the label summed over, all of them are sums over points and classes.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.sample_loss import SampleLoss

_TINY = 1e-300


class Head(NamedTuple):
    """A network beside its first layer, and the loss that it learns by."""

    activation: Activation
    A: Float[Array, "c p"]
    loss: SampleLoss
    norm: Float[Array, ""] | None = None  # at which gradients of single samples are clipped


class Seen(NamedTuple):
    """Points with weights: students' preactivations, and what is known there of label, teachers and length of the input."""

    weights: Float[Array, " n"]
    students: Float[Array, "n p"]
    chances: Float[Array, "n c"]  # P(y)
    carried: Float[Array, "n c k"]  # E[lambda* 1(y)]
    size: Float[Array, "*n"]  # E|x|²


class Driving(NamedTuple):
    """D = E[c uᵀ] = [H | Psi^M], E[c cᵀ |x|²] and Psi^A = E[e sigma(lambda)ᵀ]."""

    D: Float[Array, "p n"]
    Var: Float[Array, "p p"]
    PsiA: Float[Array, "c p"]


def driving(head: Head, seen: Seen) -> Driving:
    """Equation (1.5)."""
    values, slopes = head.activation(seen.students), head.activation.derivative(seen.students)
    e = _of_classes(head.loss.error, values @ head.A.T / head.A.shape[1], head.A.shape[0])  # (y, n, c)
    c = slopes * (e @ head.A)  # (y, n, p)
    if head.norm is not None:
        length = jnp.sqrt(jnp.sum(c**2, axis=-1) * seen.size) / head.A.shape[1]
        short = jnp.minimum(1.0, head.norm / jnp.maximum(length, _TINY))[..., None]
        e, c = short * e, short * c
    w = seen.weights * seen.chances.T  # (y, n)
    H = jnp.einsum("yn,yni,nj->ij", w, c, seen.students)
    PsiM = jnp.einsum("n,nyk,yni->ik", seen.weights, seen.carried, c)
    Var = jnp.einsum("yn,yni,ynj->ij", w * seen.size, c, c)
    return Driving(jnp.concatenate([H, PsiM], axis=1), Var, jnp.einsum("yn,ync,ni->ci", w, e, values))


def mean_loss(head: Head, seen: Seen) -> Float[Array, ""]:
    """E l(f, y) over labels as they are drawn."""
    f = head.activation(seen.students) @ head.A.T / head.A.shape[1]
    return jnp.sum(seen.weights * seen.chances.T * _of_classes(head.loss, f, head.A.shape[0]))


def wrong_share(head: Head, seen: Seen) -> Float[Array, ""]:
    """How often the largest output is not that of the label; where several are the largest, each is chosen equally often."""
    f = head.activation(seen.students) @ head.A.T
    largest = (f >= jnp.max(f, axis=1, keepdims=True)).astype(float)
    chosen = largest / jnp.sum(largest, axis=1, keepdims=True)
    return 1 - jnp.sum(seen.weights[:, None] * seen.chances * chosen)


def flipped(right: Float[Array, "*n c"], flip: Float[Array, ""], total: Float[Array, "*n 1"]) -> Float[Array, "*n c"]:
    """The parts of the classes after labels are flipped with probability `flip`; the parts add up to `total`."""
    return (1 - flip) * right + flip / (right.shape[-1] - 1) * (total - right)


def _of_classes(
    function: Callable[[Array, Array], Array], f: Float[Array, "n c"], classes: int
) -> Float[Array, "y n ..."]:
    """A function of outputs and a label, for every class."""
    return jax.vmap(lambda y: function(f, jnp.full(f.shape[0], y)))(jnp.arange(1.0 * classes))
