"""Which samples are in the batch at a step: any law that does not look at the data (docs/theory/committee-dmft.md, 1.2)."""

import numpy as np
from jaxtyping import Bool

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.protocol import IN_GROUPS


class Batches:
    """The batches of `count` samples, step by step; `exact` ones have as many samples as expected, for paths (3.2)."""

    def __init__(self, model: CommitteeModel, count: int, rng: np.random.Generator, *, exact: bool) -> None:
        self.protocol, self.b, self.enter, self.leave = model.protocol, float(model.b), model.enter, model.leave
        self.count, self.rng, self.exact = count, rng, exact
        self.inside: Bool[np.ndarray, " count"] = np.ones(count, bool)
        self.groups = self._cut() if self.protocol in IN_GROUPS else np.zeros(count, int)

    def at(self, t: int) -> Bool[np.ndarray, " count"]:
        """Which samples are in the batch of step t; must be called for t = 0, 1, 2, ... in order."""
        number = round(1 / self.b)
        match self.protocol:
            case "one-pass":
                return self.groups == t
            case "twice":
                return self.groups == t // 2
            case "cyclic" | "reshuffle":
                if self.protocol == "reshuffle" and t and t % number == 0:
                    self.groups = self._cut()
                return self.groups == t % number
            case "persistent" if t:
                stay = self._chosen(self.inside, 1 - self.leave)
                self.inside = stay | self._chosen(~self.inside, self.enter)
            case _ if self.b < 1:
                self.inside = self._chosen(np.ones(self.count, bool), self.b)
        return self.inside

    def _cut(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return self.rng.permutation(self.count) % round(1 / self.b)

    def _chosen(self, among: Bool[np.ndarray, " count"], probability: float) -> Bool[np.ndarray, " count"]:
        """Choose each of them with this probability."""
        if not self.exact:
            return among & (self.rng.random(self.count) < probability)
        candidates, chosen = np.flatnonzero(among), np.zeros(self.count, bool)
        size = int(np.floor(probability * candidates.size + self.rng.random()))
        chosen[self.rng.permutation(candidates)[:size]] = True
        return chosen
