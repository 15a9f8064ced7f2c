"""Real multi-pass SGD as a description: every replica has its own data set and batches."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Array, Key

from dimfree.dataset.committee.experiment import RealNetwork
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.dataset.dataset_model import DataSetModel, in_words
from dimfree.dataset.real.descent import dataset_memory, simulate_dataset
from dimfree.dataset.revisited import Account, RevisitedModel
from dimfree.description import Cost, Memory, Times, Values
from dimfree.problem import Problem


class RealUnit(NamedTuple):
    """The experiment of one unit; every replica has its own start, too."""

    def refuses(self, problem: Problem, model: DataSetModel) -> str | None:
        return None

    def cost(self, problem: Problem, model: DataSetModel) -> Cost:
        """Count two products with the data matrix per step, and the draw of that matrix."""
        d, replicas, steps = model.dimension, problem.run.replicas, problem.steps(problem.run.until)
        entries = float(model.limit.alpha) * d**2
        seconds = 4.0 + replicas * entries * (1.2e-8 + 3e-10 * steps)
        return Cost(seconds, steps, dataset_memory(model.limit, d, len(problem.times), replicas))

    def replicas(self, model: DataSetModel, asked: int) -> int:
        """As many data sets as the run asks for."""
        return asked

    def warns(self, problem: Problem, model: DataSetModel) -> tuple[str, ...]:
        return ()

    def replica(
        self, model: DataSetModel, start: object, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """Train on one data set, and observe at the asked times."""
        steps = np.rint(times / float(model.limit.eta)).astype(int)
        with in_words():
            run = simulate_dataset(model.limit, model.dimension, steps.tolist(), key, 1, number)
        seen = {name: values[0] for name, values in run._asdict().items()}
        seen["risk"] = seen.pop("generalisation_error")
        if not model.limit.has_classes:
            del seen["train_accuracy"]
        return seen


class MultiPassSGD(Memory[RevisitedModel, CommitteeStart | None]):
    """Gradient descent or mini-batch SGD on finite data sets, step by step."""

    name: ClassVar[str] = "multi-pass"
    summary: ClassVar[str] = "real SGD that revisits a finite data set: full batch, mini-batch or persistent batches"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    models: ClassVar[type[RevisitedModel]] = RevisitedModel
    real: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True

    def _experiment(self, model: RevisitedModel) -> Account:
        return RealNetwork() if isinstance(model, CommitteeModel) else RealUnit()

    def cost(self, problem: Problem, model: RevisitedModel) -> Cost:
        return self._experiment(model).cost(problem, model)

    def at_once(self, model: RevisitedModel) -> bool:
        """Networks on several data sets share the cores; one unit has them to itself."""
        return isinstance(model, CommitteeModel)

    def replica(
        self, model: RevisitedModel, start: CommitteeStart | None, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """Train on one data set, and observe at the asked times."""
        return self._experiment(model).replica(model, start, times, key, number)
