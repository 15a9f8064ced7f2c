"""Which learning rates a network on a data set can take (docs/theory/committee-dmft.md, section 5.7 and trap 11).

Linear units with a fixed second layer move along w_eff = sum_i u_i w_i only, as one unit does at the rate eta |u|². For
piecewise-linear units the same formula, with the mean square of their slope, gives the rate above which training no longer
settles down.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from dimfree.dataset.committee.model import CommitteeModel
from dimfree.dataset.multi_pass_model import multi_pass_model
from dimfree.dataset.spectrum import largest_stable_rate
from dimfree.functions.activation import PiecewiseLinear
from dimfree.functions.loss import loss
from dimfree.functions.schedule import Constant
from dimfree.gaussian.nodes import gauss_hermite

_NODES = 64  # an even number: half of the field is on either side of a kink at 0


def unstable(model: CommitteeModel, a: Float64[np.ndarray, " p"]) -> str | None:
    """Why linear units diverge at this rate; None if they do not, or if the limit is not known."""
    if not model.linear or model.train_a or not isinstance(model.schedule, Constant):
        return None
    limit = _limit(model, a, 1.0)
    if not float(model.beta) and model.protocol == "vanilla" and float(model.b) < 1:  # batches add noise to every step
        pull = float(np.sum(a**2)) / model.width**2
        alone = multi_pass_model(
            "linear-teacher",
            loss("square"),
            alpha=float(model.alpha),
            eta=1.0,
            lambda_=float(model.lambda_) / pull,
            b=float(model.b),
            rescaled=model.rescaled,
        )
        limit = float(largest_stable_rate(alone)) / pull
    if float(model.eta) < limit:
        return None
    return (
        f"training diverges: training.learning_rate = {float(model.eta):g} is not below the largest stable value {limit:.4g} of "
        "these linear units; lower it."
    )


def restless(model: CommitteeModel, a: Float64[np.ndarray, " p"]) -> str | None:
    """A warning that piecewise-linear units do not settle down at this rate; None where they do, and for other units."""
    if not isinstance(model.activation, PiecewiseLinear):
        return None
    x, weight = gauss_hermite(_NODES, 1)
    limit = _limit(model, a, float(weight @ np.asarray(model.activation.derivative(jnp.asarray(x[:, 0]))) ** 2))
    if float(model.eta) < limit:
        return None
    return (
        f"training.learning_rate = {float(model.eta):g} is above about {limit:.2g}, from where on {model.activation.name} units "
        "no longer settle down, and diverge at a few times that; lower it."
    )


def _limit(model: CommitteeModel, a: Float64[np.ndarray, " p"], slope: float) -> float:
    """2 (1 + beta)/(lambda + g b |u|² <sigma'²> (1 + sqrt(alpha))²), that of the mean of all batches."""
    top = (1 + float(model.alpha) ** 0.5) ** 2
    pull = model.gradient_scale * float(model.b) * float(np.sum(a**2)) / model.width**2 * slope
    return 2 * (1 + float(model.beta)) / (float(model.lambda_) + pull * top)
