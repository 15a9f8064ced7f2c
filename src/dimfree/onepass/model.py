"""What a one-pass problem becomes for the numerical rooms: static structure (one trace each) and numbers (a pytree).

The canonical convention (docs/theory/committee.md, section 0) is reached here: whatever the scaling of the two networks,
f = (1/p) sum_i a_i sigma(lambda_i + b_i) and f* = (1/k) sum_r a*_r sigma*(lambda*_r) from here on. Numbers become arrays
by `jax.device_put`, because `jnp.asarray` compiles a little program for every shape that it meets.
"""

from dataclasses import fields
from functools import lru_cache
from math import sqrt
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Float32, Int

from dimfree.errors import ProblemError, RefusalError
from dimfree.functions.activation import Activation
from dimfree.functions.features import FEATURES
from dimfree.functions.fourier import FourierSum
from dimfree.functions.named import activation
from dimfree.functions.target import Committee, HermiteLink, Target
from dimfree.machine import refuse_above_memory
from dimfree.onepass.law import (
    HypercubeLaw,
    Latent,
    ManifoldLaw,
    Pool,
    RowsLaw,
    StructuredLaw,
    TeacherLaw,
    TwoGaussiansLaw,
)
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.rule import OnePassModel, Rule, block_steps, rule_of
from dimfree.onepass.sections import HiddenManifold, Hypercube, MultiIndex, TwoGaussians
from dimfree.onepass.sections.data import TeacherNetwork
from dimfree.onepass.sections.network import prefactor

_LAYERS = 4  # arrays of one number per unit that are there at once
_VECTORS = 10_000_000  # coordinates that are drawn one by one on structured inputs


class DirectionsModel(OnePassModel):
    """Gaussian inputs, labels from a function of a few directions: all that is averaged hangs on how preactivations covary."""

    about: ClassVar[str] = "fresh samples of a teacher"
    target: Target
    Delta: Float[Array, ""]  # variance of the label noise

    @property
    def units(self) -> int:
        """k, the number of teacher directions."""
        return self.target.units


class TeacherModel(DirectionsModel):
    """Isotropic inputs."""

    @property
    def law(self) -> TeacherLaw:
        """Gaussian inputs, the target's labels."""
        return TeacherLaw(self.target, self.Delta)


class StructuredModel(DirectionsModel):
    """Inputs with a covariance (docs/theory/structured.md); P of the target is that of its preactivations."""

    about: ClassVar[str] = (
        "fresh samples of a structured covariance, or with momentum, for which it is not derived (use ode, chain or sgd)"
    )
    few: tuple[int | None, ...] = eqx.field(static=True)  # d_b, when so small that it is a shape in overlap space
    on_rows: bool = eqx.field(static=True)  # whether inputs are the rows of the pool, or Gaussian
    s: Float[Array, " b"]  # eigenvalues
    multiplicities: Float[Array, " b"]  # d_b
    roots: Float32[Array, " d"] | None  # sqrt of the eigenvalue of every coordinate, unless there are too many
    pool: Pool | None  # rows of the user's own
    momentum: bool = eqx.field(static=True)  # whether velocities are carried on
    nesterov: bool = eqx.field(static=True)
    beta: Float[Array, ""]  # share of a velocity that is carried on

    @property
    def law(self) -> StructuredLaw | RowsLaw | ManifoldLaw:
        """Gaussian inputs of this covariance, or the rows."""
        if not self.on_rows:
            return StructuredLaw(self.target, self.Delta, self.roots)
        assert self.pool is not None, "rows of one's own are among the needs of whoever draws them"
        return RowsLaw(self.target, self.Delta, self.pool)

    @property
    def gaussian(self) -> "StructuredModel":
        """The same with Gaussian inputs of this covariance, which limits speak of."""
        return self

    @property
    def effective_rate(self) -> Float[Array, ""]:
        """Gamma = gamma/(1 - beta): how far a sample moves the weights in the end."""
        return self.gamma / (1 - self.beta) if self.momentum else self.gamma

    @property
    def theta(self) -> Float[Array, ""]:
        """(1 - beta)/dt: at which rate velocities relax, per unit of time (section 4.1)."""
        return (1 - self.beta) / self.time_step

    @property
    def vectors(self) -> int:
        """How many there are in overlap space: students, with momentum their velocities, teachers."""
        return (2 if self.momentum else 1) * self.width + self.units

    @property
    def rho(self) -> Float[Array, " b"]:
        """The share of every eigenvalue."""
        return self.multiplicities / self.dimension

    @property
    def fluctuation(self) -> float:
        """As many directions share the fluctuations as the effective rank says (section 1.4)."""
        weights = np.asarray(self.multiplicities)
        rank = (np.asarray(self.s) @ weights) ** 2 / (np.asarray(self.s) ** 2 @ weights)
        return sqrt(float(self.effective_rate) / (self.width * rank * self.batch))

    @property
    def largest_step(self) -> float:
        """dt s_max, which the equations take for small (section 1.4)."""
        return float(self.time_step) * float(np.max(np.asarray(self.s)))


