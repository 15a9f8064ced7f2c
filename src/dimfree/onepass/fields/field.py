"""Particles that flow down a risk, with fixed steps: where they stick to a corner of the risk, adaptive steps would chatter.

docs/theory/mean-field.md, sections a and b. The risk must fall along the flow; the largest rise in one step is kept in the state.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dimfree.functions.schedule import Schedule
from dimfree.gaussian.nodes import gauss_legendre

_ROUNDING = 1e-8  # relative rise of the risk in one step that is no alarm
_PANEL = 64  # nodes between two times, for the integral of a schedule


class Field(eqx.Module):
    """The velocity of each particle in the company of all, in the time of section 0 (particles' = -grad Psi)."""

    @abstractmethod
    def terms(self, particles: Any) -> tuple[Any, Float[Array, ""]]:
        """The velocities and the risk R."""

    def projected(self, particles: Any) -> Any:
        """The nearest particles that are allowed."""
        return particles


class Descent(eqx.Module):
    """The particles at a time, their risk, and the largest rise of the risk in one step so far."""

    particles: Any
    time: Float[Array, "*t"]
    risk: Float[Array, "*t"]
    rise: Float[Array, "*t"]

    @property
    def falls(self) -> Bool[Array, "*t"]:
        """Whether the risk is finite and never rose, up to rounding."""
        return jnp.isfinite(self.risk) & (self.rise <= _ROUNDING * jnp.maximum(1.0, self.risk))


def begin(field: Field, particles: Any) -> Descent:
    """The flow at time 0."""
    return Descent(particles, jnp.zeros(()), field.terms(particles)[1], jnp.zeros(()))


@eqx.filter_jit
def advance(field: Field, flow: Descent, times: Float[Array, " t"], step: Float[Array, ""]) -> tuple[Descent, Descent]:
    """The flow at the last of `times`, and at each of them: classical Runge-Kutta with steps of at most `step`."""

    def to_next(flow: Descent, time: Array) -> tuple[Descent, Descent]:
        count = jnp.ceil((time - flow.time) / step - 1e-9).astype(int)
        h = (time - flow.time) / jnp.maximum(count, 1)

        def one(_: Array, carry: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
            particles, before, rise = carry
            particles, risk = _runge_kutta(field, particles, h)
            return particles, risk, jnp.maximum(rise, risk - before)

        # the risk of a step is that of its beginning, so the first comparison is of a state with itself
        particles, before, rise = jax.lax.fori_loop(0, count, one, (flow.particles, flow.risk, flow.rise))
        risk = field.terms(particles)[1]
        now = Descent(particles, time, risk, jnp.maximum(rise, risk - before))
        return now, now

    return jax.lax.scan(to_next, flow, times)


def solve(field: Field, particles: Any, times: Float[Array, " t"], step: float = 0.02) -> Descent:
    """The flow at `times` from given particles."""
    return advance(field, begin(field, particles), times, jnp.asarray(step))[1]


def clock(schedule: Schedule, times: Float[Any, " t"]) -> Float[Array, " t"]:
    """The time of the flow under a schedule: int_0^t of its factor; particles only feel this clock (section b)."""
    asked = np.asarray(times, dtype=float)
    edges = np.unique(np.concatenate([[0.0], asked, [jump for jump in schedule.jumps if jump < asked.max()]]))
    x, w = gauss_legendre(_PANEL)
    factors = schedule(jnp.asarray(edges[:-1, None] + np.diff(edges)[:, None] * x))
    passed = np.concatenate([[0.0], np.cumsum(np.diff(edges) * (np.asarray(factors) @ w))])
    return jnp.asarray(passed[np.searchsorted(edges, asked)])


def _runge_kutta(field: Field, particles: Any, h: Float[Array, ""]) -> tuple[Any, Float[Array, ""]]:
    """The particles after a step, and the risk before it."""

    def moved(size: Array, velocity: Any) -> Any:
        return field.projected(jax.tree.map(lambda x, v: x + size * v, particles, velocity))

    one, risk = field.terms(particles)
    two, _ = field.terms(moved(h / 2, one))
    three, _ = field.terms(moved(h / 2, two))
    four, _ = field.terms(moved(h, three))
    return moved(h, jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, one, two, three, four)), risk
