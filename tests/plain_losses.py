"""One-pass SGD with any loss, label law and clipping, written plainly in NumPy: many replicas, nothing of dimfree."""

import numpy as np
from scipy.special import erf, expit

ACTIVATIONS = {
    "erf": (lambda x: erf(x / 2**0.5), lambda x: (2 / np.pi) ** 0.5 * np.exp(-(x**2) / 2)),
    "relu": (lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
    "linear": (lambda x: x, np.ones_like),
    "tanh": (np.tanh, lambda x: 1 / np.cosh(x) ** 2),
}
ERRORS = {
    "square": lambda f, y, _: y - f,
    "logistic": lambda f, y, _: y * expit(-y * f),
    "hinge": lambda f, y, margin: y * (y * f < margin),
    "squared-hinge": lambda f, y, margin: y * np.maximum(margin - y * f, 0),
    "exponential": lambda f, y, _: y * np.exp(-y * f),
    "absolute": lambda f, y, _: np.sign(y - f),
    "huber": lambda f, y, threshold: np.clip(y - f, -threshold, threshold),
    "correlation": lambda f, y, _: y,
}


def error_of(loss):
    """-dl/df of a loss as a problem writes it."""
    if isinstance(loss, str):
        return lambda f, y: ERRORS[loss](f, y, 1.0)
    number = loss.threshold if loss.kind == "huber" else loss.margin
    return lambda f, y: ERRORS[loss.kind](f, y, number)


def labels_of(data, clean, rng):
    """Labels of a teacher with output `clean`."""
    shape, scale = clean.shape, data.noise**0.5
    if data.labels == "value" and data.noise_law == "gaussian":
        return clean + scale * rng.standard_normal(shape)
    if data.labels == "value":
        return clean + scale * rng.standard_t(data.noise_law.student, shape)
    if data.labels == "logistic":
        return np.where(rng.random(shape) < expit(data.slope * clean), 1.0, -1.0)
    right = np.sign(clean + scale * rng.standard_normal(shape))
    right = np.where(right == 0, rng.choice([-1.0, 1.0], shape), right)  # a teacher that says nothing
    return np.where(rng.random(shape) < data.flip, -right, right)


def one_step(problem, W, a, x, y):
    """The gradients of a batch, averaged, before the learning rate: of the first layer and of the second; and the errors."""
    value, slope = ACTIVATIONS[problem.network.activation]
    fields, p, clip = np.einsum("rbd,rpd->rbp", x, W), W.shape[1], problem.training.clip
    e = error_of(problem.training.loss)(np.mean(a[:, None] * value(fields), axis=2), y)
    if clip != "none" and clip.error is not None:
        e = np.clip(e, -clip.error, clip.error)
    g = np.einsum("rbp,rbd->rpd", a[:, None] * slope(fields) * e[..., None], x) / (p * y.shape[1])
    g_a = np.mean(value(fields) * e[..., None], axis=1) / p
    if clip != "none" and clip.norm is not None:
        norm = np.sqrt(np.sum(g**2, axis=(1, 2)))
        short = np.minimum(1.0, clip.norm / np.maximum(norm, 1e-12))
        g, g_a = short[:, None, None] * g, short[:, None] * g_a
    return g, g_a, e


def plain_sgd(problem, weights, a, steps, replicas, rng, variances=1.0):
    """Q, M and a of every replica after so many steps; `variances` are those of the inputs, times d."""
    training, data, p = problem.training, problem.data, problem.network.width
    d, batch, dt = problem.dimension, training.batch, problem.time_step
    W, W_star = np.repeat(weights[None, :p], replicas, axis=0), weights[p:]
    a, norms = np.repeat(a[None], replicas, axis=0), np.sum(weights[:p] ** 2, axis=1)
    v, v_a = np.zeros_like(W), np.zeros_like(a)
    sigma_star, a_star = ACTIVATIONS[data.activation][0], np.asarray(data.second_layer)
    for _ in range(steps):
        x = np.sqrt(variances / d) * rng.standard_normal((replicas, batch, d))
        y = labels_of(data, (a_star * sigma_star(x @ W_star.T)).mean(axis=2), rng)
        g, g_a, _ = one_step(problem, W, a, x, y)
        beta, rate = training.momentum, training.learning_rate
        kick = rate * g - training.weight_decay * (1 - beta) * dt * W
        kick_a = training.second_layer_rate * rate / d * g_a
        v, v_a = beta * v + kick, beta * v_a + kick_a
        ahead, ahead_a = (beta * v + kick, beta * v_a + kick_a) if training.nesterov else (v, v_a)
        W = W + ahead
        if training.spherical:
            W = W * np.sqrt(norms / np.sum(W**2, axis=2))[..., None]
        if problem.network.second_layer == "trained":
            a = a + ahead_a
    return {
        "Q": np.einsum("rid,d,rjd->rij", W, np.broadcast_to(variances, d), W) / d,
        "M": np.einsum("rid,d,kd->rik", W, np.broadcast_to(variances, d), W_star) / d,
        "a": a,
    }
