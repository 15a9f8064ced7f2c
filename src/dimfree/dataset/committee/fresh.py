"""A network on fresh batches of c d samples at every step: the closed recursion of one pass.

docs/theory/committee-dmft.md, equation (9): what the path DMFT with one-pass batches must be, for the square loss of values.
"""

from dataclasses import replace
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.committee.start import CommitteeStart
from dimfree.errors import RefusalError
from dimfree.gaussian.learner import Learner
from dimfree.gaussian.moments import gradient_terms
from dimfree.gaussian.variance.ladder import variance
from dimfree.states.overlaps import Overlaps


class FreshBatches(NamedTuple):
    """Times 0 to T in steps."""

    M: Float64[np.ndarray, "n p k"]
    Q: Float64[np.ndarray, "n p p"]


def solve_fresh(model: CommitteeModel, start: CommitteeStart, steps: int) -> FreshBatches:
    """The trajectory of `steps` steps with c = b alpha."""
    if not model.square or model.train_a or float(model.beta) or float(model.temperature) or model.spherical:
        raise RefusalError(
            "the closed recursion is for the square loss of values and a fixed second layer, without momentum."
        )
    model = replace(model, Delta=model.noise_variance)
    state = Overlaps(jnp.asarray(start.Q), jnp.asarray(start.M), jnp.asarray(start.a))
    seen = [state]
    for eta in model.rates(steps):
        seen.append(_step(model, seen[-1], jnp.asarray(eta)))
    return FreshBatches(np.stack([one.M for one in seen]), np.stack([one.Q for one in seen]))


@jax.jit
def _step(model: CommitteeModel, state: Overlaps, eta: Float[Array, ""]) -> Overlaps:
    """Equation (9); f of one sample is -E_0 a sigma'/p in the letters of committee.md."""
    p, c, kept = model.width, model.alpha * model.b, 1 - eta * model.lambda_
    g = 1 / model.b if model.rescaled else 1.0
    learner, P = cast(Learner, model), model.target.P
    terms = gradient_terms(learner, state)
    f_star, f_h = -g * terms.PsiM / p, -g * terms.PsiGF / p  # <f h*^T>, and <f h^T> + <h f^T>
    ff = (g / p) ** 2 * variance(learner, state)
    f_J = -g * terms.J / p  # <f u^T> = f_J Omega
    back = f_J @ state.covariance(P) @ f_J.T
    M = kept * state.M - eta * c * f_star
    Q = kept**2 * state.Q - kept * eta * c * f_h + eta**2 * c * ff + (eta * c) ** 2 * back
    return Overlaps(Q, M, state.a)
