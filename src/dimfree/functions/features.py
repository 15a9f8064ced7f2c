"""Odd functions that make features of hidden variables, by name."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.functions.named import activation


class Sign(Activation):
    """The sign: no network can be trained with it, but inputs may be made by it."""

    name: str = eqx.field(default="sign", static=True, kw_only=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value."""
        return jnp.sign(x)


FEATURES: dict[str, Activation] = {"sign": Sign(), **{name: activation(name) for name in ("erf", "tanh", "linear")}}
