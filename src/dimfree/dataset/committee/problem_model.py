"""The model and the start of a network problem: its keys become the letters of docs/theory/committee-dmft.md."""

import jax
import numpy as np
from jaxtyping import Array, Key

from dimfree.dataset.committee.loss import network_loss
from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.problem import DataSetMultiIndex, DataSetTeacher, NetworkProblem
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import ProblemError
from dimfree.functions.label_law import GaussianValues, LabelLaw, LogisticClasses, Signs, StudentValues
from dimfree.functions.named import activation
from dimfree.functions.schedule import schedule
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.problem.network import canonical_layer, prefactor
from dimfree.problem.noise_law import Student
from dimfree.problem.start import OverlapStart, SphereStart


def network_model(problem: NetworkProblem) -> CommitteeModel:
    """Structure and numbers of a problem."""
    data, network, training = problem.data, problem.network, problem.training
    sigma, target = activation(network.activation), _target(data)
    if sigma.is_constant:
        raise _constant("network", sigma.name)
    decay_a = training.weight_decay if training.second_layer_decay == "same" else training.second_layer_decay
    numbers = {
        "alpha": data.samples,
        "eta": training.learning_rate,
        "Delta": data.noise,
        "lambda_": training.weight_decay,
        "eta_a": training.second_layer_rate * (network.width * prefactor(network.scaling, network.width)) ** 2,
        "lambda_a": decay_a,
        "b": training.batch_fraction,
        "tau": training.persistence or 0.0,
        "beta": training.momentum,
        "temperature": training.temperature,
    }
    return CommitteeModel(
        width=network.width,
        d=problem.dimension,
        protocol=training.protocol,
        train_a=network.second_layer == "trained" and training.second_layer_rate > 0,
        train_b="bias" in network.trained,
        offsets=network.has_offsets,
        spherical=training.spherical,
        rescaled=training.gradient == "mean",
        activation=sigma,
        target=target,
        labels=_label_law(data),
        loss=network_loss(training.loss, training.width, classes=data.labels != "value"),
        schedule=schedule(training.schedule),
        **{name: jax.device_put(float(number)) for name, number in numbers.items()},
    )


def _target(data: DataSetTeacher | DataSetMultiIndex) -> Target:
    """f* in the canonical scaling."""
    P = jax.device_put(data.teacher_overlap)
    if isinstance(data, DataSetMultiIndex):
        terms, coefficients = data.expansion
        return HermiteLink(terms, jax.device_put(np.array(coefficients)), P)
    taught = activation(data.activation)
    if taught.is_constant:
        raise _constant("data", taught.name)
    layer = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,))
    return Committee(taught, jax.device_put(layer * data.units * prefactor(data.scaling, data.units)), P)


def _constant(section: str, name: str) -> ProblemError:
    return ProblemError(
        f"{section}.activation ({name}) is constant, so that nothing can be learned; choose another one."
    )


def _label_law(data: DataSetTeacher | DataSetMultiIndex) -> LabelLaw:
    """Values with noise, or classes."""
    match data.labels:
        case "sign":
            return Signs(jax.device_put(data.flip), blurred=data.noise > 0)
        case "logistic":
            return LogisticClasses(jax.device_put(data.slope))
        case _ if isinstance(data.noise_law, Student):
            return StudentValues(jax.device_put(data.noise_law.student))
        case _:
            return GaussianValues()


def network_start(problem: NetworkProblem, key: Key[Array, ""], needs: frozenset[str]) -> CommitteeStart:
    """Overlaps that are given, or those of drawn weights: theory and every data set begin at exactly these."""
    start, p, k = problem.start, problem.network.width, problem.data.units
    a, b = canonical_layer(problem.network), np.full(p, problem.network.bias_start)
    if isinstance(start, OverlapStart):
        return CommitteeStart(np.array(start.M, dtype=float), np.array(start.Q, dtype=float), a, b)
    W = start.scale * np.asarray(jax.random.normal(key, (p, problem.dimension)))
    if isinstance(start, SphereStart):
        W *= start.scale * (problem.dimension / (W**2).sum(axis=1, keepdims=True)) ** 0.5
    root = np.linalg.cholesky(problem.data.teacher_overlap)
    M = W[:, :k] @ root.T / problem.dimension**0.5  # teachers lie along the first axes
    return CommitteeStart(M, W @ W.T / problem.dimension, a, b)
