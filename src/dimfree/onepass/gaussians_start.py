"""Starts of networks on two centred Gaussians, and what is observed of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from dimfree.onepass.gaussians_problem import TwoGaussiansProblem


class NeuronStart(eqx.Module):
    """The network at the start (canonical weights), and the scale of the law that it was drawn from."""

    weights: Float[Array, "n d"]
    bias: Float[Array, " n"]
    a: Float[Array, " n"]
    scale: float = eqx.field(static=True)  # kappa


class Seen(eqx.Module):
    """What is observed: second layer, offset, the norms of the two parts of the weights as in section b, and the risk."""

    a: Float[Array, "*t r n"]
    bias: Float[Array, "*t r n"]
    r1: Float[Array, "*t r n"]
    r2: Float[Array, "*t r n"]
    risk: Float[Array, "*t r"]


def norms(weights: Float[Array, "*r n d"], signal: int) -> tuple[Float[Array, "*r n"], Float[Array, "*r n"]]:
    """r1 and r2 of canonical weights: |P_V w| and |P_perp w| over sqrt(d), V spanned by the first `signal` coordinates."""
    squares = weights**2 / weights.shape[-1]
    return jnp.sqrt(jnp.sum(squares[..., :signal], axis=-1)), jnp.sqrt(jnp.sum(squares[..., signal:], axis=-1))


def draw_neurons(problem: TwoGaussiansProblem, key: Key[Array, ""]) -> NeuronStart:
    """Gaussian weights, and equal offsets and second layers."""
    network, scale = problem.network, problem.start.scale
    weights = scale * jax.random.normal(key, (network.width * problem.dimension,))
    ones = jnp.ones(network.width)
    return NeuronStart(
        weights.reshape(network.width, problem.dimension),
        network.bias_start * ones,
        network.second_layer_start * ones,
        scale,
    )
