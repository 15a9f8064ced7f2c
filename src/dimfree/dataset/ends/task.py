"""The task of a learning curve: a loss with ridge on Gaussian covariates and a teacher's labels (docs/theory/static.md)."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.ends.covariates import Covariates
from dimfree.dataset.outliers import Mixture, OutlierLaw, mixture
from dimfree.functions.convex import Loss

Labels = Literal["sign", "linear"]


class Task(eqx.Module):
    """minimise sum_mu ell(y_mu, h_mu) + (lambda/2)|w|² over alpha d samples; labels z or sign z, Delta the noise on z.

    Outliers are of labels z alone.
    """

    labels: Labels = eqx.field(static=True)
    loss: Loss
    covariates: Covariates
    alpha: Float[Array, ""]
    lambda_: Float[Array, ""]
    Delta: Float[Array, ""]
    outliers: OutlierLaw | None = None

    @property
    def law(self) -> Mixture:
        """The law of real-valued labels."""
        return mixture(self.Delta, self.outliers)

    @property
    def label_variance(self) -> Float[Array, ""]:
        """rho + Delta: under a sign, noise and what features do not see are the same thing."""
        return self.covariates.rho + self.Delta

    def spreads(self, m: Float[Array, ""], q: Float[Array, ""]) -> Float[Array, " k"]:
        """Standard deviations of y - omega for every kind of real labels, omega having overlap m and variance q."""
        law = self.law
        return jnp.sqrt(law.slope**2 * self.covariates.rho + law.variance - 2 * law.slope * m + q)

    def at(self, alpha: Float[Array, ""], lambda_: Float[Array, ""]) -> "Task":
        """The same task with other numbers of samples and another ridge."""
        return eqx.tree_at(lambda one: (one.alpha, one.lambda_), self, (alpha, lambda_))

    def losing(self, loss: Loss) -> "Task":
        """The same task with another loss."""
        return eqx.tree_at(lambda one: one.loss, self, loss)

    def risk(self, m: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """On fresh samples without label noise: the part of wrong signs, or half the mean square error."""
        if self.labels == "linear":
            return 0.5 * (self.covariates.rho - 2 * m + q)
        return error(m, q, self.covariates.rho)


def error(m: Float[Array, "..."], q: Float[Array, "..."], variance: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(sign h != sign z) of fields with covariance m and variances q and `variance`."""
    return jnp.arccos(jnp.clip(m / jnp.sqrt(q * variance), -1.0, 1.0)) / jnp.pi
