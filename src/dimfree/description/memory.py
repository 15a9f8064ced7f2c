"""Accounts with a memory: every time depends on all earlier ones."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from jaxtyping import Array, Key

from dimfree.description.contract import Ask, Description, M, Piece, Reached, S, Times, Values


class Memory(Description[M, S]):
    """All times at once, one independent replica (data set, ensemble) after another."""

    @abstractmethod
    def replica(self, model: M, start: S, times: Times, key: Key[Array, ""], number: int) -> Mapping[str, Values]:
        """Give one replica at all times.

        **Arguments:**

        - `model`: The problem in letters.
        - `start`: What the setting's start function returned.
        - `times`: The asked times.
        - `key`: The source of all randomness, the same for every replica.
        - `number`: Which replica, counted from 0. What is drawn depends on `key` and `number` alone.

        **Returns:**

        Observables by name, with the time as their first axis and none for replicas.
        """

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Replica by replica."""
        count = self.replicas(model, ask.replicas)
        for number in range(ask.reached.upto, count):
            seen = self.replica(model, start, ask.times, ask.key, number)
            values = {name: x[:, None] for name, x in seen.items()}
            yield Piece(values, "replica", (number + 1) / count, Reached(number + 1))
