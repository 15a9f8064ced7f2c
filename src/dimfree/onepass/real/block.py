"""One block of one-pass SGD, given the preactivations and the Gram matrix of its samples.

SGD is sequential, but within a block of samples everything it needs of the d-dimensional inputs is how they overlap with
the weights at the start of the block and with each other. So a block costs a few matrix products, and then small
sequential updates on arrays that do not depend on d. It is the same SGD, on vectors (vectors.py) and on overlaps (chain.py).

Inside a block the weights are W = pi * (W_0 + Cᵀ X), with a factor pi per neuron for decay and normalisation and one row
of C per sample (docs/theory/committee.md, section 1.1). The replica axis is last everywhere, so that it vectorises.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.weights import Scalars


class Samples(NamedTuple):
    """A block of samples as seen from the weights at its start: S steps of `batch` samples each, b = S * batch."""

    students: Float[Array, "b p r"]  # lambda = W_0 x
    labels: Float[Array, "b r"]  # y, noise included; of several outputs the number of a class
    gram: Float[Array, "b b r"]  # x.x'


class Progress(NamedTuple):
    """What a block does to the network."""

    coefficients: Float[Array, "b p r"]  # C
    factor: Float[Array, "p r"]  # pi
    scalars: Scalars


def run_block(
    model: OnePassModel, samples: Samples, scalars: Scalars, first_step: Int[Array, ""], active: Int[Array, ""]
) -> Progress:
    """The first `active` steps of a block."""
    batch, p, d, dt = model.batch, model.width, model.dimension, model.time_step
    b, _, replicas = samples.students.shape
    steps = b // batch

    def step(
        carry: tuple[Array, Array, Array, Array], inputs: tuple[Array, Array, Array]
    ) -> tuple[tuple[Array, Array, Array, Array], Array]:
        base, pi, a, bias = carry
        s, labels, gram = inputs
        rate, pace = model.rates(first_step + s, s < active)
        products = pi * jax.lax.dynamic_slice_in_dim(base, s * batch, batch)  # (batch, p, r)
        fields = products + bias if model.offsets else products
        within = jax.lax.dynamic_slice_in_dim(gram, s * batch, batch, axis=1)  # x.x' of this step's samples
        gradient, pulled = gradients(model, fields, a, labels, within)
        push = rate * model.gamma / (p * batch)
        kept = 1 - model.omega * dt * pace
        rows = jnp.zeros_like(gradient)
        if model.train_a:
            kept_a = 1 - model.omega_a * dt * pace
            a = kept_a * a + rate * model.eta_a * model.gamma / (d * p * batch) * jnp.sum(pulled, axis=0)
        if model.train_b:
            bias = kept * bias + push / d * jnp.sum(gradient, axis=0)
        if model.train_w:
            rows = push * gradient / (kept * pi)
            pi = kept * pi
            if model.spherical and not model.noisy:  # noise comes before the projection, and is not of this block
                pi = pi * _to_sphere(scalars.norms, kept, push, products, gradient, within, d)
            if steps > 1:  # later samples of the block see the new weights
                base = sum((gram[i][:, None, :] * rows[i] for i in range(batch)), base)
        return (base, pi, a, bias), rows

    inputs = (
        jnp.arange(steps),
        samples.labels.reshape(steps, batch, replicas),
        samples.gram.reshape(steps, batch, b, replicas),
    )
    start = (samples.students, jnp.ones_like(scalars.bias), scalars.a, scalars.bias)
    (_, pi, a, bias), rows = jax.lax.scan(step, start, inputs)
    return Progress(rows.reshape(b, p, replicas), pi, Scalars(a, bias, scalars.norms))


def gradients(
    model: OnePassModel,
    fields: Float[Array, "batch p r"],
    a: Float[Array, "*outputs p r"],
    labels: Float[Array, "batch r"],
    gram: Float[Array, "batch batch r"],
) -> tuple[Float[Array, "batch p r"], Float[Array, "batch *outputs p r"]]:
    """The gradients of each sample: c = a sigma'(lambda) e for preactivations, and sigma(lambda) e for the second layer.

    Where the norm of the first layer's gradient is clipped, one factor shortens all errors of the batch (docs/theory/losses.md,
    section 4).
    """
    values = model.activation(fields)
    if model.outputs > 1:
        c, pulled = _of_outputs(model, values, model.activation.derivative(fields), a, labels)
        short = jnp.ones(()) if model.clip_norm is None else _shortening(model.clip_norm, c, gram)
        return short * c, short * pulled
    error = model.error(labels, jnp.mean(a * values, axis=1))[:, None, :]
    slopes = a * model.activation.derivative(fields)
    if model.clip_norm is not None:
        error = error * _shortening(model.clip_norm, slopes * error, gram)
    return slopes * error, values * error


def _of_outputs(
    model: OnePassModel,
    values: Float[Array, "batch p r"],
    slopes: Float[Array, "batch p r"],
    a: Float[Array, "c p r"],
    labels: Float[Array, "batch r"],
) -> tuple[Float[Array, "batch p r"], Float[Array, "batch c p r"]]:
    """Of several outputs, equation (1.5) of docs/theory/losses.md: c = sigma'(lambda) aᵀe, and e sigma(lambda)ᵀ."""
    f = jnp.mean(a * values[:, None], axis=2)  # (batch, c, r)
    error = jnp.moveaxis(model.error(labels, jnp.moveaxis(f, 1, -1)), -1, 1)[:, :, None]
    return slopes * jnp.sum(a * error, axis=1), values[:, None] * error


def _shortening(limit: Array, c: Float[Array, "batch p r"], gram: Float[Array, "batch batch r"]) -> Float[Array, " r"]:
    """min(1, limit/norm) with the norm sqrt(tr cᵀ G c)/(p batch) of the mean gradient, before the learning rate."""
    batch, p, _ = c.shape
    squared = jnp.sum(jnp.sum(gram[:, :, None, :] * c[None], axis=1) * c, axis=(0, 1)) / (p * batch) ** 2
    return jnp.minimum(1.0, limit / jnp.sqrt(jnp.maximum(squared, 1e-300)))


def _to_sphere(norms: Array, kept: Array, push: Array, fields: Array, gradient: Array, gram: Array, d: Array) -> Array:
    """The factor that takes Q_ii back to its prescribed value after one step, from equation (1.2)."""
    linear = 2 * kept * push / d * jnp.sum(gradient * fields, axis=0)
    pulled = jnp.sum(gram[:, :, None, :] * gradient[None], axis=1)
    quadratic = push**2 / d * jnp.sum(gradient * pulled, axis=0)
    return jnp.sqrt(norms / (kept**2 * norms + linear + quadratic))
