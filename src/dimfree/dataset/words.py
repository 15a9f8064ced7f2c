"""From the words of a data-set problem to the letters of docs/theory/dmft.md."""

from functools import lru_cache
from typing import NamedTuple

from dimfree.functions.loss import loss
from dimfree.dataset.model import MultiPassModel, multi_pass_model
from dimfree.dataset.problem import DataSetProblem


class DataSetModel(NamedTuple):
    """The letters, and the dimension N of simulations, which no theory sees."""

    letters: MultiPassModel
    dimension: int


@lru_cache(maxsize=256)
def dataset_model(problem: DataSetProblem) -> DataSetModel:
    """Structure and numbers of a problem; inadmissible batches are refused with the admissible range."""
    data, training, start = problem.data, problem.training, problem.start
    named = {"variance": "Delta", "door": "L", "middle": "rho0", "noise": "label_noise", "scale": "kappa_L"}
    own = {letter: getattr(data, word) for word, letter in named.items() if hasattr(data, word)}
    letters = multi_pass_model(
        data.kind,
        loss(training.loss, training.smoothing),
        alpha=data.samples,
        eta=training.learning_rate,
        lambda_=training.weight_decay,
        b=training.batch_fraction,
        tau=training.persistence,
        rescaled=training.gradient == "mean",
        spherical=training.spherical,
        temperature=training.temperature,
        c0=start.variance,
        m0=start.overlap,
        **own,
    )
    return DataSetModel(letters, problem.dimension)
