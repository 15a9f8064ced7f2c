"""Real multi-pass SGD as a description: every replica has its own data set, start and batches."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Key

from dimfree.dataset.dataset_model import DataSetModel, in_words
from dimfree.dataset.real.descent import dataset_memory, simulate_dataset
from dimfree.description import Cost, Memory, Times, Values
from dimfree.problem import Problem


class MultiPassSGD(Memory[DataSetModel, None]):
    """Gradient descent or mini-batch SGD on finite data sets, step by step."""

    name: ClassVar[str] = "multi-pass"
    summary: ClassVar[str] = "real SGD that revisits a finite data set: full batch, mini-batch or persistent batches"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    models: ClassVar[type[DataSetModel]] = DataSetModel
    real: ClassVar[bool] = True
    stochastic: ClassVar[bool] = True
    scatters: ClassVar[bool] = True

    def cost(self, problem: Problem, model: DataSetModel) -> Cost:
        """Two products with the data matrix a step, and its draw."""
        d, replicas, steps = model.dimension, problem.run.replicas, problem.steps(problem.run.until)
        entries = float(model.limit.alpha) * d**2
        seconds = 4.0 + replicas * entries * (1.2e-8 + 3e-10 * steps)
        return Cost(seconds, steps, dataset_memory(model.limit, d, len(problem.times), replicas))

    def replica(
        self, model: DataSetModel, start: None, times: Times, key: Key[Array, ""], number: int
    ) -> Mapping[str, Values]:
        """One data set, at the asked times."""
        steps = np.rint(times / float(model.limit.eta)).astype(int)
        with in_words():
            run = simulate_dataset(model.limit, model.dimension, steps.tolist(), key, 1, number)
        seen = {name: values[0] for name, values in run._asdict().items()}
        seen["risk"] = seen.pop("generalisation_error")
        if not model.limit.has_classes:
            del seen["train_accuracy"]
        return seen
