"""Noise: particles at temperature 1/beta, each the norm of a neuron (docs/theory/mean-field.md, equation (c.5))."""

from math import isinf

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dimfree.errors import ProblemError
from dimfree.onepass.fields.field import Descent, equal_steps, repeated
from dimfree.onepass.fields.radial import RadialField


class Bath(eqx.Module):
    """The dimension of a neuron, the inverse temperature beta and the decay lambda: steps h add noise of variance 2h/beta."""

    d: float = eqx.field(static=True)
    beta: Float[Array, ""]
    decay: Float[Array, ""]


def bath(d: float, beta: float, decay: float = 0.0) -> Bath:
    """The numbers of a noisy run, checked."""
    if not (d >= 2 and not isinf(d)):
        raise ProblemError(f"the dimension is {d:g}; the volume factor r^(d-1) needs a finite d of at least 2.")
    if not beta > 0:
        raise ProblemError(f"beta is {beta:g}; the inverse temperature must be positive.")
    if not decay >= 0:
        raise ProblemError(f"the decay lambda is {decay:g}; it must not be negative.")
    return Bath(float(d), jnp.asarray(float(beta)), jnp.asarray(float(decay)))


def stirred(
    field: RadialField,
    bath: Bath,
    at: tuple[Descent, Key[Array, ""]],
    times: Float[Array, " t"],
    step: Float[Array, ""],
) -> tuple[tuple[Descent, Key[Array, ""]], Descent]:
    """Mean-field Langevin particles at the last of `times` with the randomness that is left, and at each of them.

    A step adds noise along the neuron and in the d - 1 directions across it; the norm of the sum has the drift (d-1)/(beta r) of
    the reduced equation without its singularity at r = 0. The risk may rise, so that no rise is kept.
    """

    def to_next(at: tuple[Descent, Array], time: Array) -> tuple[tuple[Descent, Array], Descent]:
        before, key = at
        key, now = jax.random.split(key)
        count, h = equal_steps(time - before.time, step)

        def one(n: Array, r: Array) -> Array:
            along, across = jax.random.split(jax.random.fold_in(now, n))
            pushed = r + h * (field.terms(r)[0] - bath.decay * r)
            pushed = pushed + jnp.sqrt(2 * h / bath.beta) * jax.random.normal(along, r.shape)
            return jnp.sqrt(pushed**2 + 2 * h / bath.beta * jax.random.chisquare(across, bath.d - 1, r.shape))

        r = repeated(one, count, before.particles)
        after = Descent(r, time, field.terms(r)[1], before.rise)
        return (after, key), after

    return jax.lax.scan(to_next, at, times)
