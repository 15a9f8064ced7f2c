"""Small curves of functions that have names, to be drawn beside the names."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions import activation
from dimfree.programs.compiled import brief_program

_REACH, _POINTS = 3.0, 25
Curve = dict[str, list[float]]


@lru_cache(maxsize=8)
def shapes(names: tuple[str, ...]) -> dict[str, Curve]:
    """The curve of every function, from -3 to 3."""
    x = np.linspace(-_REACH, _REACH, _POINTS)
    values = np.asarray(_values(jax.device_put(x), names))
    return {
        name: {"x": x.round(3).tolist(), "y": row.round(3).tolist()} for name, row in zip(names, values, strict=True)
    }


@brief_program
def _values(x: Float[Array, " n"], names: tuple[str, ...]) -> Float[Array, "names n"]:
    return jnp.stack([activation(name)(x) for name in names])
