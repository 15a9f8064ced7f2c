"""One-pass SGD in overlap space: a Markov chain with exactly the law of SGD's overlaps, at a cost that does not know d.

docs/theory/committee.md, section 1.2. The preactivations of a sample are u = A xi with A Aᵀ = Omega, and the inputs of a
block overlap as G = (Xi Xiᵀ + S)/d with S Wishart of d - r degrees of freedom: that is all a block of SGD needs to know.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from dimfree.description import Cost
from dimfree.functions.model import Model, block_steps
from dimfree.gaussian.overlaps import Overlaps, factor
from dimfree.gaussian.start import Start
from dimfree.problem import Problem
from dimfree.simulate.block import Progress, Samples, run_block
from dimfree.simulate.draws import lower_bartlett, normals
from dimfree.simulate.vectors import labels
from dimfree.simulate.walk import Walk, Walker


class OverlapNetwork(eqx.Module):
    """Overlaps with a leading replica axis, and the norms that the spherical rule keeps."""

    overlaps: Overlaps
    norms: Float[Array, "r p"]


class OverlapChain(Walker):
    """SGD seen through its overlaps, exact in law at every dimension."""

    name: ClassVar[str] = "chain"
    summary: ClassVar[str] = (
        "real one-pass SGD in overlap space, exact in law; a step costs the same at every dimension"
    )
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "arnaboldi2023escaping")

    def cost(self, problem: Problem) -> Cost:
        """Per sample: p+k draws, the sample's share of a block's Gram matrix and of one Cholesky factor."""
        n, R, batch = problem.network.width + problem.data.units, problem.run.replicas, problem.training.batch
        steps = problem.steps(problem.run.until)
        b = block_steps(batch) * batch
        per_sample = 1.2e-8 * (n + b) + 1e-9 * (n * b + n**3 / b) + 5e-7 + 1e-5 / R
        return Cost(steps * batch * R * per_sample, steps, 8.0 * R * (3 * b * (b + n) + 4 * n * n))

    def begin(self, model: Model, start: Start, replicas: int, key: Key[Array, ""]) -> Walk[OverlapNetwork]:
        """Every replica starts from the same overlaps."""
        overlaps = jax.tree.map(lambda x: jnp.broadcast_to(x, (replicas, *x.shape)), start.overlaps)
        norms = jnp.diagonal(overlaps.Q, axis1=-2, axis2=-1)
        return Walk(OverlapNetwork(overlaps, norms), jnp.asarray(0), key)

    def walk_block(
        self, model: Model, network: OverlapNetwork, block: Int[Array, ""], key: Key[Array, ""], active: Int[Array, ""]
    ) -> OverlapNetwork:
        """Draw fields and Gram matrix from their exact law, run the block, update the overlaps."""
        steps, p, state = block_steps(model.batch), model.width, network.overlaps
        field_key, gram_key, noise_key = jax.random.split(key, 3)
        fields, gram = _fields_and_gram(model, state, steps * model.batch, field_key, gram_key)
        samples = Samples(fields[:, :p], labels(model, fields[:, p:], noise_key), gram)
        progress = run_block(model, samples, state.a.T, network.norms.T, block * steps, active)
        return OverlapNetwork(_updated(model, state, fields, gram, progress), network.norms)

    def overlaps(self, model: Model, network: OverlapNetwork) -> Overlaps:
        """The state itself."""
        return network.overlaps


def _fields_and_gram(
    model: Model, state: Overlaps, b: int, field_key: Key[Array, ""], gram_key: Key[Array, ""]
) -> tuple[Float[Array, "b n r"], Float[Array, "b b r"]]:
    """Equation (1.4): u_b = A xi_b and d G = Xi Xiᵀ + S."""
    replicas, n, d = state.a.shape[0], model.width + model.units, model.few_dimensions
    rank = n if d is None else min(n, d)
    A = factor(state.covariance(model.target.P), rank)
    Xi = normals(field_key, (replicas, b, rank)).astype(float)
    rest = _orthogonal_inputs(model, b, replicas, rank, gram_key)
    gram = (Xi @ jnp.swapaxes(Xi, 1, 2) + rest) / model.dimension
    return jnp.moveaxis(Xi @ jnp.swapaxes(A, 1, 2), 0, -1), jnp.moveaxis(gram, 0, -1)


def _orthogonal_inputs(model: Model, b: int, replicas: int, rank: int, key: Key[Array, ""]) -> Float[Array, "r b b"]:
    """S, the Gram matrix of what the inputs have outside the span of all weights."""
    if model.few_dimensions is None:
        T = jnp.moveaxis(lower_bartlett(key, b, replicas, model.dimension - rank), -1, 0)
    else:
        T = normals(key, (replicas, b, model.few_dimensions - rank)).astype(float)
    return T @ jnp.swapaxes(T, 1, 2)


def _updated(model: Model, state: Overlaps, fields: Array, gram: Array, progress: Progress) -> Overlaps:
    """Equations (1.1) and (1.2) for the whole block: W = pi (W_0 + Cᵀ X)."""
    p, d = model.width, model.dimension
    C, u, G = (jnp.moveaxis(x, -1, 0) for x in (progress.coefficients, fields, gram))
    C_T = jnp.swapaxes(C, 1, 2)
    pi = progress.factor.T
    linear = C_T @ u / d
    H, dM = linear[..., :p], linear[..., p:]
    Q = state.Q + H + jnp.swapaxes(H, 1, 2) + C_T @ G @ C / d
    return Overlaps(pi[:, :, None] * Q * pi[:, None, :], pi[:, :, None] * (state.M + dM), progress.second_layer.T)
