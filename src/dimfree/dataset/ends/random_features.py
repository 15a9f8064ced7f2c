"""Random features sigma(F x/sqrt(D)) as the Gaussian covariates they are equivalent to (docs/theory/static.md, section b)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.dataset.ends.covariates import Covariates, from_spectrum
from dimfree.dataset.spectrum import marchenko_pastur
from dimfree.functions.activation import Activation
from dimfree.gaussian.linear_part import linear_part

_NODES = 400


class Features(NamedTuple):
    """Covariates that depend on how many features there are per input."""

    kappa1: Float[Array, ""]
    kappastar: Float[Array, ""]
    rho: Float[Array, ""]

    def limit(self, per_input: Float[Array, ""]) -> Covariates:
        """Infinitely many inputs, `per_input` = d/D features each: the law of Marchenko and Pastur."""
        s, share = marchenko_pastur(1 / per_input, per_input, _NODES)
        phi2 = self.rho * self.kappa1**2 * per_input * s * share
        return Covariates(self.kappa1**2 * s + self.kappastar**2, share, phi2, self.rho)

    def drawn(self, F: Float[np.ndarray, "d D"], theta: Float[np.ndarray, " D"]) -> Covariates:
        """Draw these features, and the teacher z = theta.x/sqrt(D)."""
        D = F.shape[1]
        s, directions = np.linalg.eigh(F @ F.T / D)
        kappa1 = float(self.kappa1)
        phi = kappa1 * directions.T @ (F @ theta) / D
        return from_spectrum(kappa1**2 * s + float(self.kappastar) ** 2, phi**2, float(theta @ theta / D))


def features(sigma: Activation, rho: float = 1.0) -> Features:
    """Centred features of an activation."""
    part = linear_part(sigma)
    return Features(part.kappa1, part.kappastar, jnp.asarray(rho, dtype=float))
