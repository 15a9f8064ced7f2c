"""Labels of a few directions of Gaussian inputs: the models that overlaps describe, and the observables of their networks.

Labels are functions of the teachers' preactivations, so that everything that is averaged depends on how preactivations covary:
on the overlaps Q, M and P on isotropic inputs, and on those of every eigenvalue on inputs with a covariance.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.functions.clipped_loss import ClippedLoss
from dimfree.functions.label_law import LabelLaw
from dimfree.functions.sample_loss import SquareLoss
from dimfree.functions.target import HermiteLink, Target, UnlikeUnits
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
from dimfree.onepass.law import TeacherLaw
from dimfree.onepass.outputs_observables import outputs_observables
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.states.overlaps import Overlaps

if TYPE_CHECKING:
    from dimfree.onepass.fields.form import Form

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
        """This model itself."""
        return self

    @property
    def isotropic(self) -> "TeacherModel | None":
        """The same model where inputs are isotropic; None where overlaps for every eigenvalue are needed."""
        return None

    @property
    def task(self) -> Task:
        """Everything that averages of a loss depend on, for losses other than the square loss of values."""
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
        if isinstance(self.target, UnlikeUnits) and any(one.kinks for one in self.target.functions):
            return "it is derived for teachers with offsets whose units do not bend; use sgd or chain."
        if self.plain:
            return None
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
        """How large label noise, labels, teachers and eigenvalues are."""
        yield "data.noise", float(self.Delta)
        polynomial = isinstance(self.target, HermiteLink)
        labels = self.target.coefficients if isinstance(self.target, HermiteLink) else self.target.second_layer
        yield "data.coefficients" if polynomial else "data.second_layer", float(np.max(np.abs(np.asarray(labels))))
        yield "data.overlap", float(np.max(np.abs(np.asarray(self.P))))
        if self.levels is not None:
            yield "the largest eigenvalue of data.covariance", float(np.max(np.asarray(self.levels.s)))


class TeacherModel(TargetModel):
    """Labels of a teacher on isotropic Gaussian inputs."""

    @property
    def isotropic(self) -> "TeacherModel":
        """This model itself."""
        return self

    @property
    def form(self) -> "Form[TeacherModel]":
        """Overlaps with the teacher and the norm of the rest, with what else is trained."""
        from dimfree.onepass.fields.teacher_forms import teacher_form  # which moves particles of this model

        return teacher_form(self)


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


def _stretched_variance(model: TargetModel, state: Overlaps, s: Float[Array, ""]) -> Float[Array, "p p"]:
    """Psi^Var at covariance s Omega."""
    stretched = eqx.tree_at(lambda m: m.target.P, model, s * model.target.P)
    return variance(stretched, Overlaps(s * state.Q, s * state.M, state.a))
