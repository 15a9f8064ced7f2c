"""Full-batch training of linear units with the square loss of a linear teacher, eigenvalue by eigenvalue of the data.

A second route to the trajectories of `linear` (docs/theory/committee-dmft.md, section 4): no kernel of the DMFT is used. In an
eigenspace x of X^T X/d weights have components along the teachers, their own start and the label noise, which obey (2) with
gradient sqrt(x) u r(x), r = sqrt(x) (w_eff - w*) - noise; averages are over the law of Marchenko and Pastur.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.spectrum import marchenko_pastur
from dimfree.errors import RefusalError
from dimfree.functions.activation import Polynomial
from dimfree.functions.target import Committee


class SpectralDMFT(NamedTuple):
    """Times 0 to T in steps."""

    M: Float64[np.ndarray, "n p k"]
    Q: Float64[np.ndarray, "n p p"]
    a: Float64[np.ndarray, "n p"]
    train_loss: Float64[np.ndarray, " n"]


def solve_spectral(model: CommitteeModel, start: CommitteeStart, steps: int) -> SpectralDMFT:
    """The trajectory of `steps` steps."""
    taught = model.target.activation if isinstance(model.target, Committee) else None
    linear = isinstance(taught, Polynomial) and taught == model.activation
    if not (model.linear and linear and float(model.b) == 1 and float(model.temperature) == 0):
        raise RefusalError(
            "the spectral route is for linear units, a linear teacher and full batches at temperature 0."
        )
    model.check(start, steps)
    P, alpha, Delta = np.asarray(model.target.P), float(model.alpha), float(model.noise_variance)
    (p, k), beta, lambda_ = start.M.shape, float(model.beta), float(model.lambda_)
    found = marchenko_pastur(model.alpha, jnp.ones(()))
    x, weight = (np.asarray(part) for part in found)
    W = np.concatenate([start.along(P), start.rest(P), np.zeros((p, 1))], axis=1) * np.ones((len(x), 1, 1))
    root, layer = np.linalg.cholesky(P), np.asarray(model.target.second_layer) / k  # type: ignore[union-attr]
    taught_w = np.concatenate([root.T @ layer, np.zeros(p + 1)])
    noise = np.append(np.zeros(k + p), Delta**0.5) * (x > 0)[:, None]
    V, a, v_a, seen = np.zeros_like(W), start.a.astype(float), np.zeros(p), []
    for eta in model.rates(steps + 1):
        u = a / p
        r = np.sqrt(x)[:, None] * (np.einsum("i,xic->xc", u, W) - taught_w) - noise
        loss = (weight @ (r**2).sum(axis=1) + Delta * max(alpha - 1, 0.0)) / (2 * alpha)
        seen.append((np.einsum("x,xir->ir", weight, W[..., :k]) @ root.T, _overlap(W, weight), a, loss))
        on_w = np.einsum("x,i,xc->xic", np.sqrt(x), u, r)
        on_a = np.einsum("x,xic,xc->i", weight * np.sqrt(x), W, r) / p
        V = beta * V - eta * (lambda_ * W + on_w)
        if model.train_a:
            v_a = beta * v_a - eta * float(model.eta_a) * (float(model.lambda_a) * a + on_a)
        W, a = W + V, a + v_a
    return SpectralDMFT(*(np.stack(values) for values in zip(*seen, strict=True)))


def _overlap(W: Float64[np.ndarray, "x p c"], weight: Float64[np.ndarray, " x"]) -> Float64[np.ndarray, "p p"]:
    return np.einsum("x,xic,xjc->ij", weight, W, W, optimize=True)
