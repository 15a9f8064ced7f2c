"""One-pass SGD on weight vectors, whatever the law of the data: the real thing."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, Key, PyTree

from dimfree.description import Cost, Dynamics, Observed
from dimfree.onepass.real.block import Progress, Samples, run_block
from dimfree.onepass.real.blocked import COMPILING, AtBlock, BlockedSGD, steps_taken
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start
from dimfree.onepass.weights import Network, Scalars
from dimfree.problem import Problem
from dimfree.random_numbers import normals


class VectorSGD(BlockedSGD[OnePassModel, Network]):
    """SGD on vectors: inputs drawn in float32 (the draw is the bottleneck), state in float64."""

    name: ClassVar[str] = "sgd"
    summary: ClassVar[str] = "real one-pass SGD on weight vectors, offsets and second layer, with noise if asked for"
    cites: ClassVar[tuple[str, ...]] = ("robbins1951",)
    models: ClassVar[type[OnePassModel]] = OnePassModel  # type: ignore[type-abstract]  # any of them
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})

    def cost(self, problem: Problem, model: OnePassModel) -> Cost:
        """Per sample: d draws, products with all weights, a share of the Gram matrix; with noise, draws for every weight."""
        p, d, R, steps = model.width, problem.dimension, problem.run.replicas, problem.steps(problem.run.until)
        n = p + model.units
        per_sample = d * (9e-9 + 1e-10 * n) + 3e-8 * n + 1e-6 / R + model.draw_seconds
        if model.noisy:
            per_sample += 6.5e-9 * p * d / model.batch  # noise is drawn once a step
        looks = len(problem.times) * model.look_seconds(R)
        size = self.steps_per_block(model)
        b = size * model.batch  # samples in memory together, with products of all pairs
        memory = R * (d * (8.0 * n + 12.5 * b) + 24.0 * b**2) + 10.0 * d * b  # and one replica's samples in float64
        samples = steps_taken(problem, size) * model.batch * R
        return Cost(COMPILING + samples * per_sample + looks, steps, memory)

    def refuses(self, problem: Problem, model: OnePassModel) -> str | None:
        """Refuse vectors that would fill the memory, and labels that only rows have."""
        return model.rows_only or model.too_large

    def twin(self, model: OnePassModel) -> tuple[Dynamics[Any, Start, Any], OnePassModel]:
        """Name the SGD with velocities, if there is momentum."""
        return (walker(model) if model.momentum else self), model

    def begin(self, model: OnePassModel, start: Start, replicas: int, key: Key[Array, ""]) -> AtBlock[Network]:
        """Every replica starts from the same network."""
        assert start.weights is not None, "a start with vectors is among the needs of sgd"
        p, R = model.width, replicas
        shared = (start.measured.a, start.bias, start.norms)
        scalars = Scalars(*(jnp.broadcast_to(x[..., None], (*x.shape, R)) for x in shared))
        students = jnp.broadcast_to(start.weights[:p], (R, p, start.weights.shape[1]))
        return AtBlock(Network(students, start.weights[p:], scalars), jnp.zeros((), int), key)

    def through_block(
        self, model: OnePassModel, network: Network, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Network:
        """Matrix products for the whole block, small sequential updates, one rank-b update of the weights."""
        assert not model.momentum, "velocities are part of the state of the description that `runner` names"
        steps = self.steps_per_block(model)
        taken = _shaken_steps if model.noisy else _learned_block
        return taken(model, network, block * steps, steps, key, active)

    def look(self, model: OnePassModel, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Keep what the kind of data observes of a network."""
        return model.look(network)

    def risks(self, model: OnePassModel, network: Network) -> Float[Array, " r"]:
        """Population risks, each from the state of one network."""
        return model.risks(network)

    def observe(self, model: OnePassModel, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """Compute the observables from what was kept."""
        return model.observe(looks)


def walker(model: OnePassModel) -> VectorSGD:
    """The SGD that runs: without momentum, or with it."""
    if not model.momentum:
        return VectorSGD()
    from dimfree.onepass.real.momentum import MomentumSGD  # which is itself a walker

    return MomentumSGD()


def drawn_inputs(
    model: OnePassModel, key: Key[Array, ""], replicas: int, count: int, teachers: Float[Array, "k d"]
) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
    """Inputs times sqrt(d), and what else a label depends on."""
    X, hidden = model.law.draw(key, replicas, count, teachers.shape[1])
    centre = model.law.centre(hidden)
    if centre is None:
        return X, hidden
    along = (teachers / jnp.sqrt(1.0 * teachers.shape[1])).astype(X.dtype)
    S, root = (jnp.moveaxis(x, -1, 0).astype(X.dtype) for x in centre)
    return S @ along + root[..., None] * X, hidden


def _learned_block(
    model: OnePassModel,
    network: Network,
    first: Int[Array, ""],
    steps: int,
    key: Key[Array, ""],
    active: Int[Array, ""],
) -> Network:
    """The network after the first `active` of `steps` steps."""
    R = network.students.shape[0]
    X, hidden = drawn_inputs(model, key, R, steps * model.batch, network.teachers)
    return _learned(model, network, X, hidden, first, active)


def _learned(
    model: OnePassModel,
    network: Network,
    X: Float32[Array, "r b d"],
    hidden: Float[Array, "b r"],
    first: Int[Array, ""],
    active: Int[Array, ""],
) -> Network:
    """The network after the first `active` steps on these samples, before any noise."""
    p = model.width
    fields, gram = products(X, network)
    samples = Samples(fields[:, :p], model.law.label(fields[:, p:], hidden), gram)
    progress = run_block(model, samples, network.scalars, first, active)
    students = _updated(network.students, progress, X) if model.train_w else network.students
    kept = students if model.noisy else _kept(model, students, progress.scalars)
    return Network(kept, network.teachers, progress.scalars)


def _shaken_steps(
    model: OnePassModel,
    network: Network,
    first: Int[Array, ""],
    steps: int,
    key: Key[Array, ""],
    active: Int[Array, ""],
) -> Network:
    """Noise moves all directions at every step, so that the steps of a block are taken one by one."""
    sample_key, noise_key = jax.random.split(key)
    R, p, d = network.students.shape
    X, hidden = drawn_inputs(model, sample_key, R, steps * model.batch, network.teachers)

    def one(network: Network, inputs: tuple[Array, ...]) -> tuple[Network, None]:
        s, x, h, on_weights, on_scalars = inputs
        after = _learned(model, network, jnp.swapaxes(x, 0, 1), h, first + s, active - s)
        pace = model.rates(first + s, s < active)[1]
        return _shaken(model, after, on_weights, on_scalars, pace), None

    x, h = (part.reshape(steps, model.batch, *part.shape[1:]) for part in (jnp.swapaxes(X, 0, 1), hidden))
    weights_key, scalars_key = jax.random.split(noise_key)
    # drawn in bulk: draws fused into a step cost several times more
    on_weights = normals(weights_key, steps * R * p * d).reshape(steps, R, p, d)
    rows = model.outputs + 1  # of the second layer, and the offsets
    on_scalars = normals(scalars_key, steps * rows * p * R).reshape(steps, rows, p, R)
    return jax.lax.scan(one, network, (jnp.arange(steps), x, h, on_weights, on_scalars))[0]


def _shaken(
    model: OnePassModel, network: Network, on_weights: Array, on_scalars: Array, pace: Float[Array, ""]
) -> Network:
    """Gaussian noise of variance 2 T dt on every trained parameter in the scaling of docs/theory/mean-field.md, (c.1)."""
    spread, d = jnp.sqrt(2 * model.temperature * model.time_step * pace), network.students.shape[-1]
    scalars = network.scalars._replace(
        a=network.scalars.a + spread * model.train_a * on_scalars[:-1].reshape(network.scalars.a.shape),
        bias=network.scalars.bias + spread * model.train_b * on_scalars[-1],
    )
    students = network.students + spread * d**0.5 * on_weights if model.train_w else network.students
    return Network(_kept(model, students, scalars), network.teachers, scalars)


def _kept(model: OnePassModel, students: Float[Array, "r p d"], scalars: Scalars) -> Float[Array, "r p d"]:
    """Every row back at its norm: a block without noise is there up to rounding, which must not add up."""
    if not (model.spherical and model.train_w):
        return students
    d = students.shape[-1]
    return students * jnp.sqrt(scalars.norms.T * d / jnp.sum(students**2, axis=-1))[..., None]


def products(X: Float32[Array, "r b d"], network: Network) -> tuple[Float[Array, "b n r"], Float[Array, "b b r"]]:
    """Preactivations in float64 and the Gram matrix, replica by replica: one replica's block stays in the cache."""

    def one(inputs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        x, students = inputs
        wide = x.astype(float)
        return wide @ students.T, wide @ network.teachers.T, x @ x.T

    students, teachers, gram = jax.lax.map(one, (X, network.students))
    d = X.shape[-1]
    fields = jnp.concatenate([students, teachers], axis=-1) / jnp.sqrt(1.0 * d)
    return jnp.moveaxis(fields, 0, -1), jnp.moveaxis(gram, 0, -1).astype(float) / d


def _updated(students: Float[Array, "r p d"], progress: Progress, X: Float32[Array, "r b d"]) -> Float[Array, "r p d"]:
    """pi (W_0 + Cᵀ X); the products may be rounded to float32, their sum may not."""
    C = jnp.moveaxis(progress.coefficients, -1, 0) / jnp.sqrt(1.0 * X.shape[-1])
    return progress.factor.T[..., None] * (students + jnp.swapaxes(C, 1, 2).astype(X.dtype) @ X)
