"""Learning-rate schedules as functions of time: factors on the base rate."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.onepass.sections.training import ExponentialDecay, PowerDecay, Steps


class Schedule(eqx.Module):
    """The factor on the base learning rate at time t."""

    @abstractmethod
    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""

    @property
    def jumps(self) -> tuple[float, ...]:
        """Times at which the factor jumps; an adaptive solver must stop there."""
        return ()


class Constant(Schedule):
    """No change."""

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """One."""
        return jnp.ones_like(t)


class Power(Schedule):
    """(1 + t/scale)^(-exponent)."""

    scale: Float[Array, ""]
    exponent: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""
        return (1 + t / self.scale) ** (-self.exponent)


class Exponential(Schedule):
    """exp(-t/scale)."""

    scale: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""
        return jnp.exp(-t / self.scale)


class Piecewise(Schedule):
    """factors[n] from times[n] on."""

    times: tuple[float, ...] = eqx.field(static=True)
    factors: Float[Array, " n"]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor; a step that begins within rounding of times[n] already has the new rate."""
        table = jnp.concatenate([jnp.ones(1), self.factors])
        times = jnp.asarray(self.times)
        return table[jnp.searchsorted(times * (1 - 1e-12), t, side="right")]

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
