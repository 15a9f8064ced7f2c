"""What one sample does to a network: its loss, and the forces on its units (docs/theory/committee-dmft.md, equation (1))."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.dataset.committee.model import CommitteeModel


class Forces(NamedTuple):
    """The forces of every sample, whether it is in the batch or not, without the factor g s."""

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


@jax.jit
def curvature(
    model: CommitteeModel, a: Float[Array, " p"], h: Float[Array, "p n"], y: Float[Array, " n"]
) -> Float[Array, "p p n"]:
    """d f_i/d h_j of every sample without the factor g s, the bracket of equation (4); for forces that jump nowhere."""
    u, F = a / model.width, model.output(a, model.activation(h))
    slope, bent = jax.jvp(lambda out: -model.loss.error(out, y), (F,), (jnp.ones_like(F),))
    pull = u[:, None] * model.activation.derivative(h)
    own = slope * u[:, None] * model.activation.second_derivative(h)
    return bent * pull[:, None] * pull[None] + own[:, None] * jnp.eye(model.width)[..., None]
