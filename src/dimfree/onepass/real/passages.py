"""When real SGD leaves mediocrity: the first step at which the risk of a replica has lost a given part.

Every replica has its own start, because exit times are averages over starts (docs/theory/committee.md, section 6). The
risk is looked at every `stride` steps, at most a block apart, and the crossing is interpolated linearly between two looks.
"""

from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Dynamics
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.blocked import AtBlock, BlockedSGD
from dimfree.onepass.rule import OnePassModel
from dimfree.onepass.start import Start, draw_start
from dimfree.states.overlaps import Overlaps

M = TypeVar("M", bound=OnePassModel)
Network = TypeVar("Network")
X = TypeVar("X")


class Passage(eqx.Module, Generic[Network]):
    """Replicas on their way out: the network at the last full block, the last look, and who left when (infinite: not yet)."""

    at: AtBlock[Network]
    step: Int[Array, ""]  # of the last look
    risks: Float[Array, " r"]  # at the last look
    levels: Float[Array, " r"]  # below which a replica has left
    exits: Float[Array, " r"]


def draw_starts(problem: OnePassProblem, key: Key[Array, ""], count: int, *, vectors: bool = False) -> Start:
    """Independent starts on a leading axis. As vectors they share one teacher, which isotropic inputs cannot notice."""
    p, d, keys = problem.network.width, problem.dimension, jax.random.split(key, count)
    teacher = draw_start(problem, keys[0], vectors=vectors).weights

    def one(own: Key[Array, ""]) -> Start:
        start = draw_start(problem, own, vectors=vectors)
        if start.weights is None or teacher is None:
            return start
        W, W_star = start.weights[:p], teacher[p:]
        overlaps = Overlaps(W @ W.T / d, W @ W_star.T / d, start.overlaps.a)
        return Start(overlaps, jnp.concatenate([W, W_star]), start.bias, start.scale)

    return jax.vmap(one)(keys)


@eqx.filter_jit
def begin_passage(
    sgd: BlockedSGD[M, Network], model: M, starts: Start, threshold: Float[Array, ""] | float, key: Key[Array, ""]
) -> Passage[Network]:
    """One replica at each start."""
    at = scattered(sgd, model, starts, key)
    risks = sgd.risks(model, at.network)
    return Passage(at, jnp.zeros((), int), risks, (1 - threshold) * risks, jnp.full_like(risks, jnp.inf))


@eqx.filter_jit
def advance_passage(
    sgd: BlockedSGD[M, Network], model: M, passage: Passage[Network], horizon: Float[Array, ""], stride: Int[Array, ""]
) -> Passage[Network]:
    """Walk until every replica has left or `horizon` is reached."""
    size, dt = sgd.steps_per_block(model), model.time_step
    last = jnp.rint(horizon / dt).astype(int)

    def busy(now: Passage[Network]) -> Array:
        return (now.step < last) & jnp.any(jnp.isinf(now.exits))

    def look(now: Passage[Network]) -> Passage[Network]:
        """The same block again, a stride further: a block always draws the same samples."""
        block = now.at.block
        done = now.step - block * size
        active = jnp.minimum(jnp.minimum(done + stride, size), last - block * size)
        seen = sgd.through_block(model, now.at.network, block, jax.random.fold_in(now.at.key, block), active)
        over = active == size
        network = jax.tree.map(lambda new, old: jnp.where(over, new, old), seen, now.at.network)
        risks, step = sgd.risks(model, seen), block * size + active
        crossed = (risks <= now.levels) & jnp.isinf(now.exits)
        part = (now.risks - now.levels) / jnp.where(crossed, now.risks - risks, 1.0)
        exits = jnp.where(crossed, dt * (now.step + part * (step - now.step)), now.exits)
        return Passage(AtBlock(network, block + over, now.at.key), step, risks, now.levels, exits)

    return jax.lax.while_loop(busy, look, passage)


def stride_for(sgd: BlockedSGD[M, Network], model: M, resolution: float) -> Int[Array, ""]:
    """The steps between two looks: as many as fit into the time `resolution`, at least one and at most a block."""
    steps = jnp.floor(resolution / model.time_step)
    return jnp.clip(steps, 1, sgd.steps_per_block(model)).astype(int)


def scattered(one: Dynamics[M, Start, X], model: M, starts: Start, key: Key[Array, ""]) -> X:
    """A state whose replicas begin at different starts: what has a replica axis is stacked, the rest is shared."""
    first = jax.tree.map(lambda x: x[0], starts)
    single, double = (eqx.filter_eval_shape(one.begin, model, first, replicas, key) for replicas in (1, 2))
    each = jax.vmap(lambda start: one.begin(model, start, 1, key))(starts)

    def together(values: Array, alone: Any, pair: Any) -> Array:
        axes = [axis for axis, (n, m) in enumerate(zip(alone.shape, pair.shape, strict=True)) if n != m]
        return jnp.squeeze(jnp.moveaxis(values, 0, axes[0]), axes[0] + 1) if axes else values[0]

    state: X = jax.tree.map(together, each, single, double)
    return state
