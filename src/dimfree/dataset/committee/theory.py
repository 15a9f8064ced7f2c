"""The DMFT of a network as a description: exact for linear units, else by ensembles of paths (docs/theory/committee-dmft.md)."""

from collections.abc import Mapping
from typing import NamedTuple, cast

import jax
import numpy as np
from jaxtyping import Array, Float64, Int, Key

from dimfree.dataset.committee.linear import solve_linear
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.paths import (
    bias,
    default_paths,
    fewest_paths,
    memory,
    no_response,
    solve_paths,
)
from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.dataset.committee.response import PATHS
from dimfree.dataset.committee.stability import restless, unstable
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.committee.taught import fresh_errors
from dimfree.description import Cost, Times, Values
from dimfree.problem import Problem
from dimfree.problem.network import canonical_layer
from dimfree.system import cores

_MOST_PATHS = 32_000  # more are not worth their time unless they are asked for
_FEWEST_ENSEMBLES = 12  # fewer underestimate their own error (section 3.3)
_LARGE_BIAS = 0.0101
MOST_PAIRS = 8  # units up to which results have correlations between two times
_WITH_RESPONSES = 200  # steps


class SeveralUnits(NamedTuple):
    """The theory of a network, with the numbers of its description."""

    paths: int
    ensembles: int
    responses: (
        bool | None
    )  # whether R and K are computed; None: where they cost nothing, for linear units up to 200 steps

    def refuses(self, problem: Problem, model: CommitteeModel) -> str | None:
        """A rate at which linear units diverge, and responses of forces that jump; impossible batches are the problem's."""
        if self.responses and not model.linear:
            if not model.smooth:
                return no_response(model)
            if model.width > MOST_PAIRS:
                return (
                    f"responses are known up to {MOST_PAIRS} units, and there are {model.width}; leave responses out."
                )
        if not np.isfinite(float(model.noise_variance)) and not model.loss.bounded:
            return (
                f"the noise has no variance, so that forces of the {model.loss.name} loss have none either; set training.loss = "
                '"huber" or "absolute", or a law with more than two degrees of freedom.'
            )
        return unstable(model, _layer(problem))

    def cost(self, problem: Problem, model: CommitteeModel) -> Cost:
        """Quadratic in the number of steps and of units for paths, cubic in the steps for linear units."""
        T, p = problem.steps(problem.run.until), model.width
        if model.linear:
            return Cost(2.0 + (5e-9 * p**2 + 5e-9) * T**3, T, 8.0 * T**2 * (8 * p**2 + 12))
        paths = self.how_many(model, T)
        each = paths * (2.2e-9 * (p * T) ** 2 + 2e-7 * p * T)
        if self.responses:
            each += min(paths, PATHS) * 5e-10 * (p * T) ** 3 / 3
        taken = memory(model, T, paths, responses=bool(self.responses))
        return Cost(2.0 + self.replicas(model, 0) * each, T, min(cores(), self.replicas(model, 0)) * taken)

    def replicas(self, model: CommitteeModel, asked: int) -> int:
        """Enough ensembles for an error bar; an exact solution is one."""
        return 1 if model.linear else max(self.ensembles, _FEWEST_ENSEMBLES)

    def how_many(self, model: CommitteeModel, steps: int) -> int:
        """How many paths an ensemble has."""
        wished = max(self.paths, min(default_paths(model, steps), _MOST_PATHS))
        return max(wished, fewest_paths(model, steps))

    def warns(self, problem: Problem, model: CommitteeModel) -> tuple[str, ...]:
        """Say how large the bias of the paths may be, where it is above one per cent, and which rate is too large."""
        return tuple(one for one in (restless(model, _layer(problem)), self._biased(problem, model)) if one)

    def _biased(self, problem: Problem, model: CommitteeModel) -> str | None:
        steps = problem.steps(problem.run.until)
        found = 0.0 if model.linear else bias(model, steps, self.how_many(model, steps))
        if found < _LARGE_BIAS:
            return None
        return (
            f"the paths of dmft may have a bias of up to {found:.1%} in the noise of the forces (samples * width * steps / "
            f"paths); use DMFT(paths={default_paths(model, steps)}) for 1 %."
        )

    def replica(
        self, model: CommitteeModel, start: CommitteeStart, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """One ensemble, or the exact solution."""
        at = np.rint(times / float(model.eta)).astype(int)
        steps = int(at[-1])
        if model.linear:
            exact = solve_linear(model, start, steps)
            seen = {name: getattr(exact, name)[at] for name in ("M", "Q", "a", "train_loss")}
            wanted = steps <= _WITH_RESPONSES if self.responses is None else self.responses
            pairs = ("C", "R", "K") if wanted else ("C",)
            return observed(model, seen) | _two_times(model, {name: getattr(exact, name) for name in pairs}, at)
        own, paths = jax.random.fold_in(key, number), self.how_many(model, steps)
        found = solve_paths(model, start, steps, own, paths, responses=bool(self.responses))
        seen = {name: getattr(found, name)[at] for name in ("M", "Q", "a", "train_loss", "train_error", "bias")}
        both = {"C": found.C, "R": found.R, "K": found.K}
        return observed(model, seen) | _two_times(model, {k: v for k, v in both.items() if v is not None}, at)


def observed(model: CommitteeModel, seen: dict[str, Values]) -> dict[str, Values]:
    """What is known at the asked times, with the errors on fresh samples; wrong signs count for classes only."""
    known = {"train_error": model.labels.signs, "bias": model.offsets}
    seen = {name: values for name, values in seen.items() if known.get(name, True)}
    return seen | fresh_errors(model, seen["M"], seen["Q"], seen["a"], seen.get("bias"))


def _layer(problem: Problem) -> Float64[np.ndarray, " p"]:
    """The second layer at the start."""
    return canonical_layer(cast(NetworkProblem, problem).network)


def _two_times(model: CommitteeModel, found: Mapping[str, Values], at: Int[np.ndarray, " t"]) -> dict[str, Values]:
    if model.width > MOST_PAIRS:
        return {}
    return {name: values[np.ix_(at, at)] for name, values in found.items()}
