"""What a network has learned of its teacher: risk and test errors on fresh samples, and what linear units see of labels."""

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.functions.activation import Activation, Polynomial
from dimfree.functions.target import Target
from dimfree.gaussian.any_loss.ladder import loss_errors, not_averaged, task_of
from dimfree.gaussian.any_loss.sampled import sampled_loss, sampled_test_error
from dimfree.gaussian.learner import Learner, LossLearner
from dimfree.gaussian.moments import cross_terms, risk, second_moment
from dimfree.gaussian.offset_risk import offset_risk
from dimfree.states.overlaps import Overlaps

_LINEAR: Activation = Polynomial((0.0, 1.0), name="linear")


def label_moments(model: CommitteeModel) -> tuple[Float64[np.ndarray, " k"], float]:
    """<y zeta> and <y²>, for orthonormal zeta that span the teachers."""
    target, P = cast(Target, model.target), model.target.P
    seen = cross_terms(_LINEAR, target, P, P)  # linear units that are the teachers
    second = float(second_moment(target) + model.noise_variance)
    return np.linalg.solve(np.linalg.cholesky(np.asarray(P)), np.asarray(seen.value)), second


def risks(
    model: CommitteeModel,
    M: Float64[np.ndarray, "t p k"],
    Q: Float64[np.ndarray, "t p p"],
    a: Float64[np.ndarray, "t p"],
) -> Float64[np.ndarray, " t"]:
    """E(f* - F)²/2 without the noise floor, at all times."""
    states = Overlaps(jnp.asarray(Q), jnp.asarray(M), jnp.asarray(a))
    return np.asarray(_risks(model, states))


@jax.jit
def _risks(model: CommitteeModel, states: Overlaps) -> Float[Array, " t"]:
    return jax.lax.map(lambda state: risk(cast(Learner, model), state), states)


def fresh_errors(
    model: CommitteeModel,
    M: Float64[np.ndarray, "t p k"],
    Q: Float64[np.ndarray, "t p p"],
    a: Float64[np.ndarray, "t p"],
    bias: Float64[np.ndarray, "t p"] | None = None,
) -> dict[str, Float64[np.ndarray, " t"]]:
    """The risk at all times, and of classes the test error."""
    if model.square and bias is None:
        return {"risk": risks(model, M, Q, a)}
    states = Overlaps(jnp.asarray(Q), jnp.asarray(M), jnp.asarray(a))
    found = _errors(model, states) if bias is None else _errors_with_offsets(model, states, jnp.asarray(bias))
    return {name: np.asarray(values) for name, values in found.items() if model.labels.signs or name == "risk"}


@jax.jit
def _errors(model: CommitteeModel, states: Overlaps) -> dict[str, Float[Array, " t"]]:
    learner = cast(LossLearner, model)
    task = task_of(learner, None)
    if not_averaged(task) is None:
        found = jax.lax.map(lambda state: loss_errors(task, state), states)
        return {"risk": found.risk, "test_error": found.test_error}
    return {"risk": jax.lax.map(lambda state: sampled_loss(learner, state), states)}


@jax.jit
def _errors_with_offsets(
    model: CommitteeModel, states: Overlaps, bias: Float[Array, "t p"]
) -> dict[str, Float[Array, " t"]]:
    learner, now = cast(LossLearner, model), (states, bias)
    if model.square:
        return {"risk": jax.lax.map(lambda one: offset_risk(learner, *one), now)}
    found = {"risk": jax.lax.map(lambda one: sampled_loss(learner, *one), now)}
    if model.labels.signs:
        found["test_error"] = jax.lax.map(lambda one: sampled_test_error(learner, *one), now)
    return found
