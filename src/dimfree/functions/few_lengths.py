"""Functions of NumPy vectors: jax compiles once for each length, so long vectors are padded to a few lengths."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]
OnVectors = Callable[[Vector], Vector]
_SHORT = 8  # vectors up to this length are not padded
_LENGTHS = (512, 16384, 262144)


def on_vectors(function: Callable[[jax.Array], jax.Array]) -> OnVectors:
    """The compiled function, which maps each number on its own, on NumPy vectors of any length."""
    compiled = jax.jit(function)

    def on_padded(x: Vector) -> Vector:
        longer = _padded(x)
        found = np.asarray(compiled(jnp.asarray(longer)), dtype=float)
        return found[: len(x)] if found.shape == longer.shape else found  # the caller reports a wrong shape

    return on_padded


def _padded(x: Vector) -> Vector:
    length = next((one for one in _LENGTHS if one >= len(x) > _SHORT), len(x))
    return np.pad(x, (0, length - len(x)), mode="edge") if length > len(x) else x
