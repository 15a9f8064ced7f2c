"""What a learning curve is about: a loss with ridge on Gaussian covariates and a teacher's labels (docs/theory/static.md)."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.ends.covariates import Covariates
from dimfree.functions.loss import Loss

Labels = Literal["sign", "linear"]


class Task(eqx.Module):
    """minimise sum_mu ell(y_mu, h_mu) + (lambda/2)|w|² over alpha d samples; labels z or sign z, Delta the noise on z."""

    labels: Labels = eqx.field(static=True)
    loss: Loss
    covariates: Covariates
    alpha: Float[Array, ""]
    lambda_: Float[Array, ""]
    Delta: Float[Array, ""]

    @property
    def label_variance(self) -> Float[Array, ""]:
        """rho + Delta: under a sign, noise and what features do not see are the same thing."""
        return self.covariates.rho + self.Delta

    def at(self, alpha: Float[Array, ""], lambda_: Float[Array, ""]) -> "Task":
        """The same with other numbers of samples and another ridge."""
        return eqx.tree_at(lambda one: (one.alpha, one.lambda_), self, (alpha, lambda_))

    def risk(self, m: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """On fresh samples without label noise: the part of wrong signs, or half the mean square error."""
        if self.labels == "linear":
            return 0.5 * (self.covariates.rho - 2 * m + q)
        return error(m, q, self.covariates.rho)


def error(m: Float[Array, "..."], q: Float[Array, "..."], variance: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(sign h != sign z) of fields with covariance m and variances q and `variance`."""
    return jnp.arccos(jnp.clip(m / jnp.sqrt(q * variance), -1.0, 1.0)) / jnp.pi
