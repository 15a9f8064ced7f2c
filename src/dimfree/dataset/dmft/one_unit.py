"""Dynamical mean-field theory of one unit (docs/theory/dmft.md).

With the square loss and two clusters or a linear teacher every average closes and the solution is exact (section 4); all
other losses are solved with paths (section 3), whose replicas are independent ensembles: the spread between them is the
error bar. The responses R and K take longer than everything else together.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Int, Key

from dimfree.dataset.dataset_model import DataSetModel, in_words
from dimfree.dataset.dmft.floats import Floats
from dimfree.dataset.dmft.kernels import kernels
from dimfree.dataset.dmft.paths import fewest_paths, memory, solve_ensemble
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.dataset.spectrum import require_stable
from dimfree.description import Cost, Times, Values
from dimfree.errors import DivergenceError, RefusalError
from dimfree.functions.loss import Square
from dimfree.problem import Problem

_EXACT = ("two-clusters", "linear-teacher")
_WITH_RESPONSES = 200  # steps; beyond, the derivative process takes too long to be worth it (section 3.5)


class OneUnit(NamedTuple):
    """The theory of a single unit, with the numbers of its description."""

    paths: int
    ensembles: int
    responses: bool | None  # whether R and K are computed; None: for smooth losses, up to 200 steps

    def refuses(self, problem: Problem, model: DataSetModel) -> str | None:
        """Refuse responses without a second derivative of the loss, and rates that diverge, naming the largest stable rate."""
        if not self.responses or _is_smooth(model.limit):
            return _unstable(model.limit)
        smooth = (
            "'huber' and training.threshold"
            if model.limit.loss.of_residual
            else "'smooth-hinge' and training.smoothing"
        )
        return (
            f"the {model.limit.loss.name} loss has no second derivative, which the response needs; "
            f"set training.loss = {smooth} to a small width."
        )

    def cost(self, problem: Problem, model: DataSetModel) -> Cost:
        """The cost is cubic in the number of steps, or quadratic without responses."""
        T = problem.steps(problem.run.until)
        if is_exact(model.limit):
            return Cost(1.5 + 5e-9 * T**3, T, 8.0 * 30 * T**2)
        paths, responses = self._paths(T), self._with_responses(model.limit, T)
        each = 4e-9 * T**2 + (6e-11 * T**3 if responses else 0.0)
        return Cost(2.0 + self.ensembles * paths * each, T, memory(T, paths, self.ensembles, responses))

    def replicas(self, model: DataSetModel, asked: int) -> int:
        """Ensembles of paths are the replicas: their spread is the error bar of the theory. An exact solution is a single one."""
        return 1 if is_exact(model.limit) else self.ensembles

    def warns(self, problem: Problem, model: DataSetModel) -> tuple[str, ...]:
        return ()

    def replica(
        self, model: DataSetModel, start: object, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """One ensemble: every step up to the last time, of which the asked ones are returned."""
        limit, at = model.limit, np.rint(times / float(model.limit.eta)).astype(int)
        steps = int(at[-1])
        if is_exact(limit):
            solution = {name: np.asarray(values) for name, values in solve(limit, steps)._asdict().items()}
        else:
            responses = self._with_responses(limit, steps)
            with in_words():
                found = solve_ensemble(limit, steps, key, self._paths(steps), self.ensembles, responses, number)
            solution = {name: values[0] for name, values in found._asdict().items() if values is not None}
        if "K" in solution:
            solution |= kernels(Floats.of(limit), solution["K"], solution["M"])._asdict()
        return _at_times(solution, at, limit.has_classes)

    def _paths(self, steps: int) -> int:
        return max(self.paths, fewest_paths(steps))

    def _with_responses(self, limit: MultiPassModel, steps: int) -> bool:
        if self.responses is None:
            return steps <= _WITH_RESPONSES and _is_smooth(limit)
        return self.responses


def _at_times(solution: Mapping[str, Values], at: Int[np.ndarray, " t"], has_classes: bool) -> dict[str, Values]:
    """The observables at the asked steps."""
    one_time = {"m": "m", "train_loss": "train_loss", "risk": "generalisation_error", "lambda_hat": "lambda_hat"}
    if has_classes:
        one_time["train_accuracy"] = "train_accuracy"
    two_time = {"C": "C", "R": "R", "K": "K", "M_R": "memory", "M_C": "noise"}
    seen = {name: np.asarray(solution[key])[at] for name, key in one_time.items() if key in solution}
    both = {name: np.asarray(solution[key])[np.ix_(at, at)] for name, key in two_time.items() if key in solution}
    return seen | both


def _unstable(limit: MultiPassModel) -> str | None:
    """Why the square loss diverges at this rate; None if it does not, or if the limit is not known."""
    if not is_exact(limit):
        return None
    try:
        with in_words():
            require_stable(limit)
    except RefusalError:  # the limit is not known
        return None
    except DivergenceError as failure:
        return str(failure)
    return None


def _is_smooth(limit: MultiPassModel) -> bool:
    return limit.loss.smooth or limit.task == "phase-retrieval"


def is_exact(limit: MultiPassModel) -> bool:
    """Whether every average closes."""
    return isinstance(limit.loss, Square) and limit.task in _EXACT
