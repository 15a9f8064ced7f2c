"""Labels of a few directions of Gaussian inputs: the models that overlaps describe, and the observables of their networks.

Labels are functions of the teachers' preactivations, so that everything that is averaged depends on how preactivations covary:
on the overlaps Q, M and P on isotropic inputs, and on those of every eigenvalue on inputs with a covariance.
"""

from collections.abc import Callable, Iterator
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, PyTree

from dimfree.description import Observed
from dimfree.functions.label_law import LabelLaw
from dimfree.functions.sample_loss import ClippedLoss, SquareLoss
from dimfree.functions.target import Committee, Target
from dimfree.gaussian import loss_ladder
from dimfree.gaussian.any_loss.ladder import bayes_error, loss_errors, task_of
from dimfree.gaussian.any_loss.sampled import sampled_loss
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.components import has_components, overlap_components
from dimfree.gaussian.moments import GradientTerms, gradient_terms, risk
from dimfree.gaussian.offset_risk import offset_risk
from dimfree.gaussian.outputs.ladder import outputs_risk
from dimfree.gaussian.two_point.ladder import two_point_seconds
from dimfree.gaussian.two_point.shifted import shifted_seconds
from dimfree.gaussian.variance.ladder import variance, variance_seconds
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.law import Pool, RowsLaw, StructuredLaw, TeacherLaw, level_of
from dimfree.onepass.outputs_observables import outputs_observables
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.weights import Network
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps

if TYPE_CHECKING:
    from dimfree.onepass.fields.form import Form

MOST_BLOCKS = 32  # results have the overlaps of each eigenvalue if there are at most this many
_PAIRS = 1_000_000  # pairs of neurons whose averages are computed together


