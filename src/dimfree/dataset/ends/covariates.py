"""Gaussian covariates as learning curves see them: eigenvalues and the teacher's part in each (docs/theory/static.md, section b).

    v ~ N(0, Omega),   h = w.v/sqrt(d),   z Gaussian of variance rho,   phi = E[z v]

Only eigenvalues of Omega, phi² in their directions, and rho enter.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.errors import ProblemError
from dimfree.machine import refuse_above_memory

Given = Float[np.ndarray, "..."]  # an array of any shape, as the file has it
ROUNDING = 1e-9  # share of the largest eigenvalue below which a direction counts as empty
_SQUARES = 6  # matrices that are in memory together


class Covariates(eqx.Module):
    """A spectrum as a measure: eigenvalue, its share of all directions, and the sum of phi² over its directions."""

    omega: Float[Array, " k"]
    share: Float[Array, " k"]
    phi2: Float[Array, " k"]
    rho: Float[Array, ""]

    def mean(self, values: Float[Array, " k"]) -> Float[Array, ""]:
        """(1/d) tr of a function of Omega."""
        return jnp.sum(self.share * values)

    def along_teacher(self, values: Float[Array, " k"]) -> Float[Array, ""]:
        """phi^T (a function of Omega) phi."""
        return jnp.sum(self.phi2 * values)

    @property
    def explained(self) -> Float[Array, ""]:
        """phi^T Omega^-1 phi: how much of the teacher's variance the features hold."""
        return self.along_teacher(jnp.where(self.omega > 0, 1 / jnp.where(self.omega > 0, self.omega, 1.0), 0.0))


def isotropic(rho: float = 1.0) -> Covariates:
    """Independent features: the perceptron."""
    one = jnp.ones(1)
    return Covariates(one, one, rho * one, jnp.asarray(rho, dtype=float))


def from_spectrum(
    omega: Float[np.ndarray, " k"],
    phi2: Float[np.ndarray, " k"],
    rho: float,
    share: Float[np.ndarray, " k"] | None = None,
) -> Covariates:
    """Checked covariates; without shares every eigenvalue has the same."""
    if not np.isfinite(omega).all() or not np.isfinite(phi2).all() or not np.isfinite(rho):
        raise ProblemError("the covariances contain numbers that are not finite; remove them.")
    largest = float(np.max(omega, initial=0.0))
    if largest <= 0 or float(np.min(omega)) < -ROUNDING * largest:
        raise ProblemError(
            f"the covariance of the features has eigenvalues from {float(np.min(omega)):.3g} to {largest:.3g}, "
            "so that it is not positive semi-definite; give one that is."
        )
    omega = np.where(omega > ROUNDING * largest, omega, 0.0)
    share = np.full(len(omega), 1 / len(omega)) if share is None else share
    found = Covariates(*(jnp.asarray(one, dtype=float) for one in (omega, share, phi2, rho)))
    beyond = float(np.sum(phi2, where=omega == 0))
    if float(found.explained) > rho * (1 + ROUNDING) or beyond > ROUNDING * rho * largest:
        raise ProblemError(
            f"the features would explain a variance of {float(found.explained):.4g} of a teacher that has {rho:.4g}, so that "
            "the joint covariance is not positive semi-definite; lower Phi or raise Psi."
        )
    return found


def from_matrices(Psi: Given, Phi: Given, Omega: Given, theta: Given) -> Covariates:
    """From the covariances of teacher features u and student features v, and a teacher z = theta.u/sqrt(p)."""
    p, d = Phi.shape if Phi.ndim == 2 else (0, 0)
    if not p or Psi.shape != (p, p) or Omega.shape != (d, d) or theta.shape != (p,):
        raise ProblemError(
            f"Psi, Phi, Omega and theta have shapes {Psi.shape}, {Phi.shape}, {Omega.shape} and {theta.shape}; "
            "give p x p, p x d, d x d and p numbers."
        )
    needed = _SQUARES * (Psi.nbytes + Omega.nbytes)
    refuse_above_memory(needed, f"the eigenvectors of {d} features", "give fewer features")
    for name, matrix in (("Psi", Psi), ("Omega", Omega)):
        if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * float(np.abs(matrix).max(initial=0.0))):
            raise ProblemError(f"{name} is not symmetric, which a covariance is; give ({name} + {name}^T)/2.")
    omega, directions = np.linalg.eigh(Omega)
    phi = directions.T @ (Phi.T @ theta) / np.sqrt(p)
    return from_spectrum(omega, phi**2, float(theta @ Psi @ theta / p))
