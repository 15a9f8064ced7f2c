"""When real SGD leaves mediocrity: the first step at which the risk of a replica has lost a given part.

Every replica has its own start, because exit times are averages over starts (docs/theory/committee.md, section 6). The
risk is looked at every `stride` steps, at most a block apart, and the crossing is interpolated linearly between two looks.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Description
from dimfree.onepass.model import Model
from dimfree.gaussian.moments import risk
from dimfree.gaussian.overlaps import Overlaps
from dimfree.onepass.start import Start, draw_start
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.real.walk import Walk, Walker


class Passage(eqx.Module):
    """Replicas on their way out: the network at the last full block, the last look, and who left when (infinite: not yet)."""

    walk: Walk[Any]
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
        return Start(overlaps, jnp.concatenate([W, W_star]))

    return jax.vmap(one)(keys)


@eqx.filter_jit
def begin_passage(
    walker: Walker, model: Model, starts: Start, threshold: Float[Array, ""] | float, key: Key[Array, ""]
) -> Passage:
    """One replica at each start."""
    walk: Walk[Any] = scattered(walker, model, starts, key)
    risks = _risks(walker, model, walk.network)
    return Passage(walk, jnp.zeros((), int), risks, (1 - threshold) * risks, jnp.full_like(risks, jnp.inf))


@eqx.filter_jit
def advance_passage(
    walker: Walker, model: Model, passage: Passage, horizon: Float[Array, ""], stride: Int[Array, ""]
) -> Passage:
    """Walk until every replica has left or `horizon` is reached."""
    size, dt = walker.steps_per_block(model), model.time_step
    last = jnp.rint(horizon / dt).astype(int)

    def busy(now: Passage) -> Array:
        return (now.step < last) & jnp.any(jnp.isinf(now.exits))

    def look(now: Passage) -> Passage:
        """The same block again, a stride further: a block always draws the same samples."""
        block = now.walk.block
        done = now.step - block * size
        active = jnp.minimum(jnp.minimum(done + stride, size), last - block * size)
        seen = walker.walk_block(model, now.walk.network, block, jax.random.fold_in(now.walk.key, block), active)
        over = active == size
        network = jax.tree.map(lambda new, old: jnp.where(over, new, old), seen, now.walk.network)
        risks, step = _risks(walker, model, seen), block * size + active
        crossed = (risks <= now.levels) & jnp.isinf(now.exits)
        part = (now.risks - now.levels) / jnp.where(crossed, now.risks - risks, 1.0)
        exits = jnp.where(crossed, dt * (now.step + part * (step - now.step)), now.exits)
        return Passage(Walk(network, block + over, now.walk.key), step, risks, now.levels, exits)

    return jax.lax.while_loop(busy, look, passage)


def stride_for(walker: Walker, model: Model, resolution: float) -> Int[Array, ""]:
    """The steps between two looks: as many as fit into the time `resolution`, at least one and at most a block."""
    steps = jnp.floor(resolution / model.time_step)
    return jnp.clip(steps, 1, walker.steps_per_block(model)).astype(int)


def scattered(one: Description, model: Model, starts: Start, key: Key[Array, ""]) -> Any:
    """A state whose replicas begin at different starts: what has a replica axis is stacked, the rest is shared."""
    first = jax.tree.map(lambda x: x[0], starts)
    single, double = (eqx.filter_eval_shape(one.begin, model, first, replicas, key) for replicas in (1, 2))
    each = jax.vmap(lambda start: one.begin(model, start, 1, key))(starts)

    def together(values: Array, alone: Any, pair: Any) -> Array:
        axes = [axis for axis, (n, m) in enumerate(zip(alone.shape, pair.shape, strict=True)) if n != m]
        return jnp.squeeze(jnp.moveaxis(values, 0, axes[0]), axes[0] + 1) if axes else values[0]

    return jax.tree.map(together, each, single, double)


def _risks(walker: Walker, model: Model, network: Any) -> Float[Array, " r"]:
    return jax.vmap(lambda state: risk(model, state))(walker.overlaps(model, network))
