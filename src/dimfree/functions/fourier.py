"""Functions of a few signs by their Fourier coefficients: h(z) = sum_S h_S prod_{i in S} z_i (docs/theory/mean-field.md, d)."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Supports = tuple[tuple[int, ...], ...]


class FourierSum(eqx.Module):
    """h of z in {-1, 1}^P, with supports as places among the P signs, counted from 0."""

    signs: int = eqx.field(static=True)  # P
    supports: Supports = eqx.field(static=True)
    coefficients: Float[Array, " n"]

    def __call__(self, z: Float[Array, "... P"]) -> Float[Array, "..."]:
        return characters(z, self.supports) @ self.coefficients


def all_signs(count: int) -> Float[Array, "m P"]:
    """Every z in {-1, 1}^P once; the first is all ones."""
    return 1.0 - 2.0 * ((jnp.arange(2**count)[:, None] >> jnp.arange(count)) & 1)


def characters(z: Float[Array, "... P"], supports: Supports) -> Float[Array, "... n"]:
    """chi_S(z) = prod_{i in S} z_i for each support; that of the empty one is 1."""
    products = [jnp.prod(z[..., np.array(support, dtype=int)], axis=-1) for support in supports]
    return jnp.stack(products, axis=-1)


def all_supports(count: int) -> Supports:
    """Every subset of P places, smaller ones first."""
    subsets = (tuple(i for i in range(count) if number >> i & 1) for number in range(2**count))
    return tuple(sorted(subsets, key=lambda support: (len(support), support)))


def fourier_coefficients(outputs: Float[Array, "... m"], count: int, supports: Sequence[tuple[int, ...]]) -> Array:
    """E_z f(z) chi_S(z) from the values of f at `all_signs`."""
    return outputs @ characters(all_signs(count), tuple(supports)) / 2**count