class ManifoldModel(StructuredModel):
    """Inputs that are features of hidden variables; P of the target is that of what it sees, explained by inputs or not."""

    about: ClassVar[str] = "fresh samples of a hidden manifold (use ode or sgd)"
    features: Activation
    latent: Latent

    @property
    def law(self) -> ManifoldLaw:
        """Features, and labels of what they are features of."""
        return ManifoldLaw(self.target, self.Delta, self.features, self.latent)

    @property
    def gaussian(self) -> StructuredModel:
        """What P of the target is made of is forgotten: equations of any covariance are those of this one."""
        return StructuredModel(**_shared(self))


class TwoGaussiansModel(OnePassModel):
    """Two centred Gaussians, told apart by their variance."""

    about: ClassVar[str] = "fresh samples of two Gaussians"
    size: int = eqx.field(static=True)  # d, as a shape
    signal: int = eqx.field(static=True)  # s0
    Delta: Float[Array, ""]  # contrast

    @property
    def law(self) -> TwoGaussiansLaw:
        """Labels first, inputs stretched by them."""
        return TwoGaussiansLaw(self.signal, self.Delta)


class HypercubeModel(OnePassModel):
    """Signs as inputs, of which a few decide the label."""

    about: ClassVar[str] = "fresh samples of the hypercube"
    coordinates: tuple[int, ...] = eqx.field(static=True)  # which coordinates z are, counted from 0
    target: FourierSum
    Delta: Float[Array, ""]  # variance of the label noise

    @property
    def law(self) -> HypercubeLaw:
        """Signs, and the label of a few of them."""
        return HypercubeLaw(self.coordinates, self.target, self.Delta)


def model(problem: OnePassProblem) -> TeacherModel | StructuredModel | TwoGaussiansModel | HypercubeModel:
    """The model of a problem."""
    return _model(problem, problem.stamps)


@lru_cache(maxsize=64)
def _model(
    problem: OnePassProblem, stamps: tuple[tuple[int, int], ...]
) -> TeacherModel | StructuredModel | TwoGaussiansModel | HypercubeModel:
    rule, data = rule_of(problem), problem.data
    if isinstance(data, TwoGaussians):
        return TwoGaussiansModel(
            **rule, size=problem.dimension, signal=problem.signal, Delta=jax.device_put(data.contrast)
        )
    if isinstance(data, Hypercube):
        supports = tuple(tuple(data.coordinates.index(i) for i in support) for support in data.supports)
        target = FourierSum(len(data.coordinates), supports, jax.device_put(np.array(data.weights)))
        return HypercubeModel(
            **rule, coordinates=tuple(i - 1 for i in data.coordinates), target=target, Delta=jax.device_put(data.noise)
        )
    if problem.structured:
        gaussian = _structured(problem, data, rule)
        return _on_manifold(problem, data, gaussian) if isinstance(data, HiddenManifold) else gaussian
    return TeacherModel(**rule, target=_target(data, problem.teacher_overlap), Delta=jax.device_put(data.noise))


