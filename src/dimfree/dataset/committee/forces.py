"""What one sample does to a network: its loss, and the forces on its units (docs/theory/committee-dmft.md, equation (1))."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.committee.model import CommitteeModel


class Forces(NamedTuple):
    """Of every sample, whether it is in the batch or not; without the factor g s."""

    loss: Float[Array, ""]  # mean over all samples
    wrong: Float[Array, ""]  # how often the sign of F is not that of the label
    f: Float[Array, "p n"]  # l' u_i sigma'(h_i)
    on_a: Float[Array, "p n"]  # l' sigma(h_i)/p


@jax.jit
def forces(model: CommitteeModel, a: Float[Array, " p"], h: Float[Array, "p n"], y: Float[Array, " n"]) -> Forces:
    """The loss and its gradients in h and a."""
    sigma = model.activation(h)
    F = model.output(a, sigma)
    slope = -model.loss.error(F, y)
    f = (a / model.width)[:, None] * slope * model.activation.derivative(h)
    return Forces(model.loss(F, y).mean(), jnp.mean(F * y <= 0), f, slope * sigma / model.width)
