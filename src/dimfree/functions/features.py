"""Functions that turn other variables into features: activations, and the sign."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.named import activation
from dimfree.problem.activation import SIGN


class Sign(Activation):
    """The sign: no network can be trained with it, but inputs may be signs of other variables."""

    name: str = eqx.field(default="sign", static=True, kw_only=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.sign(x)


def feature(written: Any) -> Activation:
    """The function that a problem names: the sign, or an activation."""
    return Sign() if written == SIGN else activation(written)


FEATURES: dict[str, Activation] = {
    name: feature(name) for name in (SIGN, "erf", "tanh", "linear")
}  # of hidden manifolds
