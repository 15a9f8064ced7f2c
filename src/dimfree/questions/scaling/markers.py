"""Real SGD beside the equivalent: a projection for every seed, each with its exact mean (docs/theory/scaling.md, section 5)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.comparison.run import simulate, solve
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.problem import OnePassProblem
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.questions.scaling.theory import Law

_SIZES = (16, 32, 64, 128)
_MOST_DRAWN = 20_000_000  # entries of the largest projection that is drawn
_RUNS = 8  # runs of SGD per projection
_STEPS = (30, 300, 3000)


class Markers(NamedTuple):
    """Mean risks of SGD for every projection, after some steps, and the exact means of the same projections."""

    sizes: Float[np.ndarray, " d"]
    steps: Float[np.ndarray, " t"]
    sgd: Float[np.ndarray, "d seed t"]
    exact: Float[np.ndarray, "d seed t"]

    def z_scores(self) -> Float[np.ndarray, "d t"]:
        """How many standard errors (over projections) SGD lies above the exact means of the same projections."""
        off = self.sgd / self.exact - 1
        count = off.shape[1]
        error = off.std(axis=1, ddof=1) / np.sqrt(count) if count > 1 else np.full(off.shape[::2], np.nan)
        return np.asarray(off.mean(axis=1) / error)


def markers(law: Law, problem: OnePassProblem, seeds: int, watch: PartWatcher) -> Markers:
    """SGD in the eigenbasis of each projection, which is exact in law; of a table, SGD on its rows."""
    assert isinstance(problem.data, ProjectedData)
    data = problem.data
    by = "sgd-eigenbasis" if data.pool is None else "projected-rows"
    sizes = [size for size in _SIZES if size < data.inputs_of(size) <= _MOST_DRAWN // size]
    sgd, exact = np.empty((2, len(sizes), seeds, len(_STEPS)))
    for row, size in enumerate(sizes):
        gamma = law.gamma(size)
        times = tuple(step * gamma / size for step in _STEPS)
        for seed in range(seeds):
            watch(f"real SGD, size {size}", (row * seeds + seed) / (len(sizes) * seeds))
            one = problem.replace(
                **{
                    "dimension": size,
                    "training.learning_rate": gamma,
                    "run": Run(replicas=_RUNS, times=times, seed=problem.run.seed + seed),
                }
            )
            sgd[row, seed] = simulate(one, by=by)["risk"].values[1:].mean(axis=1)
            exact[row, seed] = solve(one, by="projected-mean")["risk"].values[1:, 0]
    return Markers(np.array(sizes, float), np.array(_STEPS, float), sgd, exact)
