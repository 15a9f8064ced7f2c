"""One-pass SGD as in a textbook: step by step, in float64, in the words of the problem's own convention.

`on_the_same_samples` walks one replica on the very samples that sgd draws; `on_its_own_samples` draws many replicas.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dimfree.functions import activation
from dimfree.onepass.kinds.gaussians.section import TwoGaussians
from dimfree.onepass.kinds.teacher.section import Teacher
from dimfree.onepass.model import model
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import block_steps, second_layer
from dimfree.onepass.start import Start
from dimfree.random_numbers import normals
from dimfree.states.overlaps import Overlaps

FRONT: dict[str, Callable[[int], float]] = {"mean": lambda n: 1 / n, "sqrt": lambda n: n**-0.5, "sum": lambda n: 1.0}


class Network(NamedTuple):
    """Weights, offsets, and the second layer as the user writes it."""

    W: jax.Array
    b: jax.Array
    a: jax.Array


def start_of(problem: OnePassProblem, seed: int = 0, twins: bool = False) -> Start:
    """Gaussian students beside an orthonormal teacher, if there is one; the first two students may be one."""
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
    weights = jnp.asarray(np.concatenate([W, W_star]))
    return Start(overlaps, weights, jnp.full(p, problem.network.bias_start))


def textbook_step(
    problem: OnePassProblem, now: Network, first: Network, x: jax.Array, y: jax.Array, step: Any, noise: Network
) -> Network:
    """One step on the batch (x, y); `noise` are standard normals, `first` is where training began."""
    training, trained, d = problem.training, problem.network.trained, problem.dimension
    s, dt, sigma = FRONT[problem.network.scaling](now.a.size), problem.time_step, activation(problem.network.activation)
    factor = scheduled(training.schedule, step * dt)
    rate, others = training.learning_rate * factor, factor if training.scheduled == "everything" else 1.0
    value, slope = jax.jvp(sigma, (x @ now.W.T + now.b,), (jnp.ones((len(y), now.a.size)),))
    error = (y - s * value @ now.a)[:, None] / len(y)
    kept = 1 - training.weight_decay * dt * others
    decay_a = training.weight_decay if training.second_layer_decay == "same" else training.second_layer_decay
    pull = s * now.a * slope * error
    W = kept * now.W + rate * pull.T @ x
    b = kept * now.b + rate / d * jnp.sum(pull, axis=0)
    a = (1 - decay_a * dt * others) * now.a + training.second_layer_rate * rate / d * s * jnp.sum(value * error, axis=0)
    if training.inverse_temperature is not None:
        spread = jnp.sqrt(2 * dt * others / training.inverse_temperature)
        W, b, a = W + spread * d**0.5 * noise.W, b + spread * noise.b, a + spread / (now.a.size * s) * noise.a
    if training.spherical:
        W = W * jnp.sqrt(jnp.sum(first.W**2, axis=1) / jnp.sum(W**2, axis=1))[:, None]
    after = {"first-layer": W, "bias": b, "second-layer": a}
    return Network(*(after[part] if part in trained else old for part, old in zip(after, now, strict=True)))


def scheduled(schedule: Any, t: Any) -> jax.Array:
    match schedule and schedule.kind:
        case "power":
            return (1 + t / schedule.scale) ** -schedule.exponent
        case "exponential":
            return jnp.exp(-t / schedule.scale)
        case "steps":
            passed = jnp.sum(t > np.array(schedule.times) - 1e-9)
            return jnp.array([1.0, *schedule.factors])[passed]
        case _:
            return jnp.ones(())


def labels(problem: OnePassProblem, W_star: jax.Array, x: jax.Array, hidden: jax.Array) -> jax.Array:
    """Of inputs (b, d), with what else was drawn."""
    data = problem.data
    match data:
        case TwoGaussians():
            return hidden
        case Teacher():
            a = np.broadcast_to(np.asarray(data.second_layer), data.units)
            clean = FRONT[data.scaling](data.units) * activation(data.activation)(x @ W_star.T) @ a
            return clean + data.noise**0.5 * hidden
        case _:
            return model(problem).target(x @ W_star.T) + data.noise**0.5 * hidden


def observed(problem: OnePassProblem, W_star: jax.Array, now: Network) -> dict[str, jax.Array]:
    """As the description names it; the second layer is canonical."""
    p, d = now.W.shape
    scalars = {"a": p * FRONT[problem.network.scaling](p) * now.a, "bias": now.b}
    if isinstance(problem.data, TwoGaussians):
        parts = jnp.split(now.W**2 / d, [problem.data.telling(problem.dimension)], axis=1)
        return scalars | {name: jnp.sqrt(jnp.sum(x, axis=1)) for name, x in zip(("r1", "r2"), parts, strict=True)}
    return scalars | {"Q": now.W @ now.W.T / d, "M": now.W @ W_star.T / d}


def begin(problem: OnePassProblem, start: Start) -> tuple[Network, jax.Array]:
    p = problem.network.width
    a = start.measured.a / (p * FRONT[problem.network.scaling](p))
    return Network(start.weights[:p], start.bias, a), start.weights[p:]


_step = jax.jit(textbook_step, static_argnums=0)


def on_the_same_samples(
    problem: OnePassProblem, start: Start, steps: int, key: jax.Array, replica: int, replicas: int
) -> list[dict[str, jax.Array]]:
    """What is observed after 0, 1, .., `steps` steps of one replica."""
    batch, noisy = problem.training.batch, problem.training.inverse_temperature is not None
    size, law = block_steps(batch), model(problem).law
    now, W_star = first, _ = begin(problem, start)
    p, d = now.W.shape
    noise, path = Network(*(jnp.zeros_like(x) for x in now)), []
    for step in range(steps + 1):
        path.append(observed(problem, W_star, now))
        n = step % size
        if n == 0:
            own = jax.random.fold_in(key, step // size)
            own, noise_key = jax.random.split(own) if noisy else (own, None)
            X, hidden = law.draw(own, replicas, size * batch, d)
            x = X[replica].astype(float) / d**0.5
            y = labels(problem, W_star, x, hidden[:, replica].astype(float))
            if noisy:
                keys = jax.random.split(noise_key)
                on_weights = normals(keys[0], size * replicas * p * d).reshape(size, replicas, p, d)[:, replica]
                on_scalars = normals(keys[1], size * 2 * p * replicas).reshape(size, 2, p, replicas)[..., replica]
        if noisy:
            noise = Network(on_weights[n].astype(float), *(on_scalars[n, i].astype(float) for i in (1, 0)))
        part = slice(n * batch, (n + 1) * batch)
        now = _step(problem, now, first, x[part], y[part], float(step), noise)
    return path


@partial(jax.jit, static_argnums=(0, 2, 4))
def on_its_own_samples(
    problem: OnePassProblem, start: Start, counts: tuple[int, ...], key: jax.Array, replicas: int
) -> dict[str, jax.Array]:
    """What is observed after so many steps of independent replicas: (time, replica, ...)."""
    first, W_star = begin(problem, start)
    batch, d = problem.training.batch, problem.dimension

    sizes = np.cumsum([batch * d, batch, *(leaf.size for leaf in first)])

    def one(own: jax.Array) -> dict[str, jax.Array]:
        def step(n: jax.Array, now: Network) -> Network:
            drawn = jax.random.normal(jax.random.fold_in(own, n), (sizes[-1],))
            x, hidden, *noise = jnp.split(drawn, sizes[:-1])
            x = x.reshape(batch, d)
            if isinstance(problem.data, TwoGaussians):
                hidden = jnp.sign(hidden)
                telling = jnp.arange(d) < problem.data.telling(problem.dimension)
                x = x * jnp.where(telling, 1 + problem.data.contrast * hidden[:, None], 1.0)
            x = x / d**0.5
            shaped = Network(*(part.reshape(leaf.shape) for part, leaf in zip(noise, now, strict=True)))
            return textbook_step(problem, now, first, x, labels(problem, W_star, x, hidden), n, shaped)

        def stretch(now: Network, ends: jax.Array) -> tuple[Network, dict[str, jax.Array]]:
            now = jax.lax.fori_loop(ends[0], ends[1], step, now)
            return now, observed(problem, W_star, now)

        return jax.lax.scan(stretch, first, jnp.asarray([*pairwise((0, *counts))]))[1]

    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), jax.vmap(one)(jax.random.split(key, replicas)))
