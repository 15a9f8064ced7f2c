"""Accounts with a memory: every time depends on all earlier ones."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

from jaxtyping import Array, Key
from threadpoolctl import threadpool_limits

from dimfree.description.contract import Ask, Description, M, Piece, Reached, S, Times, Values
from dimfree.programs.spread import spread
from dimfree.system import cores


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

    def at_once(self, model: M) -> bool:
        """Whether replicas run at the same time, one on every core; each must then use one core only."""
        return False

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Replica by replica, or as many at once as there are cores."""
        count, together = self.replicas(model, ask.replicas), cores() if self.at_once(model) else 1
        for first in range(ask.reached.upto, count, together):
            numbers = range(first, min(first + together, count))
            for number, seen in zip(numbers, self._group(model, start, ask, numbers), strict=True):
                values = {name: x[:, None] for name, x in seen.items()}
                yield Piece(values, "replica", (number + 1) / count, Reached(number + 1))

    def _group(self, model: M, start: S, ask: Ask, numbers: range) -> list[Mapping[str, Values]]:
        def one(number: int) -> Mapping[str, Values]:
            return self.replica(model, start, ask.times, ask.key, number)

        if len(numbers) == 1:
            return [one(numbers[0])]
        with threadpool_limits(1):  # set once for all threads, which would otherwise set and reset each other's limit
            return spread(one, numbers)
