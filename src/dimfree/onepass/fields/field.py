"""Particles that flow down a risk, with fixed steps: where they stick to a corner of the risk, adaptive steps would chatter.

docs/theory/mean-field.md, sections a and b. The risk must fall along the flow; its largest rise between two times is kept in the
state. It is not looked at on the way, because its kernels cost as much as those of the velocities.
Everything is pure: a flow that is advanced in two pieces is the flow that is advanced in one, and gradients pass through.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

_ROUNDING = 1e-8  # a relative rise of the risk per step up to this counts as rounding
_CHECKPOINTS = 32  # states kept between two times for a gradient; the others are computed again
_SHARES, _WEIGHTS = (0.0, 0.5, 0.5, 1.0), (1.0, 2.0, 2.0, 1.0)  # weights of the four Runge-Kutta stages
Carry = TypeVar("Carry")


class Field(eqx.Module):
    """The velocity of each particle among all particles, in the time of section 0 (particles' = -grad Psi)."""

    canonical: ClassVar[float] = 0.5  # factor that turns its risk into E(y - f)²/2; here the risk is R = E(y - f)²

    @abstractmethod
    def terms(self, particles: Any) -> tuple[Any, Float[Array, ""]]:
        """The velocities and the risk."""

    def projected(self, particles: Any) -> Any:
        """The nearest allowed particles."""
        return particles

    def squares(self, particles: Any) -> Any:
        """Numbers of the shape of the particles that add up to |theta|² for each of them, kind by kind."""
        return jax.tree.map(jnp.square, particles)


class Descent(eqx.Module):
    """The particles at a time, their risk, and the largest rise of the risk from one time to the next so far."""

    particles: Any
    time: Float[Array, "*t"]
    risk: Float[Array, "*t"]
    rise: Float[Array, "*t"]

    @property
    def falls(self) -> Bool[Array, "*t"]:
        """Whether the risk is finite and never rose, up to rounding."""
        return jnp.isfinite(self.risk) & (self.rise <= _ROUNDING * jnp.maximum(1.0, self.risk))


def begin(particles: Any) -> Descent:
    """The flow at time 0, whose risk no step has computed yet."""
    return Descent(particles, jnp.zeros(()), jnp.full((), jnp.inf), jnp.zeros(()))


@eqx.filter_jit
def advance(field: Field, flow: Descent, times: Float[Array, " t"], step: Float[Array, ""]) -> tuple[Descent, Descent]:
    """The flow at the last of `times`, and at each of them: classical Runge-Kutta with steps of at most `step`."""

    def to_next(flow: Descent, time: Array) -> tuple[Descent, Descent]:
        count, h = equal_steps(time - flow.time, step)

        particles = repeated(lambda _, now: _runge_kutta(field, now, h), count, flow.particles)
        risk = field.terms(particles)[1]
        now = Descent(particles, time, risk, jnp.maximum(flow.rise, risk - flow.risk))
        return now, now

    # the risk is computed again, because at time 0 it was not computed yet
    last, seen = jax.lax.scan(to_next, flow, jnp.concatenate([flow.time[None], times]))
    return last, jax.tree.map(lambda x: x[1:], seen)


def solve(field: Field, particles: Any, times: Float[Array, " t"], step: float = 0.02) -> Descent:
    """The flow at `times` from given particles."""
    return advance(field, begin(particles), times, jnp.asarray(step))[1]


def equal_steps(length: Float[Array, ""], longest: Float[Array, ""]) -> tuple[Int[Array, ""], Float[Array, ""]]:
    """How many equal steps of at most `longest` make up a length, and how long they are."""
    count = jnp.ceil(length / longest - 1e-9).astype(int)
    return count, length / jnp.maximum(count, 1)


def repeated(step: Callable[[Int[Array, ""], Carry], Carry], count: Int[Array, ""], carry: Carry) -> Carry:
    """`count` steps, a number that is known at run time only, in a loop that also runs backwards for gradients."""
    going = lambda now: now[0] < count  # noqa: E731
    one = lambda now: (now[0] + 1, step(*now))  # noqa: E731
    start = (jnp.zeros((), int), carry)
    done: tuple[Array, Carry] = eqxi.while_loop(going, one, start, kind="checkpointed", checkpoints=_CHECKPOINTS)
    return done[1]


def _runge_kutta(field: Field, particles: Any, h: Float[Array, ""]) -> Any:
    """The particles after a step; its four stages are one program."""

    def moved(size: Array, velocity: Any) -> Any:
        return field.projected(jax.tree.map(lambda x, v: x + size * v, particles, velocity))

    def stage(carry: tuple[Any, Any], at: tuple[Array, Array]) -> tuple[tuple[Any, Any], None]:
        velocity, total = carry
        share, weight = at
        velocity, _ = field.terms(moved(share * h, velocity))
        return (velocity, jax.tree.map(lambda t, v: t + weight * v, total, velocity)), None

    still = jax.tree.map(jnp.zeros_like, particles)
    (_, total), _ = jax.lax.scan(stage, (still, still), (jnp.asarray(_SHARES), jnp.asarray(_WEIGHTS)))
    return moved(h, jax.tree.map(lambda t: t / 6, total))
