"""Robust losses, even functions of the residual r = y - h = 1 - u with bounded forces (docs/theory/static.md, section d)."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.errors import RefusalError
from dimfree.functions.convex import Loss


class Huber(Loss):
    """r²/2 up to |r| = threshold, and the tangent beyond: the square loss whose force is clipped."""

    name: ClassVar[str] = "huber"
    of_residual: ClassVar[bool] = True
    threshold: Float[Array, ""]

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        size = jnp.abs(1 - u)
        inside = jnp.minimum(size, self.threshold)
        return 0.5 * inside**2 + self.threshold * (size - inside)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """-r, clipped."""
        return -jnp.clip(1 - u, -self.threshold, self.threshold)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """1 on the parabola, 0 elsewhere."""
        return jnp.where(jnp.abs(1 - u) < self.threshold, 1.0, 0.0)

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """The proximal map of the square loss, as long as the force is not clipped."""
        return omega + V * jnp.clip((1 - omega) / (1 + V), -self.threshold, self.threshold)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The images of both ends of the parabola."""
        reach = self.threshold * (1 + V)
        return 1 - reach, 1 + reach


class Absolute(Loss):
    """|r|; its curvature is a point mass at r = 0."""

    name: ClassVar[str] = "absolute"
    smooth: ClassVar[bool] = False
    of_residual: ClassVar[bool] = True

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.abs(1 - u)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Minus the sign of r, and 0 at the kink."""
        return -jnp.sign(1 - u)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Refuse: the second derivative is a point mass, not a function."""
        raise RefusalError(
            "the absolute loss has no second derivative, which this theory needs; "
            "use 'huber' with a small threshold instead of 'absolute'."
        )

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """A shift by at most V, which stops at the kink."""
        return omega + jnp.clip(1 - omega, -V, V)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The omega between which the proximal point stays at the kink."""
        return 1 - V, 1 + V


class Insensitive(Loss):
    """max(0, |r| - tube), the loss of support vector regression; its curvature is two point masses."""

    name: ClassVar[str] = "insensitive"
    smooth: ClassVar[bool] = False
    of_residual: ClassVar[bool] = True
    tube: Float[Array, ""]

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.maximum(jnp.abs(1 - u) - self.tube, 0.0)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Minus the sign of r outside of the tube, and 0 in it."""
        return jnp.where(jnp.abs(1 - u) > self.tube, -jnp.sign(1 - u), 0.0)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Refuse: the second derivative is two point masses, not a function."""
        raise RefusalError(
            "the insensitive loss has no second derivative, which this theory needs; "
            "use 'huber' with a small threshold instead of 'insensitive'."
        )

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """A shift by at most V towards the tube, which stops at its wall."""
        r = 1 - omega
        return omega + jnp.sign(r) * jnp.clip(jnp.abs(r) - self.tube, 0.0, V)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The walls of the tube, and where the shift begins to stop at them."""
        wall = self.tube * jnp.ones_like(V)
        return 1 - wall - V, 1 - wall, 1 + wall, 1 + wall + V
