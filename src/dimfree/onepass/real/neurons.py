"""Real one-pass SGD of neurons a sigma(<w, x> + b) on two centred Gaussians (docs/theory/mean-field.md, sections b and c).

Blocks as in block.py: preactivations and Gram matrix of a block of samples by matrix products, small sequential updates, one
low-rank update of the weights. Inside a block the parameters that are trained are pi (theta_0 + sum of rows), with one factor pi
for the decay; a trained offset is the weight of one more input of constant value, so it adds a constant to the Gram matrix.
Noise moves all directions at every step, so then the steps of a block are taken one by one.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Float32, Int, Key

from dimfree.description import Cost, TwoGaussiansDescription
from dimfree.onepass.gaussians_model import NeuronModel
from dimfree.gaussian.draws import normals
from dimfree.gaussian.neuron_risk import neuron_risk, risk_seconds
from dimfree.onepass.gaussians_start import NeuronStart, Seen, norms
from dimfree.onepass.gaussians_problem import TwoGaussiansProblem
from dimfree.onepass.real.walk import Walk, Walker


class Network(eqx.Module):
    """Canonical weights w = sqrt(d) w_sheet, offsets and second layers of every replica."""

    weights: Float[Array, "*s r n d"]
    bias: Float[Array, "*s n r"]
    a: Float[Array, "*s n r"]


class Block(NamedTuple):
    """A block of samples as seen from the network at its start; the part of a preactivation that is not trained is fixed."""

    labels: Float[Array, "b r"]
    fixed: Float[Array, "b n r"]
    moving: Float[Array, "b n r"]
    gram: Float[Array, "b b r"]  # of the inputs that feed trained parameters


class Progress(NamedTuple):
    """What a block does to the network."""

    rows: Float[Array, "b n r"]
    factor: Float[Array, ""]  # pi
    a: Float[Array, "n r"]


class NeuronSGD(TwoGaussiansDescription, Walker):
    """SGD on any of first layer, offsets and second layer; inputs drawn in float32, parameters in float64."""

    name: ClassVar[str] = "neurons"
    summary: ClassVar[str] = (
        "real one-pass SGD of neurons on two centred Gaussians, with noise and weight decay if asked for"
    )
    cites: ClassVar[tuple[str, ...]] = ("mei2018",)

    def cost(self, problem: TwoGaussiansProblem) -> Cost:
        """Per sample: d draws, products with N weight vectors, N updates; per saved time all pairs, for the risk."""
        N, d, R, steps = (
            problem.network.width,
            problem.dimension,
            problem.run.replicas,
            problem.steps(problem.run.until),
        )
        per_sample = d * (1.5e-8 + 1.5e-10 * N) + 1.5e-8 * N + 1.5e-6
        if problem.training.inverse_temperature:
            per_sample += 6.5e-9 * N * d / problem.training.batch  # noise is drawn once a step
        seen = len(problem.times) * R * risk_seconds(N)
        seconds = 4.0 + steps * problem.training.batch * R * per_sample + seen
        return Cost(seconds, steps, R * (8.0 * N * d + 200 * N) + 8.0 * 64 * N)

    def begin(self, model: NeuronModel, start: NeuronStart, replicas: int, key: Key[Array, ""]) -> Walk[Network]:
        """Every replica starts from the same network."""
        N, R = model.width, replicas
        network = Network(
            jnp.broadcast_to(start.weights, (R, N, model.dimension)),
            jnp.broadcast_to(start.bias[:, None], (N, R)),
            jnp.broadcast_to(start.a[:, None], (N, R)),
        )
        return Walk(network, jnp.zeros((), int), key)

    def walk_block(
        self, model: NeuronModel, network: Network, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Network:
        """The network after the first `active` steps of a block."""
        steps = self.steps_per_block(model)
        return walk_steps(model, network, block * steps, steps, key, active)

    def overlaps(self, model: NeuronModel, network: Network) -> Seen:
        """What is observed of all replicas."""
        return observed(model, network)


def walk_steps(
    model: NeuronModel,
    network: Network,
    first_step: Int[Array, ""],
    steps: int,
    key: Key[Array, ""],
    active: Int[Array, ""],
) -> Network:
    """The network after the first `active` of `steps` steps."""
    sample_key, noise_key = jax.random.split(key)
    X, labels = draw_samples(model, sample_key, network.weights.shape[0], steps * model.batch)
    if not model.noisy:
        return _learned(model, network, X, labels, first_step, active)

    def one(network: Network, inputs: tuple[Array, Array, Array, Network]) -> tuple[Network, None]:
        s, x, y, noise = inputs
        after = _learned(model, network, jnp.swapaxes(x, 0, 1), y, first_step + s, active - s)
        return _shaken(model, after, noise, model.step_size(first_step + s, s < active)), None

    x, y = (part.reshape(steps, model.batch, *part.shape[1:]) for part in (jnp.swapaxes(X, 0, 1), labels))
    return jax.lax.scan(one, network, (jnp.arange(steps), x, y, draw_noise(noise_key, network, steps)))[0]


def draw_noise(key: Key[Array, ""], network: Network, steps: int) -> Network:
    """Standard normals for every parameter and step of a block: in bulk, as draws fused into a step cost several times more."""
    keys = jax.random.split(key, 3)
    parts = (network.weights, network.bias, network.a)
    return Network(*(normals(k, steps * x.size).reshape(steps, *x.shape) for k, x in zip(keys, parts, strict=True)))


def draw_samples(
    model: NeuronModel, key: Key[Array, ""], replicas: int, count: int
) -> tuple[Float32[Array, "r b d"], Float[Array, "b r"]]:
    """Inputs times sqrt(d), and labels; the telling coordinates come first."""
    input_key, label_key = jax.random.split(key)
    labels = jax.random.rademacher(label_key, (replicas * count,), float).reshape(replicas, count)
    x = normals(input_key, replicas * count * model.dimension).reshape(replicas, count, model.dimension)
    stretch = (1 + model.Delta * labels).astype(x.dtype)[..., None]
    telling = jnp.arange(model.dimension) < model.signal
    return jnp.where(telling, stretch * x, x), labels.T


def run_block(
    model: NeuronModel, block: Block, a: Float[Array, "n r"], first_step: Int[Array, ""], active: Int[Array, ""]
) -> Progress:
    """The first `active` steps of a block: theta += s_k [(y - f) grad sigma_* - lambda theta] for all that is trained."""
    batch, d = model.batch, model.dimension
    b, N, replicas = block.moving.shape
    steps = b // batch

    def step(
        carry: tuple[Array, Array, Array], inputs: tuple[Array, Array, Array, Array]
    ) -> tuple[tuple[Array, Array, Array], Array]:
        base, pi, a = carry
        s, labels, fixed, gram = inputs
        size = model.step_size(first_step + s, s < active)
        kept = 1 - model.decay * size
        fields = fixed + pi * jax.lax.dynamic_slice_in_dim(base, s * batch, batch)  # (batch, n, r)
        values = model.activation(fields)
        error = (labels - jnp.mean(a * values, axis=1))[:, None]
        rows = size * d / (batch * kept * pi) * a * model.activation.derivative(fields) * error
        if model.train_a:
            a = kept * a + size / batch * jnp.sum(values * error, axis=0)
        if steps > 1 and (model.train_w or model.train_b):  # later samples of the block see the new parameters
            base = sum((gram[i][:, None] * rows[i] for i in range(batch)), base)
        return (base, kept * pi, a), rows

    inputs = (
        jnp.arange(steps),
        block.labels.reshape(steps, batch, replicas),
        block.fixed.reshape(steps, batch, N, replicas),
        block.gram.reshape(steps, batch, b, replicas),
    )
    (_, pi, a), rows = jax.lax.scan(step, (block.moving, jnp.ones(()), a), inputs)
    return Progress(rows.reshape(b, N, replicas), pi, a)


def observed(model: NeuronModel, network: Network) -> Seen:
    """Parameters, norms, and the risk of every replica."""
    s0, sheet = model.signal, network.weights / jnp.sqrt(1.0 * model.dimension)

    def risk(one: tuple[Array, Array, Array]) -> Array:
        weights, bias, a = one
        return neuron_risk(model.activation, model.Delta, a, bias, weights[:, :s0], weights[:, s0:])

    risks = jax.lax.map(risk, (sheet, network.bias.T, network.a.T))
    return Seen(network.a.T, network.bias.T, *norms(network.weights, s0), risks)


def _learned(
    model: NeuronModel,
    network: Network,
    X: Float32[Array, "r b d"],
    labels: Float[Array, "b r"],
    first_step: Int[Array, ""],
    active: Int[Array, ""],
) -> Network:
    """The network after the first `active` steps on these samples, without noise."""
    d = model.dimension
    progress = run_block(model, _block(model, network, X, labels), network.a, first_step, active)
    rows, factor = progress.rows, progress.factor
    weights, bias = network.weights, network.bias
    if model.train_w:
        C = jnp.moveaxis(rows, -1, 0) / jnp.sqrt(1.0 * d)
        weights = factor * (weights + jnp.swapaxes(C, 1, 2).astype(X.dtype) @ X)
    if model.train_b:
        bias = factor * (bias + jnp.sum(rows, axis=0) / d)
    return Network(weights, bias, progress.a)


def _block(model: NeuronModel, network: Network, X: Float32[Array, "r b d"], labels: Float[Array, "b r"]) -> Block:
    """Preactivations in float64 and the Gram matrix, replica by replica."""
    d = model.dimension

    def one(inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        x, weights = inputs
        return x.astype(float) @ weights.T / jnp.sqrt(1.0 * d), x @ x.T

    products, squares = (jnp.moveaxis(part, 0, -1) for part in jax.lax.map(one, (X, network.weights)))
    zero, offsets = jnp.zeros_like(products), jnp.broadcast_to(network.bias, products.shape)
    moving = (products if model.train_w else zero) + (offsets if model.train_b else zero)
    gram = (squares.astype(float) * model.train_w + model.train_b) / d
    return Block(labels, products + offsets - moving, moving, gram)


def _shaken(model: NeuronModel, network: Network, noise: Network, size: Float[Array, ""]) -> Network:
    """Gaussian noise of variance v s_k on every trained parameter in the scaling of section c."""
    spread = jnp.sqrt(model.variance * size)
    return Network(
        network.weights + spread * model.dimension**0.5 * model.train_w * noise.weights,
        network.bias + spread * model.train_b * noise.bias,
        network.a + spread * model.train_a * noise.a,
    )
