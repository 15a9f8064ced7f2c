"""Real SGD with momentum: on vectors, and exact in law on overlaps (docs/theory/structured.md, section 4.2)."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Dynamics
from dimfree.onepass.real.block import Samples
from dimfree.onepass.real.block_chain import BlockChain, BlockNetwork, Parts, drawn_samples
from dimfree.onepass.real.blocked import AtBlock
from dimfree.onepass.real.momentum_block import MovingProgress, MovingScalars, run_moving_block
from dimfree.onepass.real.vectors import VectorSGD, drawn_inputs, products
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.onepass.weights import Network, Scalars
from dimfree.states.blocks import with_velocities


class MovingNetwork(Network):
    """A network, and how fast all of it moves."""

    velocities: Float[Array, "r p d"]
    moving: MovingScalars


class MomentumSGD(VectorSGD):
    """The program of `sgd` with momentum."""

    def twin(self, model: OnePassModel) -> tuple[Dynamics[Any, Start, Any], OnePassModel]:
        """This model itself."""
        return self, model

    def begin(self, model: OnePassModel, start: Start, replicas: int, key: Key[Array, ""]) -> AtBlock[Network]:
        at = VectorSGD().begin(model, start, replicas, key)
        network = at.network
        moving = MovingScalars(network.scalars, *(jnp.zeros_like(x) for x in network.scalars[:2]))
        velocities = jnp.zeros_like(network.students)
        return AtBlock(
            MovingNetwork(network.students, network.teachers, network.scalars, velocities, moving), at.block, key
        )

    def through_block(
        self, model: OnePassModel, network: Network, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Network:
        """Matrix products for the whole block, small sequential updates, one rank-b update of weights and velocities."""
        assert isinstance(network, MovingNetwork)
        p, (R, _, d) = model.width, network.students.shape
        X, hidden = drawn_inputs(model, key, R, self.steps_per_block(model) * model.batch, network.teachers)
        both = Network(
            jnp.concatenate([network.students, network.velocities], axis=1), network.teachers, network.scalars
        )
        fields, gram = products(X, both)
        samples = Samples(fields[:, :p], model.law.label(fields[:, 2 * p :], hidden), gram)
        first = block * self.steps_per_block(model)
        progress = run_moving_block(model, samples, fields[:, p : 2 * p], network.moving, first, active)
        T, W, V = progress.T, network.students, network.velocities
        moved = [
            T[row, 0] * W + T[row, 1] * V + (jnp.transpose(C, (2, 1, 0)) / jnp.sqrt(1.0 * d)).astype(X.dtype) @ X
            for row, C in enumerate(progress.coefficients)
        ]
        return MovingNetwork(moved[0], network.teachers, progress.scalars.at, moved[1], progress.scalars)


class MovingBlocks(BlockNetwork):
    """Overlaps of students, their velocities and teachers; velocities of what neurons have beside their weights."""

    moving_a: Float[Array, "r *outputs p"]
    moving_bias: Float[Array, "r p"]


class MomentumChain(BlockChain):
    """The program of `chain` with momentum: the same chain on 2p + k vectors."""

    def begin(self, model: StructuredModel, start: Start, replicas: int, key: Key[Array, ""]) -> AtBlock[BlockNetwork]:
        at = super().begin(model, start, replicas, key)
        network = at.network
        Omega, still = (
            with_velocities(network.Omega, model.width),
            [jnp.zeros_like(x) for x in (network.a, network.bias)],
        )
        return AtBlock(MovingBlocks(Omega, network.a, network.bias, network.norms, *still), at.block, key)

    def through_block(
        self,
        model: StructuredModel,
        network: BlockNetwork,
        block: Int[Array, ""],
        key: Key[Array, ""],
        active: Int[Array, ""],
    ) -> BlockNetwork:
        """Draw fields and Gram matrices from their exact law, run SGD on them, update the overlaps of every block."""
        assert isinstance(network, MovingBlocks)
        p = model.width
        parts, fields, samples = drawn_samples(model, network.Omega, key)
        scalars = Scalars(jnp.moveaxis(network.a, 0, -1), network.bias.T, network.norms.T)
        moving = MovingScalars(scalars, jnp.moveaxis(network.moving_a, 0, -1), network.moving_bias.T)
        first = block * self.steps_per_block(model)
        progress = run_moving_block(model, samples, fields[:, p : 2 * p], moving, first, active)
        after = progress.scalars
        Omega = _updated(model, network.Omega, parts, progress)
        a, moving_a = (jnp.moveaxis(x, -1, 0) for x in (after.at.a, after.a))
        return MovingBlocks(Omega, a, after.at.bias.T, network.norms, moving_a, after.bias.T)


def _updated(
    model: StructuredModel, Omega: Float[Array, "r b n n"], parts: Parts, progress: MovingProgress
) -> Float[Array, "r b n n"]:
    """(W, v, W*) goes to B (W, v, W*) + Cᵀ X: its overlaps for every eigenvalue."""
    p, k, d = model.width, model.units, model.dimension
    B = jax.scipy.linalg.block_diag(jnp.kron(progress.T, jnp.eye(p)), jnp.eye(k))
    C = jnp.pad(jnp.concatenate([*progress.coefficients], axis=1), ((0, 0), (0, k), (0, 0)))
    C_T = jnp.transpose(C, (2, 1, 0))[:, None]  # (r, 1, n, m)
    linear = C_T @ parts.fields @ B.T / d
    square = C_T @ parts.gram @ jnp.swapaxes(C_T, -1, -2) / d
    return B @ Omega @ B.T + linear + jnp.swapaxes(linear, -1, -2) + square
