"""Real training of networks on data sets, as descriptions ask for it: one start, and data and batches for every replica."""

from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from dimfree.dataset.committee.descent import run_memory, run_network
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.protocol import IN_GROUPS
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.theory import MOST_PAIRS, observed
from dimfree.description import Cost, Times, Values
from dimfree.problem import Problem
from dimfree.system import cores


class RealNetwork(NamedTuple):
    """The experiment of a network."""

    def refuses(self, problem: Problem, model: CommitteeModel) -> str | None:
        """Nothing."""
        return None

    def cost(self, problem: Problem, model: CommitteeModel) -> Cost:
        """Two products with the data matrix a step, and its draw; several data sets are in memory at once."""
        steps, replicas, b = problem.steps(problem.run.until), problem.run.replicas, float(model.b)
        entries, share = float(model.alpha) * model.d**2, b if model.protocol in IN_GROUPS else 1.0
        samples = float(model.alpha) * model.d * model.width
        seconds = 2.0 + replicas * (entries * (1.2e-8 + 8e-10 * share * steps) + 6e-8 * samples * steps)
        return Cost(seconds, steps, min(cores(), replicas) * run_memory(model, len(problem.times)))

    def replicas(self, model: CommitteeModel, asked: int) -> int:
        """As many data sets as asked for."""
        return asked

    def warns(self, problem: Problem, model: CommitteeModel) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def replica(
        self, model: CommitteeModel, start: CommitteeStart, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """One data set, at the asked times."""
        at = np.rint(times / float(model.eta)).astype(int)
        found = run_network(model, start, at, jax.random.fold_in(key, number))
        seen = {name: getattr(found, name) for name in ("M", "Q", "a", "train_loss", "train_error", "bias")}
        return observed(model, seen) | ({"C": found.C} if model.width <= MOST_PAIRS else {})
