"""Adapters for the lazy limit (docs/theory/mean-field.md, section h); its numbers are made by tests/reference/make_lazy.py."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.functions.named import activation
from dimfree.lazy.kernel import compiled_kernel
from dimfree.lazy.linear import at_time, linearised
from dimfree.lazy.model import LazyModel
from dimfree.lazy.network import Shape, Weights
from dimfree.lazy.observe import Errors

Values = dict[str, Any]


def kernel(inputs: Values) -> Values:
    """The kernel at infinite width between all points, below its diagonal."""
    found = np.asarray(compiled_kernel(_shape(inputs), jnp.asarray(inputs["X"])))
    return {"below_diagonal": found[np.tril_indices(len(found), -1)]}


def flow(inputs: Values) -> Values:
    """The linearised flow of a given network."""
    X, y, held, a, W = (jnp.asarray(inputs[name], dtype=float) for name in ("X", "y", "X_held", "a", "W"))
    model = LazyModel(_shape(inputs), a.size, jnp.asarray(inputs["gamma"]), X, y, held, jnp.zeros(len(held)))

    @jax.jit
    def observed() -> list[tuple[Errors, jax.Array]]:
        solved = linearised(model, Weights(a, W))
        return [at_time(model, solved, t * model.clock) for t in inputs["t"]]

    seen = observed()
    return {
        "residual": [one.residual for one, _ in seen],
        "movement": [one.movement for one, _ in seen],
        "held_out": [g_held for _, g_held in seen],
    }


def _shape(inputs: Values) -> Shape:
    """A network whose layers are both trained."""
    scales = (jnp.asarray(inputs.get(name, 1.0)) for name in ("scale", "second_layer_scale"))
    return Shape(activation(inputs["activation"]), True, True, *scales)
