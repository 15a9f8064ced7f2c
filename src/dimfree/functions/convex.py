"""Convex losses ell(u), as dynamics and theories need them: derivatives, the proximal map and where that bends.

A loss is a function of u = y h for labels that are classes. For labels that are real numbers a loss must be an even function
of the residual y - h = 1 - u: for labels of -1 and 1 both are the same loss, |y - h| = |1 - y h|
(docs/theory/dmft.md, sections 1 and 6, and docs/theory/static.md, sections a and d).
"""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class Loss(eqx.Module):
    """A convex function of the margin, applied elementwise."""

    name: eqx.AbstractClassVar[str]
    smooth: ClassVar[bool] = True
    of_residual: ClassVar[bool] = False  # whether it is an even function of 1 - u, so that labels may be real numbers

    @abstractmethod
    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value."""

    @abstractmethod
    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The first derivative."""

    @abstractmethod
    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The second derivative."""

    @abstractmethod
    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """The proximal map argmin_h ell(h) + (h - omega)²/(2V) of equation (E1)."""

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The omega at which the proximal map bends, in increasing order; a smooth one has none."""
        return ()

    def traced(self, t: Float[Array, "..."], V: Float[Array, ""]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """omega and its proximal point along a coordinate t in which both are explicit and grow; here t is omega."""
        return t, self.prox(t, V)

    def coordinate(self, omega: Float[Array, "..."], V: Float[Array, ""]) -> Float[Array, "..."]:
        """The t at which `traced` passes this omega."""
        return omega

    def knots(self, V: Float[Array, ""]) -> Float[Array, " k"]:
        """Between these t the proximal map is smooth on the scale of their distances, and of one sign."""
        zero = V * self.derivative(jnp.zeros_like(V))
        return jnp.stack([*self.prox_kinks(V), zero])
