"""Dynamical mean-field theory of multi-pass SGD as a description (docs/theory/dmft.md).

With the square loss and two clusters or a linear teacher every average closes and the solution is exact (section 4); all
other losses are solved with paths (section 3), whose replicas are independent ensembles: the spread between them is the
error bar. Responses R and K cost more than all the rest.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.description import Cost, DataSetDescription
from dimfree.errors import DivergenceError, RefusalError
from dimfree.dataset.words import DataSetModel, dataset_model
from dimfree.functions.loss import Square
from dimfree.dataset.model import MultiPassModel
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.dmft.kernels import kernels
from dimfree.dataset.dmft.numbers import Numbers
from dimfree.dataset.dmft.paths import fewest_paths, memory, solve_paths
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.spectrum import require_stable

_EXACT = ("two-clusters", "linear-teacher")
_WITH_RESPONSES = 200  # steps; beyond, the derivative process takes too long to be worth it (section 3.5)


class DMFT(DataSetDescription):
    """The limit of infinite dimension at a fixed number of samples per dimension and of steps."""

    name: ClassVar[str] = "dmft"
    summary: ClassVar[str] = (
        "multi-pass SGD in infinite dimension: dynamical mean-field theory, exact for the square loss"
    )
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020", "gerbelot2024")
    paths: int = 4000
    ensembles: int = 4
    responses: bool | None = None  # R and K; None: for smooth losses, up to 200 steps

    def refuses(self, problem: DataSetProblem) -> str | None:
        """The response of a path needs the second derivative of the loss; a rate that diverges is named with its limit."""
        letters = dataset_model(problem).letters
        if not self.responses or _is_smooth(letters):
            return _unstable(letters)
        return (
            f"the {letters.loss.name} loss has no second derivative, which the response needs; "
            "set training.loss = 'smooth-hinge' and training.smoothing to a small width."
        )

    def cost(self, problem: DataSetProblem) -> Cost:
        """Cubic in the number of steps, quadratic without responses."""
        letters, T = dataset_model(problem).letters, problem.steps(problem.run.until)
        if is_exact(letters):
            return Cost(2.0 + 5e-9 * T**3, T, 1e8 + 8.0 * 30 * T**2)
        paths, responses = self._paths(T), self._with_responses(letters, T)
        each = 4e-9 * T**2 + (6e-11 * T**3 if responses else 0.0)
        return Cost(2.0 + self.ensembles * paths * each, T, memory(T, paths, self.ensembles, responses))

    def advance(
        self, model: DataSetModel, state: tuple[int, Key[Array, ""]], times: Float[Array, " t"]
    ) -> tuple[tuple[int, Key[Array, ""]], dict[str, Any]]:
        """Every step up to the last time; the asked ones are returned, with ensembles as replicas."""
        letters, (_, key) = model.letters, state
        at = np.rint(np.asarray(times) / float(letters.eta)).astype(int)
        steps = int(at[-1])
        if is_exact(letters):
            solution = {name: np.asarray(values)[None] for name, values in solve(letters, steps)._asdict().items()}
        else:
            responses = self._with_responses(letters, steps)
            solution = solve_paths(letters, steps, key, self._paths(steps), self.ensembles, responses)._asdict()
        if solution["K"] is not None:
            solution |= kernels(Numbers.of(letters), solution["K"], solution["M"])._asdict()
        return state, _seen(solution, at, letters.has_classes)

    def _paths(self, steps: int) -> int:
        return max(self.paths, fewest_paths(steps))

    def _with_responses(self, letters: MultiPassModel, steps: int) -> bool:
        if self.responses is None:
            return steps <= _WITH_RESPONSES and _is_smooth(letters)
        return self.responses


def _seen(solution: dict[str, Any], at: Any, has_classes: bool) -> dict[str, Any]:
    """What there is at the asked steps, with the time first and ensembles as replicas."""
    one_time = {"m": "m", "train_loss": "train_loss", "risk": "generalisation_error", "lambda_hat": "lambda_hat"}
    if has_classes:
        one_time["train_accuracy"] = "train_accuracy"
    two_time = {"C": "C", "R": "R", "K": "K", "M_R": "memory", "M_C": "noise"}
    seen = {name: solution[key][:, at].T for name, key in one_time.items() if solution.get(key) is not None}
    for name, key in two_time.items():
        if solution.get(key) is not None:
            seen[name] = np.swapaxes(solution[key][:, at][:, :, at], 0, 1)
    return {name: jnp.asarray(values) for name, values in seen.items()}


def _unstable(letters: MultiPassModel) -> str | None:
    """That the square loss diverges at this rate, where the limit is known."""
    if not is_exact(letters):
        return None
    try:
        require_stable(letters)
    except RefusalError:  # the limit is not known
        return None
    except DivergenceError as failure:
        return str(failure)
    return None


def _is_smooth(letters: MultiPassModel) -> bool:
    return letters.loss.smooth or letters.task == "phase-retrieval"


def is_exact(letters: MultiPassModel) -> bool:
    """Whether every average closes."""
    return isinstance(letters.loss, Square) and letters.task in _EXACT
