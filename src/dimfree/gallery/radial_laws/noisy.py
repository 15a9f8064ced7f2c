"""Noise and weight decay: the law of r at temperature 1/beta, on cells (docs/theory/mean-field.md, equations (c.2) and (c.3)).

d_t rho = div(rho grad Psi_lambda) + (1/beta) Lap rho with Psi_lambda = Psi + lambda |theta|²/2. The volume factor of the radial
coordinate is r^(d-1): the law of r is stationary when proportional to r^(d-1) exp(-beta psi_lambda(r)). What falls is
F = R/2 + (lambda/2) int |theta|² drho + (1/beta) int rho log rho, strictly convex, so there is one stationary law.
"""

from math import log, pi
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import gammaln

from dimfree.errors import ProblemError
from dimfree.gallery.radial_laws.finite_volume import CellLaw
from dimfree.gallery.radial_laws.global_minimum import global_minimum
from dimfree.onepass.fields.field import begin
from dimfree.onepass.fields.langevin import Bath, bath, stirred
from dimfree.onepass.fields.radial import RadialField

_ITERATIONS, _ACCURACY = 200, 1e-12
_SHRINKS = 0.5 ** np.arange(24)  # shares of a Newton step that are tried


class Gibbs(NamedTuple):
    """The stationary law on cells, its risk and free energy, and how well it reproduces itself."""

    mass: Float[Array, " n"]
    risk: Float[Array, ""]
    free_energy: Float[Array, ""]
    residual: Float[Array, ""]


class NoisyLaw(NamedTuple):
    """A law on cells along a run, and the free energy, which falls."""

    cells: CellLaw
    free_energy: Float[Array, " t"]


class Excess(NamedTuple):
    """How much the stationary risk lies above the smallest one, and the same in units of d/beta."""

    beta: Float[Array, " n"]
    excess: Float[Array, " n"]
    in_units: Float[Array, " n"]


def effective_beta(drift: float, variance: float) -> float:
    """beta = 2c/v of a step with drift -c eps grad Psi and noise of variance v eps: papers define beta in different ways."""
    if not (drift > 0 and variance > 0):
        raise ProblemError(f"drift {drift:g} and variance {variance:g} of a step were given; both must be positive.")
    return 2 * drift / variance


def free_energy(field: RadialField, bath: Bath, edges: Float[Array, " e"], mass: Float[Array, " n"]) -> Array:
    """F of a law on cells: the density in d dimensions is mass/(width |S| r^(d-1))."""
    centres, volume = _volumes(bath, edges)
    risk = field.risk(field.output(centres, mass))
    entropy = jnp.sum(jnp.where(mass > 0, mass * (jnp.log(jnp.maximum(mass, 1e-300)) - volume), 0.0))
    return 0.5 * risk + 0.5 * bath.decay * (mass @ centres**2) + entropy / bath.beta


