"""Learning-rate schedules as functions of time: factors on the base rate."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.problem.schedule import ExponentialDecay, HoldThenPower, LinearKnots, PowerDecay, Steps, WarmUpCosine

_NEAR = 1e-9  # an exponent this close to 1 counts as 1, where the integral of a power is a logarithm


class Schedule(eqx.Module):
    """The factor on the base learning rate at time t."""

    @abstractmethod
    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor."""

    @abstractmethod
    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The integral of the factor from 0 to t: the clock of dynamics that depend on time only through the learning rate."""

    @property
    def jumps(self) -> Float[Array, " n"]:
        """Times at which the factor jumps or has a kink; an adaptive solver must stop there."""
        return jnp.zeros(0)


class Constant(Schedule):
    """No change."""

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(t)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Time itself."""
        return t


class Held(Schedule):
    """One factor at all times."""

    factor: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.broadcast_to(self.factor, jnp.shape(t))

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Time, stretched."""
        return self.factor * t


class Power(Schedule):
    """top (1 + t/scale)^(-exponent)."""

    scale: Float[Array, ""]
    exponent: Float[Array, ""]
    top: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.top * (1 + t / self.scale) ** (-self.exponent)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The integral of a power from 1 to 1 + t/scale."""
        return self.top * self.scale * _integrated(jnp.log1p(t / self.scale), 1 - self.exponent)


class Exponential(Schedule):
    """top exp(-t/scale)."""

    scale: Float[Array, ""]
    top: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.top * jnp.exp(-t / self.scale)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """top scale (1 - e^(-t/scale))."""
        return -self.top * self.scale * jnp.expm1(-t / self.scale)


class Piecewise(Schedule):
    """factors[n] from times[n] on."""

    times: Float[Array, " n"]
    factors: Float[Array, " n"]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The factor; a step that begins within rounding of times[n] already has the new rate."""
        table = jnp.concatenate([jnp.ones(1), self.factors])
        return table[jnp.searchsorted(self.times * (1 - 1e-12), t, side="right")]

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The time spent under each factor, times the factor."""
        starts = jnp.concatenate([jnp.zeros(1), self.times])
        lengths = jnp.clip(t[..., None] - starts, 0.0, jnp.append(jnp.diff(starts), jnp.inf))
        return lengths @ jnp.concatenate([jnp.ones(1), self.factors])

    @property
    def jumps(self) -> Float[Array, " n"]:
        """The times of the steps."""
        return self.times


class Interpolated(Schedule):
    """factors[n] at times[n], straight lines between them, constant outside."""

    times: Float[Array, " n"]
    factors: Float[Array, " n"]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.interp(t, self.times, self.factors)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """Trapezoids up to the last knot before t, and the one that t cuts."""
        knots = jnp.concatenate([jnp.zeros(1), self.times])
        factors = jnp.concatenate([self.factors[:1], self.factors])
        done = jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.diff(knots) * (factors[1:] + factors[:-1]) / 2)])
        last = jnp.searchsorted(knots, t, side="right") - 1
        return done[last] + (t - knots[last]) * (factors[last] + self(t)) / 2

    @property
    def jumps(self) -> Float[Array, " n"]:
        """The knots."""
        return self.times


class Cosine(Schedule):
    """A straight rise from 0 to top until warm_up, half a cosine to end at until, and end from then on."""

    until: Float[Array, ""]
    warm_up: Float[Array, ""]
    top: Float[Array, ""]
    end: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        fall = self.end + (self.top - self.end) * (1 + jnp.cos(jnp.pi * self._fallen(t))) / 2
        return jnp.where(t < self.warm_up, self.top * t / self._rise, fall)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """A triangle, then the integral of the cosine, then a rectangle."""
        s, length = self._fallen(t), self.until - self.warm_up
        fall = length * (self.end * s + (self.top - self.end) * (s + jnp.sin(jnp.pi * s) / jnp.pi) / 2)
        rise = self.top * jnp.minimum(t, self.warm_up) ** 2 / (2 * self._rise)
        return rise + fall + self.end * jnp.maximum(t - self.until, 0.0)

    def _fallen(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """The share of the cosine that is over."""
        return jnp.clip((t - self.warm_up) / (self.until - self.warm_up), 0.0, 1.0)

    @property
    def _rise(self) -> Float[Array, ""]:
        """The length of the warm-up as a divisor; 1 if there is no warm-up."""
        return jnp.where(self.warm_up > 0, self.warm_up, 1.0)

    @property
    def jumps(self) -> Float[Array, " n"]:
        """The ends of the warm-up and of the cosine."""
        return jnp.stack([self.warm_up, self.until])


class HeldThenPower(Schedule):
    """top until hold, then top (t/hold)^(-exponent)."""

    hold: Float[Array, ""]
    exponent: Float[Array, ""]
    top: Float[Array, ""]

    def __call__(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.top * jnp.maximum(t / self.hold, 1.0) ** (-self.exponent)

    def elapsed(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        """A rectangle, and the integral of a power from 1 to t/hold."""
        x = jnp.log(jnp.maximum(t / self.hold, 1.0))
        return self.top * (jnp.minimum(t, self.hold) + self.hold * _integrated(x, 1 - self.exponent))

    @property
    def jumps(self) -> Float[Array, " n"]:
        """The time at which the decay begins."""
        return self.hold[None]


def _integrated(x: Float[Array, "..."], rest: Float[Array, ""]) -> Float[Array, "..."]:
    """The integral of s^(rest - 1) from 1 to e^x: (e^(rest x) - 1)/rest, and x where rest vanishes."""
    near = jnp.abs(rest) < _NEAR
    return jnp.where(near, x * (1 + rest * x / 2), jnp.expm1(rest * x) / jnp.where(near, 1.0, rest))


Written = PowerDecay | ExponentialDecay | Steps | LinearKnots | WarmUpCosine | HoldThenPower
_OF = {
    PowerDecay: Power,
    ExponentialDecay: Exponential,
    Steps: Piecewise,
    LinearKnots: Interpolated,
    WarmUpCosine: Cosine,
    HoldThenPower: HeldThenPower,
}


def schedule(written: Written | None) -> Schedule:
    """The schedule that a problem asks for; its numbers have the names that they are written by."""
    if written is None:
        return Constant()
    numbers = written.model_dump(exclude={"kind"})
    return _OF[type(written)](**{name: jax.device_put(np.asarray(x, dtype=float)) for name, x in numbers.items()})
