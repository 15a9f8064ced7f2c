"""Which numbers of a particle learn: rates, decays, and the functional that falls (docs/theory/mean-field.md, equation (c.3))."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.onepass.fields.field import Field


class Trained(Field):
    """A field in which every kind of parameter has a rate and a decay: theta' = -rate grad Psi - decay theta.

    What falls is R/2 + sum over kinds of decay/(2 rate) int |theta|²; a kind that does not move has no part in it.
    """

    canonical: ClassVar[float] = 1.0
    inner: Field
    rates: Any
    decays: Any
    mass: Float[Array, " n"]

    def terms(self, particles: Any) -> tuple[Any, Float[Array, ""]]:
        """The velocities, and the falling functional."""
        velocity, risk = self.inner.terms(particles)
        moved = jax.tree.map(
            lambda rate, decay, v, x: rate * v - decay * x, self.rates, self.decays, velocity, particles
        )
        return moved, self.inner.canonical * risk + self.paid(particles)

    def paid(self, particles: Any) -> Float[Array, ""]:
        """What the decays add to the falling functional."""
        sizes = jax.tree.map(lambda squares: jnp.sum(self.mass @ squares), self.inner.squares(particles))
        return 0.5 * jax.tree.reduce(jnp.add, jax.tree.map(_weighted, self.rates, self.decays, sizes))

    def projected(self, particles: Any) -> Any:
        return self.inner.projected(particles)

    def squares(self, particles: Any) -> Any:
        return self.inner.squares(particles)


def _weighted(rate: Array, decay: Array, size: Array) -> Array:
    """decay/rate |theta|² of one kind."""
    moves = rate > 0
    return jnp.sum(jnp.where(moves, decay / jnp.where(moves, rate, 1.0), 0.0) * size)
