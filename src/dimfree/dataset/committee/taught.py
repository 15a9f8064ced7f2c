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
from dimfree.gaussian.any_loss.sampled import sampled_loss
from dimfree.gaussian.learner import Learner, LossLearner
from dimfree.gaussian.moments import cross_terms, risk, second_moment
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
) -> dict[str, Float64[np.ndarray, " t"]]:
    """The risk at all times, and of classes the test error."""
    if model.square:
        return {"risk": risks(model, M, Q, a)}
    states = Overlaps(jnp.asarray(Q), jnp.asarray(M), jnp.asarray(a))
    found = _errors(model, states)
    return {name: np.asarray(values) for name, values in found.items() if model.labels.signs or name == "risk"}


@jax.jit
def _errors(model: CommitteeModel, states: Overlaps) -> dict[str, Float[Array, " t"]]:
    learner = cast(LossLearner, model)
    task = task_of(learner, None)
    if not_averaged(task) is None:
        found = jax.lax.map(lambda state: loss_errors(task, state), states)
        return {"risk": found.risk, "test_error": found.test_error}
    return {"risk": jax.lax.map(lambda state: sampled_loss(learner, state), states)}
