"""The mean loss and the test error of one network at fixed points: whatever the loss, the labels and the offsets are.

docs/theory/losses.md, section 2, rung 5: scrambled Sobol points for preactivations, and beside them what is random in labels.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.label_law import Classes, StudentValues
from dimfree.gaussian.learner import LossLearner
from dimfree.gaussian.points import normal_points
from dimfree.states.overlaps import Overlaps, factor

_POINTS = 2**12


def sampled_loss(
    model: LossLearner, state: Overlaps, bias: Float[Array, " p"] | None = None, points: int = _POINTS
) -> Float[Array, ""]:
    """E l(f, y) over labels as they are drawn."""
    return jnp.mean(expected_loss(model, *_outputs(model, state, bias, points)))


def sampled_test_error(
    model: LossLearner, state: Overlaps, bias: Float[Array, " p"] | None = None, points: int = _POINTS
) -> Float[Array, ""]:
    """How often the sign of f is not that of a class as it is drawn; f = 0 is half wrong."""
    assert isinstance(model.labels, Classes)
    f, f_star = _outputs(model, state, bias, points)
    plus, up = model.labels.P_plus(f_star, model.Delta), 0.5 * (1 + jnp.sign(f))
    return jnp.mean(plus * (1 - up) + (1 - plus) * up)


def _outputs(
    model: LossLearner, state: Overlaps, bias: Float[Array, " p"] | None, points: int
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """f and f* at the points."""
    p, n = model.width, model.width + model.units
    u = jnp.asarray(normal_points(n, points)) @ factor(state.covariance(model.target.P), n).T
    fields = u[:, :p] if bias is None else u[:, :p] + bias
    return jnp.mean(state.a * model.activation(fields), axis=1), model.target(u[:, p:])


def expected_loss(model: LossLearner, f: Float[Array, " n"], f_star: Float[Array, " n"]) -> Float[Array, " n"]:
    """E[l(f, y) | f*]: of two classes both are summed over, noise of values is drawn, the same at every call.

    Of noise without a mean it is what the loss has more than that of the teacher, l(f*, y), whose mean is infinite.
    """
    if isinstance(model.labels, Classes):
        plus, one = model.labels.P_plus(f_star, model.Delta), jnp.ones_like(f)
        return plus * model.loss(f, one) + (1 - plus) * model.loss(f, -one)
    hidden = model.labels.hidden(jax.random.key(0), f.size)
    y = model.labels.label(f_star, hidden, model.Delta)
    if not isinstance(model.labels, StudentValues):
        return model.loss(f, y)
    return model.loss(f, y) - jnp.where(model.labels.degrees > 1, 0.0, model.loss(f_star, y))
