"""Small curves of functions, to be drawn beside their names."""

from functools import lru_cache
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions import activation
from dimfree.programs.compiled import brief_program

_X = np.linspace(-3.0, 3.0, 25)
Curve = dict[str, list[float | None]]


@lru_cache(maxsize=8)
def shapes(names: tuple[str, ...]) -> dict[str, Curve]:
    """The curve of every function, from -3 to 3."""
    values = np.asarray(_values(jax.device_put(_X), names))
    return {name: _curve(row) for name, row in zip(names, values, strict=True)}


def shape_of(written: Any) -> Curve:
    """The curve of one function that has no name: coefficients, knots, or code; nothing is compiled for it."""
    return _curve(np.asarray(activation(written)(jax.device_put(_X))))


def _curve(values: np.ndarray) -> Curve:
    """What is not finite is None, which JSON can hold."""
    return {"x": _X.round(3).tolist(), "y": [round(y, 3) if isfinite(y) else None for y in values.tolist()]}


@brief_program
def _values(x: Float[Array, " n"], names: tuple[str, ...]) -> Float[Array, "names n"]:
    return jnp.stack([activation(name)(x) for name in names])
