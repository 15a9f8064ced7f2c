"""Walking in blocks to any step: the path depends on the seed alone, not on the times at which it is watched."""

from abc import abstractmethod
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Description
from dimfree.onepass.model import block_steps

Weights = TypeVar("Weights")


class Walk(eqx.Module, Generic[Weights]):
    """The network at the start of block number `block`; block n always draws the same samples."""

    network: Weights
    block: Int[Array, ""]
    key: Key[Array, ""]


class Walker(Description):
    """Real SGD in blocks. A saved state at t is the state after exactly t/dt steps."""

    stochastic = True

    def steps_per_block(self, model: Any) -> int:
        """How many steps one block takes."""
        return block_steps(model.batch)

    @abstractmethod
    def walk_block(
        self, model: Any, network: Any, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Any:
        """The network after the first `active` steps of a block."""

    @abstractmethod
    def overlaps(self, model: Any, network: Any) -> Any:
        """Overlaps with a leading replica axis."""

    def advance(self, model: Any, state: Walk[Any], times: Float[Array, " t"]) -> tuple[Walk[Any], Any]:
        """Full blocks up to each time, then the beginning of the next one; times must not decrease."""
        size = self.steps_per_block(model)

        def to_time(walk: Walk[Any], time: Array) -> tuple[Walk[Any], Any]:
            step = jnp.rint(time / model.time_step).astype(int)
            target = step // size

            def block(n: Array, network: Any) -> Any:
                key = jax.random.fold_in(walk.key, n)
                return self.walk_block(model, network, n, key, jnp.minimum(step - n * size, size))

            def stretch(network: Any, ends: Array) -> tuple[Any, Any]:
                network = jax.lax.fori_loop(ends[0], ends[1], block, network)
                return network, network

            # full blocks first; then the one the step lies in, whose start is kept and whose beginning is what is seen
            ends = jnp.stack([jnp.stack([walk.block, target]), jnp.stack([target, target + 1])])
            seen, networks = jax.lax.scan(stretch, walk.network, ends)
            kept = jax.tree.map(lambda x: x[0], networks)
            return Walk(kept, target, walk.key), self.overlaps(model, seen)

        return jax.lax.scan(to_time, state, times)
