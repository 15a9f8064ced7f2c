"""Real SGD beside the equivalent: a projection for every seed, each with its exact mean (docs/theory/scaling.md, section 5)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dimfree.comparison.run import simulate, solve
from dimfree.onepass.kinds.projection.section.behind import ProjectedData
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.projected.schedules import written
from dimfree.problem import Run
from dimfree.progress import PartWatcher
from dimfree.questions.scaling.theory import Law

_SIZES = (16, 32, 64, 128, 256, 512)
_MOST_DRAWN = 20_000_000  # entries of the largest projection that is drawn
_RUNS = 8  # runs of SGD per projection
_LOOKS, _FEWEST_STEPS, _MOST_STEPS = 3, 10, 3000


class Markers(NamedTuple):
    """Mean risks of SGD for every projection after some steps, with standard errors, and exact means of the same projections."""

    sizes: Float[np.ndarray, " d"]
    steps: Float[np.ndarray, "d t"]
    sgd: Float[np.ndarray, "d seed t"]
    error: Float[np.ndarray, "d seed t"]
    exact: Float[np.ndarray, "d seed t"]

    def z_scores(self) -> Float[np.ndarray, "d t"]:
        """How many standard errors (over runs) SGD lies above the exact means of the same projections, averaged over these."""
        off, error = self.sgd / self.exact - 1, self.error / self.exact
        return np.asarray(off.sum(axis=1) / np.sqrt((error**2).sum(axis=1)))


def markers(law: Law, problem: OnePassProblem, compute: tuple[float, float], seeds: int, watch: PartWatcher) -> Markers:
    """SGD in the eigenbasis of each projection, which is exact in law; of a table, SGD on its rows. Budgets lie in a range."""
    assert isinstance(problem.data, ProjectedData)
    data = problem.data
    by = "sgd-eigenbasis" if data.pool is None else "projected-rows"
    looks = {
        size: _steps(compute[0] / (size * law.batch), compute[1] / (size * law.batch))
        for size in _SIZES
        if size < data.inputs_of(size) <= _MOST_DRAWN // size
    }
    looks = {size: steps for size, steps in looks.items() if steps}
    sgd, error, exact = np.empty((3, len(looks), seeds, _LOOKS))
    for row, (size, steps) in enumerate(looks.items()):
        runs = [(step,) for step in steps] if law.schedule != "constant" else [steps]
        for seed in range(seeds):
            watch(f"real SGD, size {size}", (row * seeds + seed) / (len(looks) * seeds))
            ones = [_problem(law, problem, size, run, problem.run.seed + seed) for run in runs]
            seen = np.concatenate([simulate(one, by=by)["risk"].values[1:] for one in ones])
            sgd[row, seed], error[row, seed] = seen.mean(axis=1), seen.std(axis=1, ddof=1) / np.sqrt(_RUNS)
            exact[row, seed] = np.concatenate([solve(one, by="projected-mean")["risk"].values[1:, 0] for one in ones])
    steps_of = np.array(list(looks.values()), float).reshape(len(looks), _LOOKS)
    return Markers(np.array(list(looks), float), steps_of, sgd, error, exact)


def _steps(first: float, last: float) -> tuple[int, ...]:
    """Numbers of steps at which a size is looked at, spread over the budgets; none if these leave no room."""
    low, high = max(first, _FEWEST_STEPS), min(last, _MOST_STEPS)
    return tuple(np.rint(np.geomspace(low, high, _LOOKS)).astype(int).tolist()) if high > 2 * low else ()


def _problem(law: Law, problem: OnePassProblem, size: int, steps: tuple[int, ...], seed: int) -> OnePassProblem:
    """One projection, looked at after these steps; its schedule ends with the last."""
    one = problem.replace(**{"dimension": size, "training.learning_rate": law.gamma(size)})
    times = tuple(step * one.time_step for step in steps)
    run = Run(replicas=_RUNS, times=times, seed=seed)
    return one.replace(**{"run": run, "training.schedule": written(law.schedule, times[-1])})
