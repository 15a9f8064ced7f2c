"""Learning-rate schedules as functions of time: factors on the base rate."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.problem.schedule import ExponentialDecay, PowerDecay, Steps


class Schedule(eqx.Module):
    """The factor on the base learning rate at time t."""

    @abstractmethod
    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""

    @abstractmethod
    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The integral of the factor from 0 to t: the clock of what feels the learning rate only."""

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times at which the factor jumps; an adaptive solver must stop there."""
        return ()


class Constant(Schedule):
    """No change."""

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""
        return jnp.ones_like(t)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Time itself."""
        return t


class Power(Schedule):
    """(1 + t/scale)^(-exponent)."""

    scale: Float[Array, ""]
    exponent: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""
        return (1 + t / self.scale) ** (-self.exponent)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """With x = log(1 + t/scale) it is scale (e^((1 - exponent) x) - 1)/(1 - exponent), and scale x at exponent 1."""
        x, rest = jnp.log1p(t / self.scale), 1 - self.exponent
        near = jnp.abs(rest) < 1e-9
        return self.scale * jnp.where(near, x * (1 + rest * x / 2), jnp.expm1(rest * x) / jnp.where(near, 1.0, rest))


class Exponential(Schedule):
    """exp(-t/scale)."""

    scale: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""
        return jnp.exp(-t / self.scale)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """scale (1 - e^(-t/scale))."""
        return -self.scale * jnp.expm1(-t / self.scale)


class Piecewise(Schedule):
    """factors[n] from times[n] on."""

    times: tuple[float, ...] = eqx.field(static=True)
    factors: Float[Array, " n"]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor; a step that begins within rounding of times[n] already has the new rate."""
        table = jnp.concatenate([jnp.ones(1), self.factors])
        times = jnp.asarray(self.times)
        return table[jnp.searchsorted(times * (1 - 1e-12), t, side="right")]

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The time spent under each factor, times the factor."""
        starts = jnp.asarray((0.0, *self.times))
        lengths = jnp.clip(t[..., None] - starts, 0.0, jnp.append(jnp.diff(starts), jnp.inf))
        return lengths @ jnp.concatenate([jnp.ones(1), self.factors])

    @property
    def jumps(self) -> tuple[float, ...]:
        """The times of the steps."""
        return self.times


def schedule(written: PowerDecay | ExponentialDecay | Steps | None) -> Schedule:
    """The schedule that a problem asks for."""
    match written:
        case None:
            return Constant()
        case PowerDecay():
            return Power(jnp.asarray(written.scale), jnp.asarray(written.exponent))
        case ExponentialDecay():
            return Exponential(jnp.asarray(written.scale))
        case Steps():
            return Piecewise(tuple(written.times), jnp.asarray(written.factors))
