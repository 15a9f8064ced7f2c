"""Averages over the noise of a label y = f* + zeta, given the residual r = f* - f: closed forms (docs/theory/losses.md, 1.1).

F is the distribution function of the noise and Gamma(x) its integral up to x. Everything holds at scale 0, too.
"""

from collections.abc import Callable
from math import pi, sqrt

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import betainc, gammaln, ndtr
from jaxtyping import Array, Float

_ASIDE = 1e-4  # degrees of freedom next to a singular formula


class Noise(eqx.Module):
    """Gaussian noise of standard deviation `scale`, or scale times a Student variable of `freedom` degrees."""

    scale: Float[Array, ""]
    freedom: Float[Array, ""] | None = None

    def _standard(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """x in units of the scale; beyond every weight, on its own side, where the scale is 0."""
        none = self.scale == 0
        return jnp.where(none, jnp.sign(x) * 1e8, x / jnp.where(none, 1.0, self.scale))

    def density(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """F' times the scale."""
        z = self._standard(x)
        if self.freedom is None:
            return jnp.exp(-0.5 * z**2) / sqrt(2 * pi)
        nu = self.freedom
        norm = jnp.exp(gammaln((nu + 1) / 2) - gammaln(nu / 2)) / jnp.sqrt(nu * pi)
        return norm * (1 + z**2 / nu) ** (-(nu + 1) / 2)

    def below(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """F."""
        z = self._standard(x)
        if self.freedom is None:
            return ndtr(z)
        nu = self.freedom
        tail = 0.5 * betainc(nu / 2, 0.5 * jnp.ones_like(nu), nu / (nu + z**2))
        return jnp.where(z > 0, 1 - tail, tail)

    def integral(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Gamma; a Student variable needs more than one degree of freedom."""
        if self.freedom is None:
            return x * self.below(x) + self.scale * self.density(x)
        nu, z = self.freedom, self._standard(x)
        tail = self.scale * jnp.where(self.scale == 0, 0.0, nu + z**2) / (nu - 1) * self.density(x)
        return x * self.below(x) + tail

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
        """E |r + zeta|."""
        return 2 * self.integral(-r) + r

    def clipped(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E clip(r + zeta, -theta, theta): a difference of two Gamma, finite for any tail."""
        return self._aside(lambda noise: theta - noise.integral(theta - r) + noise.integral(-theta - r))

    def clipped_square(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E min((r + zeta)², theta²)."""

        def mean(noise: Noise) -> Float[Array, "..."]:
            low, high = (noise._moments(x) for x in (-theta - r, theta - r))
            inside, first, second = (b - a for a, b in zip(low, high, strict=True))
            s = noise.scale
            return r**2 * inside + 2 * r * s * first + s**2 * second + theta**2 * (1 - inside)

        return self._aside(mean)

    def huber(self, r: Float[Array, "..."], theta: Float[Array, ""]) -> Float[Array, "..."]:
        """E of Huber's loss min(x, theta)²/2 + theta (x - theta)_+ at x = |r + zeta|."""
        beyond = self.integral(r - theta) + self.integral(-r - theta)
        return 0.5 * self.clipped_square(r, theta) + theta * beyond

    def _moments(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], ...]:
        """Integrals up to x of the law, of z times it and of z² times it, z in units of the scale, up to constants."""
        F, f, z = self.below(x), self.density(x), self._standard(x)
        if self.freedom is None:
            return F, -f, F - z * f
        nu = self.freedom
        tail = jnp.where(self.scale == 0, 0.0, (nu + z**2) * f)
        return F, -tail / (nu - 1), (nu * F - z * tail) / (nu - 2)

    def _aside(self, mean: "Callable[[Noise], Array]") -> Float[Array, "..."]:
        """A mean whose closed form is singular at 1 and 2 degrees of freedom, there from both sides of them."""
        if self.freedom is None:
            return mean(self)
        nu = self.freedom
        nearest = jnp.clip(jnp.round(nu), 1.0, 2.0)
        both = [Noise(self.scale, nearest + shift) for shift in (-_ASIDE, _ASIDE)]
        return jax.lax.cond(
            jnp.abs(nu - nearest) < _ASIDE, lambda: 0.5 * (mean(both[0]) + mean(both[1])), lambda: mean(self)
        )
