"""One-pass SGD as in a textbook: one sample at a time, in float64 NumPy, in the words of the problem's own convention."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.onepass.model import model, second_layer
from dimfree.onepass.model import block_steps
from dimfree.gaussian.draws import normals
from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.start import Start
from dimfree.problem import Problem


def start_of(problem: Problem, seed: int = 0, twins: bool = False) -> Start:
    """Gaussian students beside an orthonormal teacher; the first two students may be one."""
    p, k, d = problem.network.width, problem.data.units, problem.dimension
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(p, d))
    if twins:
        W[1] = W[0]
    W_star = np.sqrt(d) * np.linalg.qr(rng.normal(size=(d, k)))[0].T
    Q = W @ W.T / d
    if twins:
        Q[1] = Q[0]
        Q[:, 1] = Q[:, 0]
    M = np.stack([W_star @ w for w in W]) / d
    overlaps = Overlaps(jnp.asarray(Q), jnp.asarray(M), second_layer(problem))
    return Start(overlaps, jnp.asarray(np.concatenate([W, W_star])))


def samples(problem: Problem, key: jax.Array, block: int, replicas: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and the noise of a block, as the description draws them: (replica, sample, d) and (sample, replica)."""
    d = problem.dimension
    b = block_steps(problem.training.batch) * problem.training.batch
    input_key, noise_key = jax.random.split(jax.random.fold_in(key, block))
    x = np.asarray(normals(input_key, replicas * b * d).reshape(replicas, b, d), dtype=float) / np.sqrt(d)
    return x, np.asarray(normals(noise_key, b * replicas).reshape(b, replicas), dtype=float)


def naive_sgd(
    problem: Problem,
    start: Start,
    steps: int,
    key: jax.Array,
    replica: int,
    replicas: int,
    rate: Callable[[float], float],
) -> list[dict[str, np.ndarray]]:
    """The overlaps after 0, 1, .., `steps` steps; `rate` is the factor of the schedule at a time."""
    training, p, d, batch = problem.training, problem.network.width, problem.dimension, problem.training.batch
    m = model(problem)
    gamma, dt, per_block = training.learning_rate, problem.time_step, block_steps(batch)
    weights, a = np.asarray(start.weights).copy(), np.asarray(start.overlaps.a).copy()
    W, W_star = weights[:p], weights[p:]
    norms = (W**2).sum(axis=1)
    path = []
    for step in range(steps + 1):
        path.append({"Q": W @ W.T / d, "M": W @ W_star.T / d, "a": a})
        first = step % per_block * batch
        if first == 0:
            inputs, noise = samples(problem, key, step // per_block, replicas)
        push_W, push_a = np.zeros_like(W), np.zeros_like(a)
        for n in range(first, first + batch):
            x = inputs[replica, n]
            fields = jnp.asarray(W @ x)
            value, slope = np.asarray(m.activation(fields)), np.asarray(m.activation.derivative(fields))
            label = float(m.target(jnp.asarray(W_star @ x))) + np.sqrt(problem.data.noise) * noise[n, replica]
            error = label - a @ value / p
            push_W += np.outer(a * slope * error, x) / (p * batch)
            push_a += value * error / (p * batch)
        factor = rate(step * dt)
        W = (1 - training.weight_decay * dt) * W + factor * gamma * push_W
        if problem.network.second_layer == "trained":
            second_rate = training.second_layer_rate * gamma / d
            a = (1 - training.second_layer_decay * dt) * a + factor * second_rate * push_a
        if training.spherical:
            W = W * np.sqrt(norms / (W**2).sum(axis=1))[:, None]
    return path
