"""Two centred Gaussians that differ in a subspace only: the law of (a, b, r1, r2) (docs/theory/mean-field.md, section b).

Covariances diag((1 + y Delta)² I_s0, I_{d - s0}), neurons a sigma(<w, x> + b), r1 the norm of w in the subspace and r2 the
norm of the rest. With a = 1 and b = 0 kept fixed it is the law of (r1, r2). At d = inf with s0/d fixed the preactivation is
Gaussian with variance tau_y² = (1 + y Delta)² r1² + r2²; the error at finite d is of order 1/d. A schedule of the step acts
through the clock of `fixed_step` only.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.functions.activation import Activation
from dimfree.gaussian.radial import check_contrast, mean
from dimfree.theory.fixed_step import Field
from dimfree.theory.radial import quantile_radii

_TINY = 1e-300
_LABELS = np.array([1.0, -1.0])


class Neurons(eqx.Module):
    """One particle per neuron: second layer, offset, and the norms of the two parts of its weights."""

    a: Float[Array, "*t n"]
    b: Float[Array, "*t n"]
    r1: Float[Array, "*t n"]
    r2: Float[Array, "*t n"]


class AnisotropicField(Field):
    """Neurons of any activation at d = inf; a and b move only if they are trained."""

    sigma: Activation
    Delta: Float[Array, ""]
    train_a: bool = eqx.field(static=True)
    train_b: bool = eqx.field(static=True)

    def terms(self, particles: Neurons) -> tuple[Neurons, Float[Array, ""]]:
        """Minus the gradient of Psi, and R = E(y - f)²; classes are the first axis."""
        stretch = (1 + _LABELS * self.Delta)[:, None]
        tau = jnp.hypot(stretch * particles.r1, particles.r2)
        at = mean(self.sigma, tau, particles.b)
        error = _LABELS - jnp.mean(particles.a * at.value, axis=1)
        along = 0.5 * error @ (at.by_scale * stretch**2 / jnp.maximum(tau, _TINY))
        rest = 0.5 * error @ (at.by_scale / jnp.maximum(tau, _TINY))
        still = jnp.zeros_like(particles.a)
        return Neurons(
            jnp.asarray(0.5 * error @ at.value) if self.train_a else still,
            particles.a * (0.5 * error @ at.by_shift) if self.train_b else still,
            particles.a * particles.r1 * along,
            particles.a * particles.r2 * rest,
        ), 0.5 * jnp.sum(error**2)

    def projected(self, particles: Neurons) -> Neurons:
        """Norms are not negative."""
        return Neurons(particles.a, particles.b, jnp.maximum(particles.r1, 0.0), jnp.maximum(particles.r2, 0.0))


def anisotropic(sigma: Activation, Delta: float, *, train_a: bool = False, train_b: bool = False) -> AnisotropicField:
    """The problem at d = inf; the ratio s0/d only enters through the start."""
    check_contrast(Delta)
    return AnisotropicField(sigma, jnp.asarray(float(Delta)), train_a, train_b)


def check_subspace(s0: float, d: float) -> None:
    """The classes must differ somewhere, and have something in common."""
    if not 0 < s0 < d:
        raise ProblemError(
            f"the subspace has dimension s0 = {s0:g} in d = {d:g}; give 0 < s0 < d (s0 = d is isotropic)."
        )


def quantile_neurons(kappa: float, count: int, s0: float, d: float, a: float = 1.0, b: float = 0.0) -> Neurons:
    """The start w ~ N(0, kappa²/d I) as count² particles: all pairs of quantiles of r1 and r2."""
    check_subspace(s0, d)
    r1, r2 = (quantile_radii(kappa * (n / d) ** 0.5, count, n) for n in (s0, d - s0))
    one, two = (x.ravel() for x in jnp.meshgrid(r1, r2))
    return Neurons(jnp.full(count**2, float(a)), jnp.full(count**2, float(b)), one, two)
