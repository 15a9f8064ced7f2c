"""One-pass SGD on weight vectors: the real thing."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Cost
from dimfree.onepass.model import Model, block_steps
from dimfree.gaussian.draws import normals
from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.start import Start
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.block import Progress, Samples, run_block
from dimfree.onepass.real.walk import Walk, Walker


class Network(eqx.Module):
    """Students of every replica, the one teacher they share, second layers, and the norms that the spherical rule keeps."""

    students: Float[Array, "r p d"]
    teachers: Float[Array, "k d"]
    second_layer: Float[Array, "p r"]
    norms: Float[Array, "p r"]


class VectorSGD(Walker):
    """SGD on vectors: inputs drawn in float32 (the draw is the bottleneck), state in float64."""

    name: ClassVar[str] = "sgd"
    summary: ClassVar[str] = "real one-pass SGD on weight vectors"
    cites: ClassVar[tuple[str, ...]] = ("robbins1951",)

    def cost(self, problem: OnePassProblem) -> Cost:
        """Per sample: d draws, p+k products with them, and their share of the Gram matrix."""
        n, d, R = problem.network.width + problem.data.units, problem.dimension, problem.run.replicas
        steps = problem.steps(problem.run.until)
        per_sample = d * (7e-9 + 1e-10 * n) + 2e-8 * n + 1e-6 / R
        return Cost(steps * problem.training.batch * R * per_sample, steps, R * d * (8.0 * n + 200))

    def begin(self, model: Model, start: Start, replicas: int, key: Key[Array, ""]) -> Walk[Network]:
        """Every replica starts from the same weights."""
        if start.weights is None:
            raise ValueError("VectorSGD needs a start drawn with vectors=True.")
        p, R = model.width, replicas
        network = Network(
            students=jnp.broadcast_to(start.weights[:p], (R, p, start.weights.shape[1])),
            teachers=start.weights[p:],
            second_layer=jnp.broadcast_to(start.overlaps.a[:, None], (p, R)),
            norms=jnp.broadcast_to(jnp.diagonal(start.overlaps.Q)[:, None], (p, R)),
        )
        return Walk(network, jnp.zeros((), int), key)

    def walk_block(
        self, model: Model, network: Network, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Network:
        """Matrix products for the whole block, small sequential updates, one rank-b update of the weights."""
        R, _, d = network.students.shape
        steps = block_steps(model.batch)
        input_key, noise_key = jax.random.split(key)
        b = steps * model.batch
        X = normals(input_key, R * b * d).reshape(R, b, d)  # sqrt(d) times the inputs
        fields, gram = _products(X, network)
        p = model.width
        noise = normals(noise_key, b * R).reshape(b, R)
        samples = Samples(fields[:, :p], labels(model, fields[:, p:], noise), gram)
        progress = run_block(model, samples, network.second_layer, network.norms, block * steps, active)
        students = _updated(network.students, progress, X)
        if model.spherical:  # the block kept the norms up to rounding; rounding must not add up
            students = students * jnp.sqrt(network.norms.T * d / jnp.sum(students**2, axis=-1))[..., None]
        return Network(students, network.teachers, progress.second_layer, network.norms)

    def overlaps(self, model: Model, network: Network) -> Overlaps:
        """Measured on the vectors."""
        W, d = network.students, network.students.shape[-1]
        return Overlaps(W @ jnp.swapaxes(W, 1, 2) / d, W @ network.teachers.T / d, network.second_layer.T)


def _products(X: Float[Array, "r b d"], network: Network) -> tuple[Float[Array, "b n r"], Float[Array, "b b r"]]:
    """Preactivations in float64 and the Gram matrix, replica by replica: one replica's block stays in the cache."""

    def one(inputs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        x, students = inputs
        wide = x.astype(float)
        return wide @ students.T, wide @ network.teachers.T, x @ x.T

    students, teachers, gram = jax.lax.map(one, (X, network.students))
    d = X.shape[-1]
    fields = jnp.concatenate([students, teachers], axis=-1) / jnp.sqrt(1.0 * d)
    return jnp.moveaxis(fields, 0, -1), jnp.moveaxis(gram, 0, -1).astype(float) / d


def labels(model: Model, teachers: Float[Array, "b k r"], noise: Float[Array, "b r"]) -> Float[Array, "b r"]:
    """y = f*(lambda*) + sqrt(Delta) z."""
    return model.target(jnp.swapaxes(teachers, 1, 2)) + jnp.sqrt(model.Delta) * noise


def _updated(students: Float[Array, "r p d"], progress: Progress, X: Float[Array, "r b d"]) -> Float[Array, "r p d"]:
    """pi (W_0 + Cᵀ X); the products may be rounded to float32, their sum may not."""
    C = jnp.moveaxis(progress.coefficients, -1, 0) / jnp.sqrt(1.0 * X.shape[-1])
    return progress.factor.T[..., None] * (students + jnp.swapaxes(C, 1, 2).astype(X.dtype) @ X)
