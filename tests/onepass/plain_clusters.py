"""SGD on clusters as in a textbook: vectors, step by step, in NumPy, every label and cluster drawn anew."""

from typing import NamedTuple

import numpy as np
from scipy.special import erf

SIGMA = {
    "erf": (lambda x: erf(x / np.sqrt(2)), lambda x: np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2)),
    "relu": (lambda x: np.maximum(x, 0), lambda x: (x > 0).astype(float)),
    "square": (lambda x: x**2, lambda x: 2 * x),
    "linear": (lambda x: x, np.ones_like),
}
ERROR = {
    "square": lambda f, y: y - f,
    "logistic": lambda f, y: y / (1 + np.exp(y * f)),
    "hinge": lambda f, y: y * (y * f < 1),
    "squared-hinge": lambda f, y: y * np.maximum(1 - y * f, 0),
    "absolute": lambda f, y: np.sign(y - f),
    "huber": lambda f, y: np.clip(y - f, -1, 1),
    "correlation": lambda f, y: y + 0 * f,
    "exponential": lambda f, y: y * np.exp(-y * f),
}


class Clusters(NamedTuple):
    weights: np.ndarray
    S: np.ndarray
    v: np.ndarray
    y: np.ndarray
    flip: float

    def draw(self, rng, B, shape):
        """Inputs and labels; B are the directions, rows of norm sqrt(d)."""
        d = B.shape[1]
        c = rng.choice(len(self.weights), size=shape, p=self.weights)
        x = self.S[c] @ B / d + np.sqrt(self.v[c])[..., None] * rng.normal(size=(*shape, d)) / np.sqrt(d)
        return x, self.y[c] * np.where(rng.random(shape) < self.flip, -1.0, 1.0)


def directions(Q, M, P, d, rng):
    """Weights and directions with these overlaps, turned at random."""
    Omega = np.block([[Q, M], [M.T, P]])
    A = np.linalg.cholesky(Omega)
    turned = np.linalg.qr(rng.normal(size=(d, len(A))))[0].T
    every = np.sqrt(d) * A @ turned
    return every[: len(Q)], every[len(Q) :]


def sgd(mixture, W, B, a, steps, rng, *, replicas, activation, rate, batch=1, eta_a=0.0, loss="square", clip=None):
    """Q, M and a of many replicas after so many steps; errors multiply a sigma' x for the weights, sigma for the second layer."""
    p, d = W.shape
    sigma, slope = SIGMA[activation]
    W, a = np.tile(W, (replicas, 1, 1)), np.tile(a, (replicas, 1))
    for _ in range(steps):
        x, y = mixture.draw(rng, B, (replicas, batch))
        fields = np.einsum("rpd,rbd->rbp", W, x)
        e = ERROR[loss](np.mean(a[:, None] * sigma(fields), axis=-1), y)
        if clip and "error" in clip:
            e = np.clip(e, -clip["error"], clip["error"])
        gradient = np.einsum("rbp,rbd->rpd", a[:, None] * slope(fields) * e[..., None], x) / (p * batch)
        if clip and "norm" in clip:  # one factor for all errors of the batch
            norm = np.sqrt(np.sum(gradient**2, axis=(1, 2)))
            factor = np.minimum(1, clip["norm"] / np.maximum(norm, 1e-300))
            gradient, e = gradient * factor[:, None, None], e * factor[:, None]
        a = a + eta_a * rate / (d * p * batch) * np.einsum("rbp,rb->rp", sigma(fields), e)
        W = W + rate * gradient
    return np.einsum("rpd,rqd->rpq", W, W) / d, W @ B.T / d, a
