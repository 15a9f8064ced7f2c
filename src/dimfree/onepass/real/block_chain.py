"""One-pass SGD in overlap space on structured inputs: exact in law at every dimension and spectrum, eigenvalue by eigenvalue.

docs/theory/structured.md, section 1.5. The part of the inputs along one eigenvalue is isotropic, so that each block is a chain
as on isotropic inputs (chain.py); they meet in the preactivations and in the Gram matrix, which are sums over all blocks.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from dimfree.description import Observed
from dimfree.onepass.directions import overlap_risks
from dimfree.onepass.inputs.quadrature import MOST_LEVELS
from dimfree.onepass.real.block import Progress, Samples, run_block
from dimfree.onepass.real.blocked import AtBlock, Blocked
from dimfree.onepass.rule import block_steps
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel, structured_observables
from dimfree.onepass.weights import Scalars
from dimfree.random_numbers import chi_squares, lower_triangle, normals
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import eigenpairs, factor


class BlockNetwork(eqx.Module):
    """Overlaps of every eigenvalue with a leading replica axis, offsets, and the norms that the spherical rule keeps."""

    Omega: Float[Array, "r b n n"]
    a: Float[Array, "r *outputs p"]
    bias: Float[Array, "r p"]
    norms: Float[Array, "r p"]


class BlockChain(Blocked[StructuredModel, BlockNetwork]):
    """The program of `chain` on structured inputs."""

    def begin(self, model: StructuredModel, start: Start, replicas: int, key: Key[Array, ""]) -> AtBlock[BlockNetwork]:
        """Every replica starts from the same overlaps."""
        blocks = start.blocks
        shared = (blocks.Omega, blocks.a, start.bias, start.norms)
        network = BlockNetwork(*(jnp.broadcast_to(x, (replicas, *x.shape)) for x in shared))
        return AtBlock(network, jnp.zeros((), int), key)

    def through_block(
        self,
        model: StructuredModel,
        network: BlockNetwork,
        block: Int[Array, ""],
        key: Key[Array, ""],
        active: Int[Array, ""],
    ) -> BlockNetwork:
        """Draw fields and Gram matrices from their exact law, run SGD on them, update the overlaps of every block."""
        parts, _, samples = drawn_samples(model, network.Omega, key)
        scalars = Scalars(jnp.moveaxis(network.a, 0, -1), network.bias.T, network.norms.T)
        progress = run_block(model, samples, scalars, block * self.steps_per_block(model), active)
        Omega = _updated(model, network.Omega, parts, progress)
        a = jnp.moveaxis(progress.scalars.a, -1, 0)
        return BlockNetwork(Omega, a, progress.scalars.bias.T, network.norms)

    def look(self, model: StructuredModel, network: BlockNetwork) -> tuple[Blocks, Float[Array, "r p"]]:
        return _blocks(model, network), network.bias

    def risks(self, model: StructuredModel, network: BlockNetwork) -> Float[Array, " r"]:
        return overlap_risks(model, _blocks(model, network).fields(model.units), network.bias)

    def observe(self, model: StructuredModel, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        return structured_observables(model, *looks)


class Parts(NamedTuple):
    """What the inputs of a block of samples have along every eigenvalue: preactivations u^b and Gram matrices G^b."""

    fields: Float[Array, "r b m n"]
    gram: Float[Array, "r b m m"]


def drawn_samples(
    model: StructuredModel, Omega: Float[Array, "r b n n"], key: Key[Array, ""]
) -> tuple[Parts, Float[Array, "m n r"], Samples]:
    """A block of samples from its exact law: along every eigenvalue, the preactivations of all vectors, and what SGD sees."""
    m, replicas = block_steps(model.batch) * model.batch, Omega.shape[0]
    input_key, noise_key = jax.random.split(key)
    parts = drawn_parts(model, Omega, m, input_key)
    fields, gram = (jnp.moveaxis(jnp.sum(x, axis=1), 0, -1) for x in parts)
    hidden = model.law.hidden(noise_key, m * replicas).reshape(m, replicas).astype(float)
    labels = model.law.label(fields[:, -model.units :], hidden)
    return parts, fields, Samples(fields[:, : model.width], labels, gram)


def own_law_pays(model: StructuredModel) -> bool:
    """Whether the chain is cheaper than vectors: it follows fewer than half of all directions."""
    followed = np.sum(np.minimum(model.vectors, np.asarray(model.multiplicities)))
    return model.s.size <= MOST_LEVELS and bool(followed < float(model.dimension) / 2)


def _blocks(model: StructuredModel, network: BlockNetwork) -> Blocks:
    replicas = network.a.shape[0]
    s, rho = (jnp.broadcast_to(x, (replicas, *x.shape)) for x in (model.s, model.rho))
    return Blocks(network.Omega, network.a, s, rho, jnp.zeros(replicas))


def drawn_parts(model: StructuredModel, Omega: Float[Array, "r b n n"], m: int, key: Key[Array, ""]) -> Parts:
    """Equation (1.4): u^b = sqrt(s_b) A_b xi and G^b = s_b/d (xi xiᵀ + S), in the span of all weights and outside of it."""
    inside_key, many_key, few_key = jax.random.split(key, 3)
    replicas, count, n, _ = Omega.shape
    xi = normals(inside_key, replicas * count * m * n).reshape(replicas, count, m, n).astype(float)
    few = np.array([place for place, size in enumerate(model.few) if size is not None], dtype=int)
    many = np.array([place for place, size in enumerate(model.few) if size is None], dtype=int)
    A, outside = jnp.zeros_like(Omega), jnp.zeros((replicas, count, m, m))
    if many.size:
        A = A.at[:, many].set(factor(Omega[:, many], n))
        outside = outside.at[:, many].set(_wisharts(model.multiplicities[many] - n, replicas, m, many_key))
    if few.size:
        sizes = np.array([size for size in model.few if size is not None])
        within = (
            np.arange(n) >= n - np.minimum(sizes, n)[:, None]
        )  # the directions that there are, as eigenvalues ascend
        A = A.at[:, few].set(_leading(Omega[:, few], within))
        xi = xi.at[:, few].multiply(within[:, None, :])
        outside = outside.at[:, few].set(_small(sizes - np.minimum(sizes, n), replicas, m, few_key))
    s = model.s[:, None, None]
    gram = s / model.dimension * (xi @ jnp.swapaxes(xi, -1, -2) + outside)
    return Parts(jnp.sqrt(s) * (xi @ jnp.swapaxes(A, -1, -2)), gram)


def _leading(Omega: Float[Array, "r b n n"], within: np.ndarray) -> Float[Array, "r b n n"]:
    """A factor of as many columns as a small block has directions: the leading eigenpairs, never an inverse."""
    values, vectors = eigenpairs(Omega)
    return vectors * (within * jnp.sqrt(jnp.maximum(values, 0.0)))[..., None, :]


def _wisharts(degrees: Float[Array, " b"], replicas: int, m: int, key: Key[Array, ""]) -> Float[Array, "r b m m"]:
    """Wishart matrices of these degrees of freedom, by Bartlett's factor."""
    below_key, diagonal_key = jax.random.split(key)
    count, entries = degrees.size, m * (m - 1) // 2
    below = normals(below_key, entries * replicas * count).reshape(entries, -1).astype(float)
    freedom = jnp.repeat(degrees - jnp.arange(1.0 * m)[:, None], replicas, axis=0).reshape(m, replicas, count)
    diagonal = jnp.sqrt(chi_squares(diagonal_key, freedom.ravel())).reshape(m, -1)
    T = jnp.moveaxis(lower_triangle(below, diagonal).reshape(m, m, replicas, count), (2, 3), (0, 1))
    return T @ jnp.swapaxes(T, -1, -2)


