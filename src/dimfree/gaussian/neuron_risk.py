"""The population risk of a finite network of neurons a sigma(<w, x> + b) on two centred Gaussians.

docs/theory/mean-field.md, section a. Given the label the preactivations are jointly Gaussian, so E f² is a sum of two-point
kernels over all pairs of neurons. By Mehler's formula a pair of standard deviations tau, tau' and correlation rho has the kernel
sum_j c_j(tau, b) c_j(tau', b') rho^j with c_j = E sigma(tau g + b) he_j(g), he_j orthonormal: offsets cost nothing, and a pair
costs one product a term. The coefficients and E sigma², the kernel of a neuron with itself, are quadratures split at the kinks,
exact to rounding. What the series leaves out is below |rho|^terms of a kernel: random directions have rho of order d^(-1/2).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.functions.activation import Activation
from dimfree.gaussian.one_point import split_rule

_NODES = 96  # nodes between two breaks
_ROWS = 64  # neurons whose pairs are summed together, which bounds the memory at any width
_FEW = 10  # below this dimension, large correlations between pairs of neurons are common
_TERMS, _MORE_TERMS = 64, 256
_TINY = 1e-300


def neuron_risk(
    sigma: Activation,
    Delta: Float[Array, ""],
    a: Float[Array, " n"],
    b: Float[Array, " n"],
    along: Float[Array, "n s0"],
    rest: Float[Array, "n s1"],
) -> Float[Array, ""]:
    """E(y - f)²/2. Weights are scaled as in section a, and split into coordinates that depend on the label and others."""
    few = min(size for size in (along.shape[1], rest.shape[1]) if size)
    terms = _TERMS if few >= _FEW else _MORE_TERMS
    total = jnp.zeros(())
    for label in (1.0, -1.0):
        weights = jnp.concatenate([(1 + label * Delta) * along, rest], axis=1)
        first, second = output_moments(sigma, a, b, weights, terms)
        total += 0.25 * (1 - 2 * label * first + second)
    return total


def output_moments(
    sigma: Activation, a: Float[Array, " n"], b: Float[Array, " n"], weights: Float[Array, "n d"], terms: int = _TERMS
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """E f and E f² of the network on standard Gaussian inputs."""
    tau = jnp.sqrt(jnp.sum(weights**2, axis=1))
    directions = weights / jnp.maximum(tau, _TINY)[:, None]
    coefficients, square = jax.lax.map(
        lambda one: _coefficients(sigma, one, terms), (a, tau, b), batch_size=min(_ROWS, a.shape[0])
    )
    by_term = coefficients.T[::-1]  # Horner's rule begins with the last

    def row(neuron: tuple[Array, Array, Array, Array]) -> Array:
        direction, own, itself, number = neuron
        rho = directions @ direction
        kernel = jax.lax.fori_loop(
            0, terms, lambda j, sum_: sum_ * rho + by_term[j] * own[terms - 1 - j], jnp.zeros_like(rho)
        )
        return jnp.sum(jnp.where(jnp.arange(rho.size) == number, itself, kernel))

    neurons = (directions, coefficients, square, jnp.arange(a.shape[0]))
    rows = jax.lax.map(row, neurons, batch_size=min(_ROWS, a.shape[0]))
    return jnp.mean(coefficients[:, 0]), jnp.sum(rows) / a.shape[0] ** 2


def _coefficients(sigma: Activation, neuron: tuple[Array, Array, Array], terms: int) -> tuple[Array, Array]:
    """a c_j for j below `terms`, and a² E sigma², of the neuron (a, tau, b)."""
    a, tau, b = neuron
    turns = jnp.asarray([0.0, *sigma.kinks])  # smooth activations turn where their argument is zero
    x, w = split_rule((turns - b) / jnp.maximum(tau, _TINY), _NODES)
    values = a * sigma(tau * x + b)

    def term(before: tuple[Array, Array], j: Array) -> tuple[tuple[Array, Array], Array]:
        older, he = before
        return (he, (x * he - jnp.sqrt(j) * older) / jnp.sqrt(j + 1)), jnp.vdot(w * values, he)

    _, coefficients = jax.lax.scan(term, (jnp.zeros_like(x), jnp.ones_like(x)), jnp.arange(1.0 * terms))
    return coefficients, jnp.vdot(w, values**2)


def risk_seconds(width: int) -> float:
    """Roughly what the risk of a network costs."""
    return 1e-4 * width + 8e-8 * width**2
