"""One-pass SGD of networks with several outputs, written plainly in NumPy: many replicas, nothing of dimfree."""

import numpy as np

from plain_losses import ACTIVATIONS


def softmax(f):
    weights = np.exp(f - f.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def drawn(chances, rng):
    """The number of a class for each row of probabilities."""
    return np.minimum((rng.random(chances.shape[:-1])[..., None] > chances.cumsum(-1)).sum(-1), chances.shape[-1] - 1)


def flipped(y, classes, flip, rng):
    """Labels of which some are any of the other classes."""
    wrong = rng.random(y.shape) < flip
    return np.where(wrong, (y + rng.integers(1, classes, y.shape)) % classes, y)


def samples(problem, W_star, shape, variances, rng):
    """Inputs and the numbers of their classes."""
    data, d, C = problem.data, problem.dimension, problem.network.outputs
    z = np.sqrt(variances / d) * rng.standard_normal((*shape, d))
    if data.kind == "clusters":
        c = rng.choice(len(data.shares), size=shape, p=data.shares)
        y = np.array([(1 - y) // 2 if -1 in data.labels else y for y in data.labels])[c]
        x = np.array(data.coefficients)[c] @ W_star / d + np.sqrt(np.array(data.spreads)[c])[..., None] * z
        return x, flipped(y, C, data.flip, rng)
    layer = np.asarray(data.second_layer, dtype=float)
    layer = layer if layer.ndim == 2 else np.diag(np.broadcast_to(layer, (data.units,)))
    f_star = ACTIVATIONS[data.activation][0](z @ W_star.T) @ layer.T / data.units
    if data.labels == "softmax":
        return z, drawn(softmax(data.slope * f_star), rng)
    return z, flipped(np.argmax(f_star, axis=-1), C, data.flip, rng)


def plain_sgd(problem, weights, A, steps, replicas, rng, variances=1.0):
    """Q, M and A of every replica after so many steps; `variances` are those of the inputs, times d."""
    training, network, p = problem.training, problem.network, problem.network.width
    d, batch, dt, rate = problem.dimension, training.batch, problem.time_step, training.learning_rate
    W, W_star = np.repeat(weights[None, :p], replicas, axis=0), weights[p:]
    A, norms = np.repeat(A[None], replicas, axis=0), np.sum(weights[:p] ** 2, axis=1)
    v, v_A = np.zeros_like(W), np.zeros_like(A)
    value, slope = ACTIVATIONS[network.activation]
    for _ in range(steps):
        x, y = samples(problem, W_star, (replicas, batch), variances, rng)
        fields = np.einsum("rbd,rpd->rbp", x, W)
        e = np.eye(network.outputs)[y] - softmax(np.einsum("rcp,rbp->rbc", A, value(fields)) / p)
        g = np.einsum("rbp,rbd->rpd", slope(fields) * np.einsum("rcp,rbc->rbp", A, e), x) / (p * batch)
        g_A = np.einsum("rbc,rbp->rcp", e, value(fields)) / (p * batch)
        if training.clip != "none":
            short = np.minimum(1.0, training.clip.norm / np.sqrt(np.sum(g**2, axis=(1, 2))))[:, None, None]
            g, g_A = short * g, short * g_A
        v = training.momentum * v + rate * g
        v_A = training.momentum * v_A + training.second_layer_rate * rate / d * g_A
        W = (1 - training.weight_decay * dt) * W + v
        if training.spherical:
            W = W * np.sqrt(norms / np.sum(W**2, axis=2))[..., None]
        if network.second_layer == "trained":
            A = (1 - training.second_layer_decay * dt) * A + v_A
    s = np.broadcast_to(variances, d)
    return {
        "Q": np.einsum("rid,d,rjd->rij", W, s, W) / d,
        "M": np.einsum("rid,d,kd->rik", W, s, W_star) / d,
        "A": A,
    }