@eqx.filter_jit
def gibbs(field: RadialField, bath: Bath, edges: Float[Array, " e"]) -> Gibbs:
    """The fixed point rho = Gibbs(rho) on cells.

    A law acts on itself through its m outputs f only, so the convex dual problem has m unknowns; damped Newton steps solve it
    at every temperature, where iterating the map would need a damping of order 1/beta.
    """
    centres, volume = _volumes(bath, edges)
    value = field.features(centres)[0]
    bare = volume - 0.5 * bath.beta * bath.decay * centres**2

    def weights_of(error: Array) -> Array:
        return bare - bath.beta * (value @ (field.weights * error))

    def dual(error: Array) -> Array:
        quadratic = 0.5 * error**2 + field.labels * error
        return jax.nn.logsumexp(weights_of(error)) / bath.beta + jnp.sum(field.weights * quadratic)

    def newton(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        error, _, count = carry
        mass = jax.nn.softmax(weights_of(error))
        missing = mass @ value - field.labels - error
        centred = value - mass @ value
        curvature = jnp.eye(error.size) + bath.beta * (centred.T * mass) @ centred * field.weights
        step = jnp.linalg.solve(curvature, missing)
        tried = jax.vmap(lambda share: dual(error + share * step))(jnp.asarray(_SHRINKS))
        best = jnp.argmax(tried <= jnp.min(tried) + 1e-13 * jnp.abs(jnp.min(tried)))  # the longest of equals
        return error + jnp.asarray(_SHRINKS)[best] * step, jnp.max(jnp.abs(missing)), count + 1

    start = field.output(centres, jax.nn.softmax(bare)) - field.labels
    going = lambda carry: (carry[1] > _ACCURACY) & (carry[2] < _ITERATIONS)  # noqa: E731
    error, _, _ = jax.lax.while_loop(going, newton, (start, jnp.asarray(jnp.inf), jnp.zeros((), dtype=int)))
    mass = jax.nn.softmax(weights_of(error))
    residual = jnp.max(jnp.abs(mass @ value - field.labels - error))
    return Gibbs(mass, field.risk(mass @ value), free_energy(field, bath, edges, mass), residual)


@eqx.filter_jit
def noisy_density(
    field: RadialField,
    bath: Bath,
    edges: Float[Array, " e"],
    mass: Float[Array, " n"],
    times: Float[Array, " t"],
    step: Float[Array, ""],
) -> NoisyLaw:
    """The law on cells at `times`: implicit steps whose fluxes vanish exactly at the Gibbs law (Scharfetter and Gummel)."""
    centres, volume = _volumes(bath, edges)
    value, width = field.features(centres)[0], edges[1] - edges[0]

    def stepped(mass: Array, h: Array) -> Array:
        psi = value @ (field.weights * (mass @ value - field.labels)) + 0.5 * bath.decay * centres**2
        climb = jnp.diff(bath.beta * psi - volume)
        right, left = (h * _bernoulli(x) / (bath.beta * width**2) for x in (climb, -climb))
        diagonal = 1 + jnp.append(right, 0.0) + jnp.append(0.0, left)
        lower, upper = jnp.append(0.0, -right), jnp.append(-left, 0.0)
        return jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, mass[:, None])[:, 0]

    def to_next(carry: tuple[Array, Array], time: Array) -> tuple[tuple[Array, Array], Any]:
        mass, before = carry
        count = jnp.ceil((time - before) / step - 1e-9).astype(int)
        h = (time - before) / jnp.maximum(count, 1)
        mass = jax.lax.fori_loop(0, count, lambda _, m: stepped(m, h), mass)
        now = CellLaw(mass, time, field.risk(mass @ value))
        return (mass, time), (now, free_energy(field, bath, edges, mass))

    return NoisyLaw(*jax.lax.scan(to_next, (mass, jnp.zeros(())), times)[1])


@eqx.filter_jit
def langevin(
    field: RadialField,
    bath: Bath,
    r: Float[Array, " n"],
    times: Float[Array, " t"],
    step: Float[Array, ""],
    key: Key[Array, ""],
) -> tuple[Float[Array, "t n"], Float[Array, " t"]]:
    """Norms and risk of Langevin particles at `times`."""
    run = stirred(field, bath, (begin(r), key), times, step)[1]
    return run.particles, run.risk


def excess_risk(field: RadialField, d: float, betas: Float[Any, " n"], edges: Float[Array, " e"]) -> Excess:
    """R(rho_beta) - inf R without decay, against d/beta, with which it is bounded up to a constant."""
    smallest = global_minimum(field, 0.5 * (edges[1:] + edges[:-1])).risk
    excess = jnp.stack([gibbs(field, bath(d, float(beta)), edges).risk for beta in betas]) - smallest
    return Excess(jnp.asarray(betas, dtype=float), excess, excess * jnp.asarray(betas) / d)


def _volumes(bath: Bath, edges: Float[Array, " e"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The centres of the cells and the logarithm of their volume in d dimensions."""
    centres = 0.5 * (edges[1:] + edges[:-1])
    sphere = log(2) + bath.d / 2 * log(pi) - gammaln(bath.d / 2)
    return centres, sphere + (bath.d - 1) * jnp.log(centres) + jnp.log(jnp.diff(edges))


def _bernoulli(x: Array) -> Array:
    """x/(e^x - 1), one at zero."""
    small = jnp.abs(x) < 1e-8
    return jnp.where(small, 1 - x / 2, x / jnp.expm1(jnp.where(small, 1.0, x)))