def _on_manifold(problem: OnePassProblem, data: HiddenManifold, gaussian: StructuredModel) -> ManifoldModel:
    """With what inputs and labels are made of instead."""
    found = problem.manifold
    latent = Latent(*jax.device_put((found.directions, found.basis, found.latent_teachers)))
    return ManifoldModel(**_shared(gaussian), features=FEATURES[data.features], latent=latent)


def _shared(one: StructuredModel) -> dict[str, Any]:
    """What a model has in common with that of Gaussian inputs."""
    return {field.name: getattr(one, field.name) for field in fields(StructuredModel)}


def _structured(problem: OnePassProblem, data: TeacherNetwork | MultiIndex, rule: Rule) -> StructuredModel:
    """Of labels of the user's own the teacher is the best linear fit, and the rest is noise (section 3)."""
    found, P, noise = problem.spectrum, problem.teacher_overlap, data.noise
    if problem.learns_labels:
        w, noise = found.linear_teacher
        P = np.array([[found.coordinates @ w**2 / found.dimension]])
    training, vectors = problem.training, (2 if problem.training.momentum else 1) * problem.network.width + data.units
    return StructuredModel(
        **rule,
        target=_target(data, P),
        Delta=jax.device_put(noise),
        few=few_directions(found.multiplicities, vectors, training.batch),
        on_rows=False,
        s=jax.device_put(found.values),
        multiplicities=jax.device_put(found.multiplicities.astype(float)),
        roots=jax.device_put(np.sqrt(found.coordinates).astype(np.float32)) if found.dimension <= _VECTORS else None,
        pool=None if found.pool is None else Pool(*jax.device_put(found.pool[:2])),
        momentum=training.momentum > 0,
        nesterov=training.nesterov,
        beta=jax.device_put(training.momentum),
    )


def few_directions(multiplicities: Int[np.ndarray, " b"], vectors: int, batch: int) -> tuple[int | None, ...]:
    """d_b of levels that have fewer directions than the vectors and inputs which a block of SGD holds."""
    held = vectors + block_steps(batch) * batch
    return tuple(int(d) if d < held else None for d in multiplicities)


def teacher_model(problem: OnePassProblem) -> TeacherModel:
    """The model of a problem with a teacher and isotropic inputs."""
    found = model(problem)
    if isinstance(found, StructuredModel):
        raise RefusalError(f"this is not derived for {problem.unusual}; use ode, chain or sgd.")
    assert isinstance(found, TeacherModel), f"{problem.data.kind} has no teacher"
    return found


def second_layer(problem: OnePassProblem) -> Float[Array, " p"]:
    """The canonical second layer at the start."""
    network = problem.network
    refuse_above_memory(
        _LAYERS * 8.0 * network.width, f"a second layer of {network.width} units", "lower network.width"
    )
    match network.second_layer_start:
        case "signs":
            a = 1.0 - 2.0 * (np.arange(network.width) % 2)
        case "uniform":
            a = (2 * np.arange(network.width) + 1) / network.width - 1
        case given:
            a = np.broadcast_to(np.asarray(given, dtype=float), (network.width,))
    return jax.device_put(a * network.width * prefactor(network.scaling, network.width))


def _target(data: TeacherNetwork | MultiIndex, overlap: Float[np.ndarray, "k k"]) -> Target:
    P = jax.device_put(overlap)
    if isinstance(data, MultiIndex):
        terms, coefficients = data.expansion
        return HermiteLink(terms, jax.device_put(np.array(coefficients)), P)
    taught = activation(data.activation)
    if taught.is_constant:
        raise ProblemError(
            f"data.activation ({taught.name}) is constant, so there is nothing to learn; choose another one."
        )
    stretch = data.units * prefactor(data.scaling, data.units)
    a_star = np.broadcast_to(np.asarray(data.second_layer, dtype=float), (data.units,)) * stretch
    return Committee(taught, jax.device_put(a_star), P)
