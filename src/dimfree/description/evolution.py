"""Accounts without a memory: a state at one time decides all later ones."""

from collections.abc import Iterator
from typing import ClassVar, Generic, cast

import jax
import numpy as np

from dimfree.description.contract import Ask, Description, Dynamics, M, PartialStart, Piece, S, X
from dimfree.description.running import chunks, run
from dimfree.errors import DivergenceError

_LENGTHS = 16  # the number of times is rounded up to a multiple of this, so that few compiled programs serve every run


class Evolution(Dynamics[M, S, X], Description[M, S], Generic[M, S, X]):
    """The account of a dynamics, run by its own program or by that of its twin."""

    chunk: ClassVar[int] = 1  # how many times one call of `advance` answers

    def __init_subclass__(cls, **more: object) -> None:
        """Make sure that a subclass of a class with a twin defines a twin itself."""
        super().__init_subclass__(**more)
        if "twin" not in vars(cls) and cls.twin is not Evolution.twin:
            raise TypeError(
                f"{cls.__name__} inherits a twin, whose program would run in place of its own; define twin(self, model) in it, "
                "and return (self, model) to run its own."
            )

    def failure(self, model: M, state: X) -> str | None:
        """Say why a state is no longer to be trusted, for instance because a solver gave up.

        **Arguments:**

        - `model`: The problem in letters.
        - `state`: What `advance` returned.

        **Returns:**

        One sentence, with which the run ends, or `None` while all is well.
        """
        return None

    def twin(self, model: M) -> tuple[Dynamics[M, S, X], M]:
        """Name the dynamics whose program gives this account: a special case of another one need not be compiled itself.

        **Arguments:**

        - `model`: The problem in letters.

        **Returns:**

        A tuple of two objects:

        - The dynamics whose `begin` and `advance` run.
        - The model that they are given.
        """
        return self, model

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """Give the account in chunks of times; the run ends when `failure` returns a sentence."""
        one, numbers = self.twin(model)
        asked = ask._replace(replicas=self.replicas(model, ask.replicas))
        for states, piece in chunks(one, numbers, start, asked, self.chunk):
            if why := next(filter(None, (self.failure(model, state) for state in states)), None):
                raise DivergenceError(why)
            yield piece

    def at_once(self, model: M, start: S, ask: Ask) -> Piece:
        """Give the account of one replica in one call, which takes a third of the time when it is asked again and again.

        **Arguments:** as `account`.

        **Returns:**

        All times in one piece. Its numbers are those of `account` up to the tolerance of a solver.
        """
        one, numbers = self.twin(model)
        seen_by = cast("S", start.only(self.needs)) if isinstance(start, PartialStart) else start
        count = len(ask.times)
        padded = np.pad(ask.times, (0, -count % _LENGTHS), mode="edge")
        state, seen = run(one, numbers, seen_by, jax.device_put(padded), ask.key)
        if why := self.failure(model, state):
            raise DivergenceError(why)
        return Piece({name: np.asarray(x)[:count] for name, x in seen.items()}, "time", 1.0)
