"""Accounts of where training ends: they have no time."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Array, Float

from dimfree.description.contract import Ask, Description, M, Piece, S


class Stationary(Description[M, S]):
    """An account of the end of training: a constant line beside runs, a dataset without time when it is alone."""

    @abstractmethod
    def solve(self, model: M) -> Mapping[str, Float[Array, "..."]]:
        """Say where training ends.

        **Arguments:**

        - `model`: The problem in letters.

        **Returns:**

        Observables by name, without axes of time and replica.
        """

    def account(self, model: M, start: S, ask: Ask) -> Iterator[Piece]:
        """The same at every time."""
        found = {name: np.asarray(x) for name, x in self.solve(model).items()}
        yield Piece({k: np.broadcast_to(x, (len(ask.times), 1, *x.shape)) for k, x in found.items()}, "time", 1.0)
