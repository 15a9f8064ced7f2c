"""Real multi-pass SGD as a description: every replica has its own data set, start and batches."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from dimfree.description import Cost, DataSetDescription
from dimfree.dataset.words import DataSetModel, dataset_model
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.real.descent import dataset_memory, simulate_dataset


class MultiPassSGD(DataSetDescription):
    """Gradient descent or mini-batch SGD on finite data sets, step by step."""

    name: ClassVar[str] = "multi-pass"
    summary: ClassVar[str] = "real SGD that revisits a finite data set: full batch, mini-batch or persistent batches"
    cites: ClassVar[tuple[str, ...]] = ("mignacco2020",)
    stochastic: ClassVar[bool] = True

    def cost(self, problem: DataSetProblem) -> Cost:
        """Two products with the data matrix a step, and its draw."""
        d, replicas, steps = problem.dimension, problem.run.replicas, problem.steps(problem.run.until)
        entries = problem.data.samples * d**2
        seconds = 3.0 + replicas * entries * (6e-9 + 1.8e-10 * steps)
        return Cost(seconds, steps, dataset_memory(dataset_model(problem).letters, d, len(problem.times), replicas))

    def advance(
        self, model: DataSetModel, state: tuple[int, Key[Array, ""]], times: Float[Array, " t"]
    ) -> tuple[tuple[int, Key[Array, ""]], dict[str, Any]]:
        """All seeds, at the asked times."""
        letters, (seeds, key) = model.letters, state
        steps = np.rint(np.asarray(times) / float(letters.eta)).astype(int)
        runs = simulate_dataset(letters, model.dimension, steps.tolist(), key, seeds)
        seen = {name: np.swapaxes(values, 0, 1) for name, values in runs._asdict().items()}
        seen["risk"] = seen.pop("generalisation_error")
        if not letters.has_classes:
            del seen["train_accuracy"]
        return state, {name: jnp.asarray(values) for name, values in seen.items()}
