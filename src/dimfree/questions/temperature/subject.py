"""What is measured of one unit, and of a network of several: correlations and responses, by theory and by twin runs."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float64, Int, Key

from dimfree.comparison.run import starts_of
from dimfree.dataset.committee.descent import Push, run_network
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.problem import NetworkProblem
from dimfree.dataset.committee.problem_model import network_model
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.dataset_model import DataSetModel, descent_model
from dimfree.dataset.dmft.description import DMFT
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.real.descent import response, simulate_dataset
from dimfree.dataset.revisited import RevisitedModel
from dimfree.errors import RefusalError
from dimfree.questions.temperature.formulas import Stationary, stationary

Values = Float64[np.ndarray, "..."]
_FIELD = 0.01  # of the push of twin runs: their difference is linear in it


class Twins(NamedTuple):
    """C between the times of the pushes and the last one, and the response at the end to every push, of every seed."""

    C: Float64[np.ndarray, "seed time time"]
    chi: Float64[np.ndarray, "seed push"]


@runtime_checkable
class Subject(Protocol):
    """A problem of training on a data set, seen as fluctuations and responses of its weights."""

    @property
    def model(self) -> RevisitedModel: ...
    @property
    def start(self) -> CommitteeStart | None: ...
    def of_units(self, values: Values) -> Values: ...
    def stationary(self, lags: Int[Array, " lag"]) -> Stationary: ...
    def twins(self, since: list[int], steps: int, key: Key[Array, ""], seeds: int) -> Twins: ...


@dataclass(frozen=True)
class _OneUnit:
    model: DataSetModel
    start: None = None

    def of_units(self, values: Values) -> Values:
        return values

    def stationary(self, lags: Int[Array, " lag"]) -> Stationary:
        return stationary(self.model.limit, lags)

    def twins(self, since: list[int], steps: int, key: Key[Array, ""], seeds: int) -> Twins:
        limit, d = self.model.limit, self.model.dimension
        C = simulate_dataset(limit, d, [*since, steps], key, seeds).C
        return Twins(C, response(limit, d, [steps], key, seeds, since)[:, :, 0])


@dataclass(frozen=True)
class _Network:
    """Means over the units: a push of each unit has signs of its own, so that only its own response is seen."""

    model: CommitteeModel
    start: CommitteeStart

    def of_units(self, values: Values) -> Values:
        return np.einsum("...ii->...", values) / self.model.width

    def stationary(self, lags: Int[Array, " lag"]) -> Stationary:
        raise RefusalError("the closed stationary state is for a single unit and two clusters.")

    def twins(self, since: list[int], steps: int, key: Key[Array, ""], seeds: int) -> Twins:
        at, last, C, chi = np.array([*since, steps]), np.array([steps]), [], []
        for seed in range(seeds):
            own = jax.random.fold_in(key, seed)
            alone = run_network(self.model, self.start, at, own)
            C.append(self.of_units(alone.C))
            pushed = [run_network(self.model, self.start, last, own, Push(s, _FIELD)) for s in since]
            chi.append([(one.along[-1] - alone.along[-1]).mean() / _FIELD for one in pushed])
        return Twins(np.stack(C), np.array(chi))


def subject(problem: DataSetProblem | NetworkProblem) -> Subject:
    """Of one unit, or of a network."""
    if isinstance(problem, DataSetProblem):
        return _OneUnit(descent_model(problem))
    start = starts_of(problem, (DMFT(),))[0]
    assert isinstance(start, CommitteeStart)
    return _Network(network_model(problem), start)
