"""Distributional dynamics of two centred Gaussians: the law of r = |w| (docs/theory/mean-field.md, equation (b.1)).

Labels y = +-1, inputs x | y ~ N(0, (1 + y Delta)² I_d), neurons sigma(<w, x>). A rotation-invariant network sees |x| only, so the
data are a label and a norm: nodes x_m = |x|/sqrt(d) with labels y_m and weights w_m, exact at every d up to the quadrature.
The risk is R = E(y - f)² and the time is that of section 0: dr/dt = -psi'(r).
"""

from math import inf
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaincinv

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.gaussian.directions import RadialTable, check_contrast, check_dimension, chi_gauss, radial_table
from dimfree.onepass.fields.field import Field

_MANY = 40  # from this dimension on, the average over directions is smooth enough for few nodes


class RadialField(Field):
    """Rotation-invariant networks on inputs of which the norm x_m carries the label y_m with weight w_m."""

    table: RadialTable
    nodes: Float[Array, " m"]
    labels: Float[Array, " m"]
    weights: Float[Array, " m"]

    def features(self, r: Float[Array, " n"]) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
        """The average neuron of norm r at every node, and its derivative in r."""
        value, slope = self.table(jnp.outer(r, self.nodes))
        return value, slope * self.nodes

    def output(self, r: Float[Array, " n"], mass: Float[Array, " n"]) -> Float[Array, " m"]:
        """f = int E sigma rho-bar(dr) at every node, for a law with the given masses."""
        return mass @ self.features(r)[0]

    def risk(self, output: Float[Array, " m"]) -> Float[Array, ""]:
        """R = E(y - f)²."""
        return jnp.sum(self.weights * (self.labels - output) ** 2)

    def psi(self, output: Float[Array, " m"], r: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """psi(r) = V + int U rho-bar, half of the first variation of the risk, and its derivative."""
        value, slope = self.features(r)
        force = self.weights * (output - self.labels)
        return value @ force, slope @ force

    def terms(self, particles: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """dr/dt = -psi'(r) for particles of equal weight."""
        value, slope = self.features(particles)
        output = jnp.mean(value, axis=0)
        return slope @ (self.weights * (self.labels - output)), self.risk(output)

    def projected(self, particles: Float[Array, " n"]) -> Float[Array, " n"]:
        """Put norms that became negative in a step back to 0."""
        return jnp.maximum(particles, 0.0)


class ScaledRadialField(RadialField):
    """The same for neurons a sigma(<w, x>) whose second layer stays as it is."""

    a: Float[Array, " n"]

    def terms(self, particles: Float[Array, " n"]) -> tuple[Float[Array, " n"], Float[Array, ""]]:
        """dr/dt = -a psi'(r) for particles of equal weight."""
        value, slope = self.features(particles)
        output = jnp.mean(self.a[:, None] * value, axis=0)
        return self.a * (slope @ (self.weights * (self.labels - output))), self.risk(output)


class Inputs(NamedTuple):
    """What a rotation-invariant network sees of two Gaussians: nodes for the norm, labels and weights."""

    nodes: Float[Array, " m"]
    labels: Float[Array, " m"]
    weights: Float[Array, " m"]


def inputs(Delta: Float[Array, ""], d: float, count: int | None = None) -> Inputs:
    """Both classes, with `count` nodes for the norm of each.

    The default leaves 1e-10 in the velocities from d = 40 on; below, where averages over directions have kinks, 1e-6 at
    d = 10 and 1e-3 at d = 3.
    """
    x, w = chi_gauss(float(d), count or (16 if d >= _MANY else 160))
    nodes, labels = jnp.concatenate([(1 + Delta) * x, (1 - Delta) * x]), np.repeat([1.0, -1.0], len(x))
    return Inputs(nodes, jnp.asarray(labels), jnp.asarray(np.tile(w / 2, 2)))


def two_gaussians(sigma: Activation, Delta: float, d: float = inf, count: int | None = None) -> RadialField:
    """The isotropic problem in d dimensions (inf allowed), with `count` nodes for the norm of each class."""
    check_contrast(Delta)
    check_dimension(d)
    return RadialField(radial_table(sigma, d), *inputs(jnp.asarray(float(Delta)), d, count))


def unit_radii(count: int, d: float) -> Float[np.ndarray, " n"]:
    """sqrt(F^-1((j - 1/2)/n)/d) with F of chi² in d dimensions: the norms of w ~ N(0, I/d) as particles."""
    if np.isinf(d):
        return np.ones(count)
    return np.sqrt(2 * gammaincinv(d / 2, (np.arange(count) + 0.5) / count) / d)


def quantile_radii(kappa: float, count: int, d: float) -> Float[Array, " n"]:
    """The start w ~ N(0, kappa²/d I) as particles."""
    check_dimension(d)
    if not kappa > 0:
        raise ProblemError(f"kappa is {kappa:g}; the scale of the start must be positive.")
    return jnp.asarray(kappa * unit_radii(count, d))
