"""The square loss in closed form, up to one scalar equation (docs/theory/static.md, section b).

Only second moments enter: the covariance of the features, E[y v] = c phi, and E[y²].
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optimistix as optx
from jaxtyping import Array, Float

from dimfree.dataset.ends.covariates import Covariates
from dimfree.dataset.ends.task import Task

_TOLERANCE, _STEPS = 1e-13, 200
_TINY = 1e-100  # a ridge that replaces 0, by which one cannot divide


class RidgeEnd(NamedTuple):
    """Order parameters at the minimum, and mean square errors on fresh labels, noise included, and on the data set."""

    V: Float[Array, ""]
    q: Float[Array, ""]
    m: Float[Array, ""]
    norm: Float[Array, ""]  # |w|²/d
    mse_gen: Float[Array, ""]
    mse_train: Float[Array, ""]


class _Moments(NamedTuple):
    """The two numbers of the labels that matter for the square loss: c = E[y z]/rho and E[y²]."""

    c: Float[Array, ""]
    power: Float[Array, ""]


def _moments(task: Task) -> _Moments:
    if task.labels == "linear":
        return _Moments(*task.law.moments(task.covariates.rho))
    return _Moments(jnp.sqrt(2 / (jnp.pi * task.label_variance)), jnp.ones_like(task.alpha))


def ridge(task: Task) -> RidgeEnd:
    """The minimum of sum (y - h)²/2 + (lambda/2)|w|²."""
    cov, alpha, lambda_ = task.covariates, task.alpha, task.lambda_
    c, power = _moments(task)
    V = _response(cov, alpha, lambda_)
    Vhat = alpha / (1 + V)
    G, mhat = 1 / (lambda_ + Vhat * cov.omega), c * Vhat
    m = mhat * cov.along_teacher(G)
    k = Vhat**2 * cov.mean((cov.omega * G) ** 2) / alpha
    q = (mhat**2 * cov.along_teacher(cov.omega * G**2) + k * (power - 2 * c * m)) / (1 - k)
    mse = power + q - 2 * c * m
    norm = Vhat**2 * mse / alpha * cov.mean(cov.omega * G**2) + mhat**2 * cov.along_teacher(G**2)
    return RidgeEnd(V, q, m, norm, mse, mse / (1 + V) ** 2)


def _response(cov: Covariates, alpha: Float[Array, ""], lambda_: Float[Array, ""]) -> Float[Array, ""]:
    """V = (1/d) sum omega/(lambda + alpha omega/(1 + V)).

    The right-hand side is concave in V, so that Newton's method comes down to the root from any larger value.
    """

    def excess(V: Float[Array, ""], numbers: tuple[Covariates, Array, Array]) -> Float[Array, ""]:
        cov, alpha, lambda_ = numbers
        share = cov.omega / jnp.where(cov.omega > 0, lambda_ * (1 + V) + alpha * cov.omega, 1.0)
        return (1 + V) * cov.mean(share) - V

    numbers = (cov, alpha, lambda_)
    above = jax.lax.stop_gradient(cov.mean(cov.omega) / jnp.maximum(lambda_, _TINY))
    solver: optx.Newton[Array, Array, None] = optx.Newton(rtol=_TOLERANCE, atol=_TOLERANCE)
    return optx.root_find(excess, solver, above, args=numbers, max_steps=_STEPS, throw=False).value
