"""The model of a data-set problem: its keys become the letters of docs/theory/dmft.md, and errors name the keys again."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Key

from dimfree.dataset.ends.covariates import isotropic
from dimfree.dataset.ends.end_model import EndModel, covariates_model, descends, outlier_law
from dimfree.dataset.ends.source import GaussianSource
from dimfree.dataset.ends.task import Labels, Task
from dimfree.dataset.features import Covariates, RandomFeatures, Table
from dimfree.dataset.multi_pass_model import MultiPassModel, multi_pass_model
from dimfree.dataset.problem import DataSetProblem
from dimfree.dataset.revisited import RevisitedModel
from dimfree.errors import DimfreeError
from dimfree.functions.loss import loss

_WORDS = {
    "alpha": "data.samples",
    "Delta": "data.variance",
    "L": "data.threshold",
    "rho0": "data.middle_fraction",
    "label_noise": "data.noise",
    "kappa_L": "data.scale",
    "eta": "training.learning_rate",
    "lambda_": "training.weight_decay",
    "b": "training.batch_fraction",
    "tau": "training.persistence",
    "temperature": "training.temperature",
    "spherical": "training.spherical",
    "c0": "start.variance",
    "m0": "start.overlap",
}
_KEYS = {name.rstrip("_"): key for name, key in _WORDS.items()} | {"loss": "training.loss"}
_ENGLISH = ("temperature", "spherical", "loss")  # also English words: replaced by keys only before a value
_NAMED = re.compile(
    "|".join(rf"(?<![\w.]){name}(?= = )" if name in _ENGLISH else rf"(?<![\w.]){name}\b" for name in _KEYS)
)


class DataSetModel(EndModel, RevisitedModel):
    """The model of training in infinite dimension, from its start to its end."""

    about: ClassVar[str] = "a data set"
    limit: MultiPassModel


def dataset_model(problem: DataSetProblem) -> EndModel:
    """Structure and numbers of a problem."""
    if isinstance(problem.data, Covariates | RandomFeatures | Table):
        return covariates_model(problem.data, problem.training, problem.dimension)
    return descent_model(problem)


@lru_cache(maxsize=256)
def descent_model(problem: DataSetProblem) -> DataSetModel:
    """The model of a problem whose whole training is described; inadmissible batches are refused with the admissible range."""
    training = problem.training
    with in_words():
        limit = multi_pass_model(
            problem.data.kind,
            loss(training.loss, training.width),
            rescaled=training.gradient == "mean",
            outliers=outlier_law(getattr(problem.data, "outliers", None)),
            **_numbers(problem),
        )
    one = jnp.ones(1)
    source = GaussianSource(one, one, jnp.ones(()))
    return DataSetModel(problem.dimension, descends(training), _task(limit), source, limit)


def _task(limit: MultiPassModel) -> Task | None:
    """The learning curve, where labels come from a teacher that a convex loss can learn."""
    labels: dict[str, Labels] = {"sign-teacher": "sign", "linear-teacher": "linear"}
    if limit.task not in labels or limit.spherical:
        return None
    numbers = (limit.alpha, limit.lambda_, limit.label_noise)
    return Task(labels[limit.task], limit.loss, isotropic(), *numbers, limit.outliers)


def _numbers(problem: DataSetProblem) -> dict[str, Any]:
    """The problem's numbers by letter; a kind of data has only some of them."""
    places = {letter: key.split(".") for letter, key in _WORDS.items()}
    sections = {letter: (getattr(problem, section), word) for letter, (section, word) in places.items()}
    return {letter: getattr(section, word) for letter, (section, word) in sections.items() if hasattr(section, word)}


@contextmanager
def in_words() -> Iterator[None]:
    """Turn the letters in an error of the theory into the keys of a problem."""
    try:
        yield
    except DimfreeError as failure:
        raise type(failure)(_NAMED.sub(lambda found: _KEYS[found[0]], str(failure))) from None


def no_start(problem: DataSetProblem, key: Key[Array, ""], needs: frozenset[str]) -> None:
    """Return nothing: the start is two numbers of the model, and descriptions that need weights draw them to match exactly."""
