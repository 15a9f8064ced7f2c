"""Averages over the noise of a label y = f* + zeta, given the residual r = f* - f: closed forms (docs/theory/losses.md, 1.1).

F is the distribution function of the noise and Gamma(x) its integral up to x. Everything holds at scale 0, too.
"""

from math import pi, sqrt

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dimfree.gaussian.any_loss.student import Student

_FAR = {True: 1e8, False: 1e150}  # beyond every weight, of a Gaussian law and of one with heavy tails


class Noise(eqx.Module):
    """Gaussian noise of standard deviation `scale`, or scale times a Student variable of `freedom` degrees."""

    scale: Float[Array, ""]
    freedom: Float[Array, ""] | None = None

    def _standard(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """x in units of the scale; beyond every weight, on its own side, where the scale is 0."""
        none = self.scale == 0
        far = _FAR[self.freedom is None]
        return jnp.where(none, jnp.sign(x) * far, x / jnp.where(none, 1.0, self.scale))

    def density(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """F' times the scale."""
        z = self._standard(x)
        if self.freedom is None:
            return jnp.exp(-0.5 * z**2) / sqrt(2 * pi)
        return Student(self.freedom).density(z)

    def below(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """F."""
        z = self._standard(x)
        if self.freedom is None:
            return ndtr(z)
        return Student(self.freedom).below(z)

    def integral(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Gamma; of a Student variable without a mean up to a constant, which is infinite."""
        if self.freedom is None:
            return x * self.below(x) + self.scale * self.density(x)
        nu, law, z = self.freedom, Student(self.freedom), self._standard(x)
        mean = jnp.where(nu > 1, nu / jnp.where(nu > 1, nu - 1, 1.0), 0.0) * law.density(
            jnp.zeros(())
        )  # of z where z > 0
        return x * law.below(z) + self.scale * (mean - law.first(z))

    @property
    def variance(self) -> Float[Array, ""]:
        """Infinite for a Student variable of two degrees of freedom or fewer."""
        if self.freedom is None:
            return self.scale**2
        nu = self.freedom
        return jnp.where(nu > 2, self.scale**2 * nu / jnp.where(nu > 2, nu - 2, 1.0), jnp.inf)

    def sign(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """E sign(r + zeta)."""
        return 1 - 2 * self.below(-r)

    def distance(self, r: Float[Array, "..."]) -> Float[Array, "..."]:
        """E |r + zeta|; where the noise has no mean E(|r + zeta| - |zeta|), which is finite."""
        return 2 * self.integral(-r) + r

    def clipped(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E clip(r + zeta, -theta, theta): a difference of two Gamma, finite for any tail."""
        x, (below, first, _) = self._clips(r, theta)
        low, high = x * below - self.scale * first
        return theta - high + low

    def clipped_square(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E min((r + zeta)², theta²)."""
        inside, first, second = (high - low for low, high in self._clips(r, theta)[1])
        s = self.scale
        return r**2 * inside + 2 * r * s * first + s**2 * second + theta**2 * (1 - inside)

    def huber(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E of Huber's loss min(x, theta)²/2 + theta (x - theta)_+ at x = |r + zeta|; without a mean minus that at zeta."""

        def mean(r: Float[Array, "..."]) -> Float[Array, "..."]:
            beyond = self.integral(r - theta) + self.integral(-r - theta)
            return 0.5 * self.clipped_square(r, theta) + theta * beyond

        return mean(r) if self.freedom is None else mean(r) - jnp.where(self.freedom > 1, 0.0, mean(jnp.zeros(())))

    def _clips(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> tuple[Array, tuple[Array, Array, Array]]:
        """The two noises at which errors begin to be clipped, with the moments of the law up to there."""
        x = jnp.stack([-theta - r, theta - r])
        return x, self._moments(x)

    def _moments(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array]:
        """Integrals up to x of the law, of z times it and of z² times it, z in units of the scale, up to constants."""
        z = self._standard(x)
        if self.freedom is None:
            F, f = self.below(x), self.density(x)
            return F, -f, F - z * f
        law = Student(self.freedom)
        return law.below(z), law.first(z), law.second(z)
