"""SGD in blocks, to any step: the path depends on the seed alone, not on the saved times."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from dimfree.description import Dynamics, Evolution, Observed, Times, Values
from dimfree.onepass.rule import OnePassModel, block_steps
from dimfree.onepass.start import Start
from dimfree.problem import Problem

M = TypeVar("M", bound=OnePassModel, contravariant=True)
Network = TypeVar("Network")
COMPILING = 4.0  # CPU seconds to compile the programs of a run
_MANY, _CARRIED = 4, 0.5  # a tail counts as heavy if there are this many replicas and one has this share of their sum


class AtBlock(eqx.Module, Generic[Network]):
    """The network at the start of block number `block`; block n always draws the same samples."""

    network: Network
    block: Int[Array, ""]
    key: Key[Array, ""]


class Blocked(Dynamics[M, Start, AtBlock[Network]], Generic[M, Network]):
    """Real SGD in blocks. A saved state at t is the state after exactly t/dt steps."""

    real: ClassVar[bool] = True

    def steps_per_block(self, model: M) -> int:
        """How many steps one block takes."""
        return block_steps(model.batch)

    @abstractmethod
    def through_block(
        self, model: M, network: Network, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> Network:
        """The network after the first `active` steps of a block."""

    @abstractmethod
    def look(self, model: M, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Keep what is needed of a network at an asked time."""

    @abstractmethod
    def risks(self, model: M, network: Network) -> Float[Array, " r"]:
        """The risk of every replica."""

    @abstractmethod
    def observe(self, model: M, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        """Observables at all asked times at once."""

    def advance(
        self, model: M, state: AtBlock[Network], times: Float[Array, " t"]
    ) -> tuple[AtBlock[Network], Observed]:
        """Full blocks up to each time, then the beginning of the next one; times must not decrease."""
        size = self.steps_per_block(model)

        def to_time(now: AtBlock[Network], time: Array) -> tuple[AtBlock[Network], PyTree[Array]]:
            step = jnp.rint(time / model.time_step).astype(int)
            target = step // size

            def block(n: Array, network: Network) -> Network:
                key = jax.random.fold_in(now.key, n)
                return self.through_block(model, network, n, key, jnp.minimum(step - n * size, size))

            def stretch(network: Network, ends: Array) -> tuple[Network, Network]:
                network = jax.lax.fori_loop(ends[0], ends[1], block, network)
                return network, network

            # full blocks first; then the one the step lies in, whose start is kept and whose beginning is what is seen
            ends = jnp.stack([jnp.stack([now.block, target]), jnp.stack([target, target + 1])])
            seen, networks = jax.lax.scan(stretch, now.network, ends)
            kept = jax.tree.map(lambda x: x[0], networks)
            return AtBlock(kept, target, now.key), self.look(model, seen)

        state, looks = jax.lax.scan(to_time, state, times)
        return state, self.observe(model, looks)


def steps_taken(problem: Problem, size: int) -> int:
    """All steps that blocks of this size compute: full blocks to the end, and at every saved time the one that it lies in."""
    return size * (problem.steps(problem.run.until) // size + len(problem.times))


class BlockedSGD(Blocked[M, Network], Evolution[M, Start, AtBlock[Network]], Generic[M, Network]):
    """The account of real SGD."""

    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True

    def warns(self, problem: Problem, model: M, seen: Mapping[str, Values]) -> tuple[str, ...]:
        """A mean risk that one replica carries."""
        return tuple(_heavy_tail(seen["risk"], problem.times))


def _heavy_tail(risk: Values, times: Times) -> Iterator[str]:
    """Where one replica of many has more than half of the sum of all risks, its mean and error bar say little."""
    replicas = risk.shape[1]
    total = risk.sum(axis=1)
    share = np.where(total > 0, risk.max(axis=1) / np.where(total > 0, total, 1.0), 0.0)
    worst = int(np.argmax(share))
    if replicas >= _MANY and share[worst] > _CARRIED:
        yield (
            f"one of {replicas} replicas has {100 * share[worst]:.0f} % of the mean risk at t = {times[worst]:.3g}: the tail is "
            "heavy, and mean and error bar say little; look at the median, or raise run.replicas."
        )