def _small(freedom: Int[np.ndarray, " b"], replicas: int, m: int, key: Key[Array, ""]) -> Float[Array, "r b m m"]:
    """The same from the inputs themselves, in the few directions that are left."""
    most = int(freedom.max())
    Z = normals(key, replicas * len(freedom) * m * most).reshape(replicas, len(freedom), m, most).astype(float)
    Z = Z * (np.arange(most) < freedom[:, None])[:, None, :]
    return Z @ jnp.swapaxes(Z, -1, -2)


def _updated(
    model: StructuredModel, Omega: Float[Array, "r b n n"], parts: Parts, progress: Progress
) -> Float[Array, "r b n n"]:
    """Equation (1.3) for a block of samples: W = pi (W_0 + Cᵀ X), and teachers stay."""
    k, d = model.units, model.dimension
    C = jnp.moveaxis(progress.coefficients, -1, 0)[:, None]  # (r, 1, m, p)
    C_T = jnp.swapaxes(C, -1, -2)
    linear = jnp.pad(C_T @ parts.fields / d, ((0, 0), (0, 0), (0, k), (0, 0)))
    square = jnp.pad(C_T @ parts.gram @ C / d, ((0, 0), (0, 0), (0, k), (0, k)))
    pi = jnp.pad(progress.factor.T, ((0, 0), (0, k)), constant_values=1.0)[:, None]
    grown = Omega + linear + jnp.swapaxes(linear, -1, -2) + square
    return pi[..., :, None] * grown * pi[..., None, :]
