"""Two centred Gaussians that differ in a subspace only: the law of (a, b, r1, r2) (docs/theory/mean-field.md, (b.12) to (b.14)).

Covariances diag((1 + y Delta)² I_s0, I_{d - s0}), neurons a sigma(<w, x> + b), r1 the norm of w in the subspace and r2 the
norm of the rest. With a = 1 and b = 0 kept fixed it is the law of (r1, r2). A network of random directions is a function of the
norms of the two parts of x, here the sum of its parts along products of orthogonal polynomials of these norms. They are exact
at every d up to the length of the series; at d = inf only the constant is left, a Gaussian average of variance
tau_y² = (1 + y Delta)² r1² + r2². A schedule of the step is a clock only.
"""

from math import inf

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.gaussian.directions import check_contrast
from dimfree.gaussian.two_directions import angular_table, polar
from dimfree.onepass.fields.field import Field

_LABELS = np.array([1.0, -1.0])


class Neurons(eqx.Module):
    """One particle per neuron: second layer, offset, and the norms of the two parts of its weights."""

    a: Float[Array, "*t n"]
    b: Float[Array, "*t n"]
    r1: Float[Array, "*t n"]
    r2: Float[Array, "*t n"]


class AnisotropicField(Field):
    """Neurons of any activation; a and b move only if they are trained."""

    sigma: Activation
    Delta: Float[Array, ""]
    sizes: tuple[float, float] = eqx.field(static=True)  # s0 and d - s0
    train_a: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)

    def terms(self, particles: Neurons) -> tuple[Neurons, Float[Array, ""]]:
        """Minus the gradient of Psi, and R = E(y - f)²; arrays are of order m, class y, wave c, neuron n.

        Labels are constant in a class, so that they enter only the moment of order 0 of the network.
        """
        K, a = jnp.asarray(angular_table(self.sizes)), particles.a
        at = polar(self.sigma, self._stretch * particles.r1, particles.r2, particles.b, K.shape[0])
        error = -jnp.einsum("myn,cyn->myc", a * at.value, at.waves) / a.size
        error = error.at[0, :, 0].add(_LABELS)
        force = 0.5 * jnp.einsum("mcd,myd->myc", K, error)
        pull, twist = (jnp.einsum("myc,cyn->myn", force, waves) for waves in (at.waves, at.waves_by_angle))
        outward, around = jnp.sum(pull * at.by_scale, axis=0), jnp.sum(twist * at.over_scale, axis=0)
        still = jnp.zeros_like(a)
        return Neurons(
            jnp.sum(pull * at.value, axis=(0, 1)) if self.train_a else still,
            a * jnp.sum(pull * at.by_shift, axis=(0, 1)) if self.train_b else still,
            a * jnp.sum(self._stretch * (at.one * outward - at.two * around), axis=0),
            a * jnp.sum(at.two * outward + at.one * around, axis=0),
        ), jnp.sum(force * error)

    @property
    def _stretch(self) -> Float[Array, "2 1"]:
        return (1 + jnp.asarray(_LABELS) * self.Delta)[:, None]

    def projected(self, particles: Neurons) -> Neurons:
        """The nearest particles whose norms are not negative."""
        return Neurons(particles.a, particles.b, jnp.maximum(particles.r1, 0.0), jnp.maximum(particles.r2, 0.0))


def anisotropic(
    sigma: Activation,
    Delta: float,
    sizes: tuple[float, float] = (inf, inf),
    *,
    train_a: bool = False,
    train_b: bool = False,
) -> AnisotropicField:
    """The problem with a subspace and a rest of the given dimensions s0 and d - s0 (inf allowed, and no rest: 0)."""
    check_contrast(Delta)
    angular_table(sizes)  # complains of dimensions without directions
    return AnisotropicField(sigma, jnp.asarray(float(Delta)), sizes, train_a, train_b)
