"""Losses ell(u) of a margin u, and all losses by name, with what dynamics, static limits and learning curves need.

docs/theory/dmft.md, sections 1 and 6, and docs/theory/static.md, section a.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.errors import ProblemError, RefusalError, suggest
from dimfree.functions.convex import Loss
from dimfree.functions.residual_loss import Absolute, Huber, Insensitive

_NEWTON_STEPS = 40
_LOGISTIC_KNOTS = np.arange(-36.0, 37.0, 3.0)  # beyond, the curvature is below the rounding error


class Logistic(Loss):
    """ln(1 + e^-u)."""

    name: ClassVar[str] = "logistic"

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value, without overflow."""
        return jax.nn.softplus(-u)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """-1/(1 + e^u)."""
        return -jax.nn.sigmoid(-u)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """1/((1 + e^u)(1 + e^-u))."""
        return jax.nn.sigmoid(u) * jax.nn.sigmoid(-u)

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """Newton's method for h - omega + V ell'(h) = 0.

        The left-hand side bends at h = 0 only: from a bound of the root on the side of zero, Newton never overshoots.
        """
        start = jnp.where(omega + V / 2 > 0, jnp.maximum(omega, 0.0), jnp.minimum(omega + V, 0.0))

        def newton(h: Array) -> Array:
            return h - (h - omega + V * self.derivative(h)) / (1 + V * self.second_derivative(h))

        root = jax.lax.fori_loop(0, _NEWTON_STEPS, lambda _, h: newton(h), jax.lax.stop_gradient(start))
        return newton(jax.lax.stop_gradient(root))  # one step from the root carries the derivative

    def traced(self, t: Float[Array, "..."], V: Float[Array, ""]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The proximal point itself is the coordinate: its omega needs no root."""
        return t + V * self.derivative(t), t

    def coordinate(self, omega: Float[Array, "..."], V: Float[Array, ""]) -> Float[Array, "..."]:
        """The proximal point."""
        return self.prox(omega, V)

    def knots(self, V: Float[Array, ""]) -> Float[Array, " k"]:
        """Singularities in the complex plane stay pi away from the real axis: pieces of that length are smooth."""
        return jnp.asarray(_LOGISTIC_KNOTS)


class Square(Loss):
    """(1 - u)²/2."""

    name: ClassVar[str] = "square"
    of_residual: ClassVar[bool] = True

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        return 0.5 * (1 - u) ** 2

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """The margin minus one."""
        return u - 1

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(u)

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """(omega + V)/(1 + V)."""
        return (omega + V) / (1 + V)


class SmoothHinge(Loss):
    """max(0, 1 - u) with the kink replaced by a parabola on (1 - width, 1)."""

    name: ClassVar[str] = "smooth-hinge"
    width: Float[Array, ""]

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        inside = jnp.clip(1 - u, 0.0, self.width)
        return inside**2 / (2 * self.width) + jnp.maximum(1 - u - self.width, 0.0)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Between -1 and 0."""
        return -jnp.clip((1 - u) / self.width, 0.0, 1.0)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """1/width on the parabola, 0 elsewhere."""
        return jnp.where((u < 1) & (u > 1 - self.width), 1 / self.width, 0.0)

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """A shift by at most V."""
        return omega + V * jnp.clip((1 - omega) / (self.width + V), 0.0, 1.0)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The images of both ends of the parabola."""
        return 1 - self.width - V, jnp.ones_like(V)


class Hinge(Loss):
    """max(0, 1 - u); its curvature is a point mass at u = 1."""

    name: ClassVar[str] = "hinge"
    smooth: ClassVar[bool] = False

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.maximum(1 - u, 0.0)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """-1 below the kink, 0 from it on."""
        return -jnp.where(u < 1, 1.0, 0.0)

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Refuse: the second derivative is a point mass, not a function."""
        raise RefusalError(
            "the hinge loss has no second derivative, which this theory needs; "
            "use 'smooth-hinge' with a small width instead of 'hinge'."
        )

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """A shift by at most V, which stops at the kink."""
        return omega + jnp.clip(1 - omega, 0.0, V)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The omega between which the proximal point stays at the kink."""
        return 1 - V, jnp.ones_like(V)


class HardMargin(Loss):
    """0 from the margin one on, and infinite below: what all losses with a tail become for separable data without ridge."""

    name: ClassVar[str] = "hard-margin"
    smooth: ClassVar[bool] = False

    def __call__(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Zero wherever the loss is finite."""
        return jnp.where(u < 1, jnp.inf, 0.0)

    def derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Refuse: the loss jumps."""
        raise RefusalError("the hard margin has no derivative; there is no descent on it.")

    def second_derivative(self, u: Float[Array, "..."]) -> Float[Array, "..."]:
        """Refuse: the loss jumps."""
        raise RefusalError("the hard margin has no derivative; there is no descent on it.")

    def prox(self, omega: Float[Array, "..."], V: Float[Array, "..."]) -> Float[Array, "..."]:
        """The nearest point with a margin of one."""
        return jnp.maximum(omega, 1.0)

    def prox_kinks(self, V: Float[Array, ""]) -> tuple[Float[Array, ""], ...]:
        """The margin."""
        return (jnp.ones_like(V),)

    def knots(self, V: Float[Array, ""]) -> Float[Array, " k"]:
        """The margin; no proximal point is negative."""
        return jnp.ones_like(V)[None]


LOSSES = tuple(one.name for one in (Logistic, Square, SmoothHinge, Hinge, Huber, Absolute, Insensitive))


def loss(name: str, width: float = 1.0) -> Loss:
    """The loss with this name; 'smooth-hinge', 'huber' and 'insensitive' alone read the width."""
    match name:
        case "logistic":
            return Logistic()
        case "square":
            return Square()
        case "hinge":
            return Hinge()
        case "absolute":
            return Absolute()
        case "smooth-hinge" if width > 0:
            return SmoothHinge(jnp.asarray(width, dtype=float))
        case "huber" if width > 0:
            return Huber(jnp.asarray(width, dtype=float))
        case "insensitive" if width > 0:
            return Insensitive(jnp.asarray(width, dtype=float))
        case "smooth-hinge":
            raise ProblemError(
                f"the width of the smooth hinge is {width:g}, it must be positive; width zero is 'hinge'."
            )
        case "huber":
            raise ProblemError(f"the threshold of the Huber loss is {width:g}, it must be positive.")
        case "insensitive":
            raise ProblemError(
                f"the tube of the insensitive loss is {width:g}, it must be positive; tube zero is 'absolute'."
            )
        case _:
            raise ProblemError(f"there is no loss {name!r}; {suggest(name, LOSSES)}")
