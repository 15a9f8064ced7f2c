"""Tangent kernels of infinite width: 1000 points must cost less than what is done with them afterwards."""

import equinox as eqx
import jax
import jax.numpy as jnp

from clock import Bar, cpu_seconds
from dimfree.functions.named import activation
from dimfree.lazy.kernel import compiled_kernel
from dimfree.lazy.network import Shape

BARS = {"tangent_kernel_erf": Bar(True, 1.0), "tangent_kernel_relu": Bar(True, 1.0)}


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time of the kernel of n points over that of its eigendecomposition, both compiled."""
    X = jax.random.normal(jax.random.key(0), (50 if smoke else 1000, 50)) / 50**0.5
    least, one = 0.01 if smoke else 1.0, jnp.asarray(1.0)
    shapes = {name: Shape(activation(name), True, True, one, one) for name in ("erf", "relu")}
    solving = cpu_seconds(eqx.filter_jit(jnp.linalg.eigh), compiled_kernel(shapes["erf"], X), least=least, rounds=3)
    return {
        f"tangent_kernel_{name}": cpu_seconds(compiled_kernel, shape, X, least=least, rounds=3) / solving
        for name, shape in shapes.items()
    }
