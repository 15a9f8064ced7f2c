"""A network on fresh batches of c d samples at every step: the closed recursion of one pass.

docs/theory/committee-dmft.md, equation (9), here with velocities V and a second layer that learns: what the path DMFT with
one-pass batches must be. The force on a unit is a function of its fields u = (h, h*), so that its part along the weights is
<f uᵀ> Omega^-1, and all overlaps of W and V close.
"""

from typing import NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64

from dimfree.dataset.committee.model import CommitteeModel, Link
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import RefusalError
from dimfree.gaussian.any_loss.ladder import loss_terms, not_averaged, task_of
from dimfree.gaussian.learner import LossLearner
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.variance.ladder import variance
from dimfree.states.overlaps import Overlaps


class FreshBatches(NamedTuple):
    """Times 0 to T in steps."""

    M: Float64[np.ndarray, "n p k"]
    Q: Float64[np.ndarray, "n p p"]
    a: Float64[np.ndarray, "n p"]


class _State(eqx.Module):
    """Overlaps of weights and velocities, and the second layer with its velocity."""

    at: Overlaps
    MV: Float[Array, "p k"]  # V W*ᵀ/d
    VW: Float[Array, "p p"]  # V Wᵀ/d
    VV: Float[Array, "p p"]  # V Vᵀ/d
    v_a: Float[Array, " p"]


def solve_fresh(model: CommitteeModel, start: CommitteeStart, steps: int) -> FreshBatches:
    """The trajectory of `steps` steps with c = b alpha."""
    if reason := not_closed(model):
        raise RefusalError(reason)
    p, k = start.M.shape
    at = Overlaps(*(jnp.asarray(part) for part in (start.Q, start.M, start.a)))
    state = _State(at, jnp.zeros((p, k)), jnp.zeros((p, p)), jnp.zeros((p, p)), jnp.zeros(p))
    seen = [at]
    for eta in model.rates(steps):
        state = _step(model, state, jnp.asarray(eta), jnp.asarray(np.diag(start.Q)))
        seen.append(state.at)
    return FreshBatches(*(np.stack([getattr(one, name) for one in seen]) for name in ("M", "Q", "a")))


def not_closed(model: CommitteeModel) -> str | None:
    """Why there is no closed recursion, in one sentence."""
    if model.offsets:
        return "the closed recursion is for units without offsets."
    if isinstance(model.target, Link):
        return "the closed recursion needs averages of the label, and none are known of this one."
    if model.square or not_averaged(task_of(cast(LossLearner, model), None)) is None:
        return None
    return (
        f"the average of the {model.loss.name} loss over noisy values is not closed; choose square, huber or absolute."
    )


@jax.jit
def _step(model: CommitteeModel, state: _State, eta: Float[Array, ""], norms: Float[Array, " p"]) -> _State:
    """Equations (2) and (3) for the overlaps; f of one sample is -E a sigma'/p in the letters of committee.md."""
    now, p, lambda_, beta = state.at, model.width, model.lambda_, model.beta
    c, g = model.alpha * model.b, 1 / model.b if model.rescaled else 1.0
    along, ff, on_a = _averages(model, now)
    along, ff = -g * along / p, (g / p) ** 2 * ff
    Omega = now.covariance(model.target.P)
    f_u = along @ Omega  # <f uᵀ>
    f_h, f_star, f_v = f_u[:, :p], f_u[:, p:], along @ jnp.concatenate([state.VW.T, state.MV.T])
    on_W, on_V = lambda_ * now.Q + c * f_h, lambda_ * state.VW.T + c * f_v  # overlaps of the gradient with W and V
    size = lambda_**2 * now.Q + lambda_ * c * (f_h + f_h.T) + c * ff + c**2 * f_u @ along.T  # and with itself
    MV = beta * state.MV - eta * (lambda_ * now.M + c * f_star)
    VW = beta * state.VW - eta * on_W
    VV = beta**2 * state.VV - beta * eta * (on_V + on_V.T) + eta**2 * size
    VV = VV + 2 * model.temperature * eta * jnp.eye(p)
    M, Q, VW = now.M + MV, now.Q + VW + VW.T + VV, VW + VV
    nu = jnp.sqrt(norms / jnp.diagonal(Q)) if model.spherical else jnp.ones(p)
    v_a = beta * state.v_a - eta * model.eta_a * (model.lambda_a * now.a - g * c * on_a / p)
    a = now.a + v_a if model.train_a else now.a
    return _State(Overlaps(nu[:, None] * Q * nu, nu[:, None] * M, a), MV, VW * nu, VV, v_a)


def _averages(model: CommitteeModel, now: Overlaps) -> tuple[Array, Array, Array]:
    """J, Psi^Var and Psi^a, of the square loss of values by closed forms where there are any."""
    learner = cast(LossLearner, model)
    if model.square:
        noisy = cast(LossLearner, eqx.tree_at(lambda one: one.Delta, model, model.noise_variance))
        terms = gradient_terms(learner, now)
        return terms.J, variance(noisy, now), terms.Psia
    terms = loss_terms(task_of(learner, None), now)
    assert terms.Var is not None
    return terms.J, terms.Var, terms.Psia
