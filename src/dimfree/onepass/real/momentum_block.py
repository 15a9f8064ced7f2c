"""One block of SGD with momentum, given the preactivations of weights and velocities and the Gram matrix of its samples.

docs/theory/structured.md, section 4. Heavy ball from rest: v' = beta v + g - eps w, w' = w + v'; Nesterov's rule (as PyTorch
has it) looks ahead, w' = w + g - eps w + beta v'. Inside a block (w, v) = T (w_0, v_0) + (C_w, C_v)ᵀ X with T of two rows.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dimfree.onepass.real.block import Samples, gradients
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.weights import Scalars


class Pair(NamedTuple):
    """Something that weights and their velocities both have."""

    w: Array
    v: Array


class MovingScalars(NamedTuple):
    """What a neuron has beside its weights, and the velocities of it."""

    at: Scalars
    a: Float[Array, "*outputs p r"]
    bias: Float[Array, "p r"]


class MovingProgress(NamedTuple):
    """What a block does to the network: T, C and the scalars."""

    T: Float[Array, "2 2"]
    coefficients: Pair  # (b, p, r) each
    scalars: MovingScalars


def run_moving_block(
    model: OnePassModel,
    samples: Samples,
    velocities: Float[Array, "b p r"],
    scalars: MovingScalars,
    first_step: Int[Array, ""],
    active: Int[Array, ""],
) -> MovingProgress:
    """The first `active` steps of a block; `velocities` are v_0 x of its samples."""
    batch, p, d = model.batch, model.width, model.dimension
    b, _, replicas = samples.students.shape
    steps, push = b // batch, model.gamma / (p * batch)

    def step(
        carry: tuple[Pair, Pair, Array, MovingScalars], inputs: tuple[Array, Array, Array]
    ) -> tuple[tuple[Pair, Pair, Array, MovingScalars], None]:
        base, C, T, now = carry
        s, labels, gram = inputs
        on = s < active
        rate, pace = model.rates(first_step + s, on)
        fields = jax.lax.dynamic_slice_in_dim(base.w, s * batch, batch)
        fields = fields + now.at.bias if model.offsets else fields
        within = jax.lax.dynamic_slice_in_dim(gram, s * batch, batch, axis=1)
        gradient, pulled = gradients(model, fields, now.at.a, labels, within)
        if model.train_w:
            rows = rate * push * gradient
            ahead, M = _rule(model, pace * model.omega, on)
            kick = sum((gram[i][:, None, :] * rows[i] for i in range(batch)), jnp.zeros_like(base.w))
            base = _moved(M, base, ahead * kick, kick)
            placed = jax.lax.dynamic_update_slice_in_dim(jnp.zeros_like(C.w), rows, s * batch, 0)
            C, T = _moved(M, C, ahead * placed, placed), M @ T
        if model.train_a:
            g = rate * (model.eta_a * model.gamma / (d * p * batch)) * jnp.sum(pulled, axis=0)
            ahead, M = _rule(model, pace * model.omega_a, on)
            a, v = _moved(M, Pair(now.at.a, now.a), ahead * g, g)
            now = now._replace(at=now.at._replace(a=a), a=v)
        if model.train_b:
            g = rate * (push / d) * jnp.sum(gradient, axis=0)
            ahead, M = _rule(model, pace * model.omega, on)
            bias, v = _moved(M, Pair(now.at.bias, now.bias), ahead * g, g)
            now = now._replace(at=now.at._replace(bias=bias), bias=v)
        return (base, C, T, now), None

    inputs = (
        jnp.arange(steps),
        samples.labels.reshape(steps, batch, replicas),
        samples.gram.reshape(steps, batch, b, replicas),
    )
    nothing = Pair(jnp.zeros((b, p, replicas)), jnp.zeros((b, p, replicas)))
    start = (Pair(samples.students, velocities), nothing, jnp.eye(2), scalars)
    (_, C, T, scalars), _ = jax.lax.scan(step, start, inputs)
    return MovingProgress(T, C, scalars)


def _rule(model: OnePassModel, decay: Array, on: Array) -> tuple[Array, Float[Array, "2 2"]]:
    """How far a fresh gradient moves the weights, and what happens to weights and velocities; nothing in a step not taken."""
    beta, eps = model.beta, decay * (1 - model.beta) * model.time_step
    ahead = 1 + beta if model.nesterov else jnp.ones(())
    M = jnp.array([[1 - ahead * eps, ahead * beta - (beta if model.nesterov else 0.0)], [-eps, beta]])
    return ahead, jnp.where(on, M, jnp.eye(2))


def _moved(M: Float[Array, "2 2"], now: Pair, on_w: Array, on_v: Array) -> Pair:
    return Pair(M[0, 0] * now.w + M[0, 1] * now.v + on_w, M[1, 0] * now.w + M[1, 1] * now.v + on_v)