class TargetModel(DirectionsModel):
    """Gaussian inputs, labels from a function of a few directions."""

    target: Target
    Delta: Float[Array, ""]  # variance of the label noise, or its squared scale
    labels: LabelLaw

    @property
    def units(self) -> int:
        """k, the number of teacher directions."""
        return self.target.units

    @property
    def P(self) -> Float[Array, "k k"]:
        """Overlaps between the teachers."""
        return self.target.P

    @property
    def law(self) -> TeacherLaw:
        """Gaussian inputs, the target's labels."""
        return TeacherLaw(self.target, self.Delta, self.labels)

    @property
    def excess(self) -> bool:
        """Whether the risk is E[(f* - f)²]/2, that of the square loss of values without the noise floor."""
        loss = self.loss.inner if isinstance(self.loss, ClippedLoss) else self.loss
        return isinstance(loss, SquareLoss) and not self.labels.signs

    @property
    def taught(self) -> "TargetModel":
        """Itself."""
        return self

    @property
    def task(self) -> Task:
        """Everything that averages of a loss which is not plain depend on."""
        return task_of(self, self.clip_norm)

    def terms(self, state: Overlaps) -> GradientTerms:
        """By two-point kernels; for other losses, by an average over all preactivations."""
        return gradient_terms(self, state) if self.plain else loss_ladder.loss_terms(self.task, state)

    def variance(self, state: Overlaps) -> Float[Array, "p p"]:
        """Psi^Var by the ladder of the four-point term."""
        if self.plain:
            return variance(self, state)
        found = loss_ladder.loss_terms(self.task, state).Var
        assert found is not None
        return found

    def lengthened(self, state: Overlaps) -> Float[Array, "p p"]:
        """Equation (1.5) of docs/theory/committee.md: E[(u.grad) c cᵀ]/2 is how Psi^Var changes as fields are stretched."""
        if not self.plain:
            return loss_ladder.finite_variance(self.task, state, self.dimension)
        spread, stretched = jax.jvp(lambda s: _stretched_variance(self, state, s), (jnp.ones(()),), (jnp.ones(()),))
        return spread + 2 * stretched / self.dimension

    def risk(self, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
        """The population risk, without the noise floor."""
        return overlap_risk(self, state, bias)

    def observables(self, overlaps: Overlaps, bias: Float[Array, "t r p"] | None = None) -> Observed:
        return teacher_observables(self, overlaps, bias)

    @property
    def any_loss(self) -> bool:
        """True: averages over all preactivations work for every loss."""
        return True

    @property
    def averaged(self) -> loss_ladder.Averaged | None:
        """How averages of other losses are computed, by their ladder."""
        return None if self.plain else loss_ladder.averaged(self.task, self.width)

    def average_error(self, state: Overlaps) -> Float[Array, ""]:
        """The error, estimated with a finer rule or with independent fixed points."""
        return loss_ladder.estimated_error(self.task, state)

    @property
    def roughness(self) -> float:
        """How far averages at fixed points may jump."""
        return 0.0 if self.plain else loss_ladder.roughness(self.task, self.width)

    @property
    def no_averages(self) -> str | None:
        """Say which losses, laws of labels or clipped batches have no averages."""
        if self.plain:
            return None
        if self.outputs > 1 and self.levels is not None:
            return (
                "several outputs are not verified here on inputs with a covariance or with momentum; use chain or sgd."
            )
        if self.clip_norm is not None and self.batch > 1:
            return f"training.clip norm with batch {self.batch} has no ode yet; use chain."
        return loss_ladder.not_averaged(self.task)

    @property
    def risk_seconds(self) -> float:
        """Zero for the square loss of values without offsets, whose risk costs next to nothing."""
        if not self.excess:
            return loss_ladder.loss_seconds(self.task, self.width)
        return self.width * (self.width + self.units) * shifted_seconds(self.activation) if self.offsets else 0.0

    def seconds(self, *, variance_on: bool) -> float:
        """Count all pairs of units, and the four-point term."""
        if not self.plain:
            return loss_ladder.loss_seconds(self.task, self.width)
        n = self.width + self.units
        kernels = self.width * n * two_point_seconds(self.activation) + 2e-9 * self.width**2 * n + 3e-5
        return kernels + (variance_seconds(self) if variance_on else 0.0)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """The sizes of label noise, labels, teachers and eigenvalues."""
        yield "data.noise", float(self.Delta)
        committee = isinstance(self.target, Committee)
        labels = self.target.second_layer if isinstance(self.target, Committee) else self.target.coefficients
        yield "data.second_layer" if committee else "data.coefficients", float(np.max(np.abs(np.asarray(labels))))
        yield "data.overlap", float(np.max(np.abs(np.asarray(self.P))))
        if self.levels is not None:
            yield "the largest eigenvalue of data.covariance", float(np.max(np.asarray(self.levels.s)))


class TeacherModel(TargetModel):
    """Isotropic inputs."""

    @property
    def form(self) -> "Form[TeacherModel]":
        """Overlaps with the teacher and the norm of the rest, with what else is trained."""
        from dimfree.onepass.fields.teacher_forms import teacher_form  # which moves particles of this model

        return teacher_form(self)


class StructuredModel(TargetModel):
    """Inputs with a covariance (docs/theory/structured.md); P of the target is that of its preactivations."""

    about: ClassVar[str] = (
        "fresh samples of a structured covariance, or with momentum, for which it is not derived (use ode, chain or sgd)"
    )
    few: tuple[int | None, ...] = eqx.field(static=True)  # d_b, when so small that it is a shape in overlap space
    on_rows: bool = eqx.field(static=True)  # whether inputs are the rows of the pool, or Gaussian
    s: Float[Array, " b"]  # eigenvalues
    multiplicities: Float[Array, " b"]  # d_b
    roots: Float32[Array, " d"] | None  # sqrt of the eigenvalue of every coordinate, unless there are too many
    pool: Pool | None  # the user's rows

    @property
    def law(self) -> TeacherLaw:
        """Gaussian inputs of this covariance, or the rows."""
        if not self.on_rows:
            return StructuredLaw(self.target, self.Delta, self.labels, self.roots)
        assert self.pool is not None, "the description that draws rows refuses problems without them"
        return RowsLaw(self.target, self.Delta, self.labels, self.pool)

    @property
    def task(self) -> Task:
        """Gradients are as long as inputs: |x|² is the mean eigenvalue, and (4.1) of docs/theory/losses.md divides by |x|."""
        limit = None if self.clip_norm is None else self.clip_norm / jnp.sqrt(jnp.sum(self.rho * self.s))
        return task_of(self, limit)

    @property
    def gaussian(self) -> "StructuredModel":
        """The same with Gaussian inputs of this covariance, which is what limits describe."""
        return self

    @property
    def vectors(self) -> int:
        """The number of vectors in overlap space: students, their velocities if there is momentum, and teachers."""
        return (2 if self.momentum else 1) * self.width + self.units

    @property
    def rho(self) -> Float[Array, " b"]:
        """The share of every eigenvalue."""
        return self.multiplicities / self.dimension

    @property
    def fluctuation(self) -> float:
        """Fluctuations are shared by as many directions as the effective rank (section 1.4)."""
        weights = np.asarray(self.multiplicities)
        rank = (np.asarray(self.s) @ weights) ** 2 / (np.asarray(self.s) ** 2 @ weights)
        return sqrt(float(self.effective_rate) / (self.width * rank * self.batch))

    @property
    def largest_step(self) -> float:
        """dt s_max, which the equations assume to be small (section 1.4)."""
        return float(self.time_step) * float(np.max(np.asarray(self.s)))

    @property
    def levels(self) -> "StructuredModel":
        """Itself."""
        return self

    @property
    def rows_only(self) -> str | None:
        """Refuse classes that were given with the rows: they are not a function of Gaussian inputs."""
        own = self.pool is not None and self.pool.labels is not None and self.labels.signs
        return "labels of ±1 that were given with rows have no Gaussian theory; use rows." if own else None

    @property
    def too_large(self) -> str | None:
        """Refuse more coordinates than can be drawn one by one."""
        if self.roots is not None:
            return None
        d = int(self.dimension)
        return f"vectors of dimension {d} with a covariance do not fit; lower dimension, or use chain."

    def look(self, network: Network) -> PyTree[Float[Array, "r ..."]]:
        """Overlaps for every eigenvalue, measured on the vectors."""
        return level_overlaps(self, network), network.scalars.bias.T

    def risks(self, network: Network) -> Float[Array, " r"]:
        return overlap_risks(self, level_overlaps(self, network).fields(self.units), network.scalars.bias.T)

    def observe(self, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        return structured_observables(self, *looks)


def level_overlaps(model: StructuredModel, network: Network) -> Blocks:
    """Overlaps of students and teachers for every eigenvalue; all of them as one block where they are many."""
    d, teachers, count = network.students.shape[-1], network.teachers, model.s.size
    level = level_of(model.multiplicities, d)

    def one(W: Float[Array, "p d"]) -> Float[Array, "b n n"]:
        every = jnp.concatenate([W, teachers])
        if count <= MOST_BLOCKS:
            return jnp.stack([(every * (level == number)) @ every.T for number in range(count)])
        # two nodes stand for many levels: Sigma, and the identity, which no preactivation sees
        seen = (every * model.s[level]) @ every.T
        return jnp.stack([seen, every @ every.T - seen])

    Omega = jax.lax.map(one, network.students) / d
    shown = (model.s, model.rho) if count <= MOST_BLOCKS else (jnp.array([1.0, 0.0]), jnp.zeros(2))
    replicas = network.students.shape[0]
    s, rho = (jnp.broadcast_to(x, (replicas, x.size)) for x in shown)
    return Blocks(Omega, jnp.moveaxis(network.scalars.a, -1, 0), s, rho, jnp.zeros(replicas))


def overlap_risk(model: TargetModel, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
    """The population risk of one network: that of the square loss of values without the noise floor, else of labels as drawn."""
    if model.outputs > 1:
        return outputs_risk(model.task, state, bias if model.offsets else None)
    if not model.excess:
        averaged = not model.offsets and model.no_averages is None
        return loss_errors(model.task, state).risk if averaged else sampled_loss(model, state, bias)
    if not model.offsets:
        return risk(model, state)
    assert bias is not None
    return offset_risk(model, state, bias)


def overlap_risks(model: TargetModel, states: Overlaps, bias: Float[Array, "r p"]) -> Float[Array, " r"]:
    """The same for all replicas."""
    return jax.vmap(lambda state, b: overlap_risk(model, state, b))(states, bias)


def teacher_observables(model: TargetModel, overlaps: Overlaps, bias: Float[Array, "t r p"] | None = None) -> Observed:
    """Overlaps, second layer, offsets if there are any, and the risk, for one polynomial direction degree by degree too.

    Of classes there are the test error, that against the sign of f*, and the lowest one.
    """
    if model.outputs > 1:
        return outputs_observables(model.task, overlaps, bias if model.offsets else None)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (overlaps, bias))
    one: Callable[[tuple[Overlaps, Array | None]], Array] = lambda now: overlap_risk(model, *now)  # noqa: E731
    together = max(1, min(256, len(flat[0].a), _PAIRS // model.width**2))
    values = jax.lax.map(one, flat, batch_size=together)
    seen = {"risk": values.reshape(overlaps.a.shape[:2]), "Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}
    if model.offsets:
        return seen | ({"bias": bias} if bias is not None else {})
    if model.labels.signs:
        errors = jax.lax.map(lambda now: loss_errors(model.task, now[0]), flat, batch_size=together)
        best = jnp.broadcast_to(bayes_error(model.task), overlaps.a.shape[:2])
        test_errors = {name: values.reshape(overlaps.a.shape[:2]) for name, values in errors._asdict().items()}
        return seen | test_errors | {"bayes_error": best}
    if not (model.excess and has_components(model.target)):
        return seen
    parts = jax.lax.map(lambda now: overlap_components(model, now[0]), flat, batch_size=together)
    return seen | {"components": parts.reshape(*overlaps.a.shape[:2], -1)}


def structured_observables(
    model: StructuredModel, blocks: Blocks, bias: Float[Array, "t r p"] | None = None
) -> Observed:
    """The same as preactivations see it, plain overlaps of students, and those of every eigenvalue while these are few."""
    p, k, Omega = blocks.width, model.units, blocks.Omega
    seen = teacher_observables(model, blocks.fields(k), bias) | {"Q_plain": blocks.plain(k).Q}
    if model.s.size > MOST_BLOCKS:
        return seen
    return seen | {"Q_block": Omega[..., :p, :p], "M_block": Omega[..., :p, -k:]}


def node_observables(model: StructuredModel, blocks: Blocks) -> Observed:
    """The same for equations, whose blocks are nodes of a quadrature when eigenvalues are very many."""
    seen = structured_observables(model, blocks)
    return seen | ({"quadrature_error": blocks.error} if model.s.size > MOST_LEVELS else {})


def _stretched_variance(model: TargetModel, state: Overlaps, s: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var at covariance s Omega."""
    stretched = eqx.tree_at(lambda m: m.target.P, model, s * model.target.P)
    return variance(stretched, Overlaps(s * state.Q, s * state.M, state.a))
