"""The cross-entropy of several outputs, which lie along the last axis (docs/theory/losses.md, section 1.2)."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.sample_loss import Coordinate, SampleLoss


class CrossEntropyLoss(SampleLoss):
    """-ln softmax_y(f) of several outputs; y is the number of a class, and there is an error for every output."""

    name: ClassVar[str] = "cross-entropy"
    along: ClassVar[Coordinate] = "margin"  # neither: nothing jumps
    bounded: ClassVar[bool] = True

    def __call__(self, f: Float[Array, "... c"], y: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value, without overflow."""
        return -jnp.sum(_one_hot(f, y) * jax.nn.log_softmax(f), axis=-1)

    def error(self, f: Float[Array, "... c"], y: Float[Array, "..."]) -> Float[Array, "... c"]:
        """e_c = 1[y = c] - softmax_c(f)."""
        return _one_hot(f, y) - jax.nn.softmax(f)


def _one_hot(f: Float[Array, "... c"], y: Float[Array, "..."]) -> Float[Array, "... c"]:
    return (y[..., None] == jnp.arange(f.shape[-1])).astype(float)
