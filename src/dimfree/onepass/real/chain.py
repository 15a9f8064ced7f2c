"""One-pass SGD in overlap space: a Markov chain with exactly the law of SGD's overlaps, at a cost that does not depend on d.

docs/theory/committee.md, section 1.2. The preactivations of a sample are u = A xi with A Aᵀ = Omega, and the inputs of a
block overlap as G = (Xi Xiᵀ + S)/d with S Wishart of d - r degrees of freedom: that is all a block of SGD needs to know.
"""

from math import prod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from dimfree.description import Block, Cost, Drawn, Draws, Dynamics, Observed
from dimfree.onepass.overlap_model import DirectionsModel
from dimfree.onepass.real.block import Progress, Samples, run_block
from dimfree.onepass.real.block_chain import BlockChain, own_law_pays
from dimfree.onepass.real.blocked import COMPILING, AtBlock, BlockedSGD, steps_taken
from dimfree.onepass.real.momentum import MomentumChain
from dimfree.onepass.rule import block_steps
from dimfree.onepass.start import Start
from dimfree.onepass.weights import Scalars
from dimfree.problem import Problem
from dimfree.random_numbers import chi_squares, lower_triangle, normals
from dimfree.states.overlaps import Overlaps, factor

_FACTORS = 8  # how many factorisations of Omega share one draw of random numbers


class OverlapNetwork(eqx.Module):
    """Overlaps with a leading replica axis, offsets, and the norms that the spherical rule keeps."""

    overlaps: Overlaps
    bias: Float[Array, "r p"]
    norms: Float[Array, "r p"]


class OverlapChain(Drawn[DirectionsModel, Start, OverlapNetwork], BlockedSGD[DirectionsModel, OverlapNetwork]):
    """SGD seen through its overlaps, exact in law at every dimension."""

    name: ClassVar[str] = "chain"
    summary: ClassVar[str] = (
        "real one-pass SGD in overlap space, exact in law; a step costs the same at every dimension"
    )
    cites: ClassVar[tuple[str, ...]] = ("saad1995", "arnaboldi2023escaping")
    models: ClassVar[type[DirectionsModel]] = DirectionsModel  # type: ignore[type-abstract]  # both of them
    needs: ClassVar[frozenset[str]] = frozenset({"pairs"})

    def refuses(self, problem: Problem, model: DirectionsModel) -> str | None:
        """Refuse noise on the weights, whose effect on overlaps is not worked out."""
        if model.noisy:
            return "noise on the weights is not worked out in overlap space; leave out training.inverse_temperature, or use sgd."
        if why := model.hidden_labels or model.rows_only:
            return why
        levels = model.levels
        if levels is not None and not own_law_pays(levels):
            return (
                f"{levels.s.size} distinct eigenvalues in {problem.dimension} dimensions: the chain is SGD itself; use sgd, or "
                "binned-chain where bins of eigenvalues have many directions."
            )
        return None

    def twin(self, model: DirectionsModel) -> tuple[Dynamics[Any, Start, Any], DirectionsModel]:
        """Name the chain for every eigenvalue, on structured inputs."""
        if model.levels is None:
            return self, model
        return MomentumChain() if model.momentum else BlockChain(), model

    def cost(self, problem: Problem, model: DirectionsModel) -> Cost:
        """Per sample: p+k draws, the sample's share of a block's Gram matrix and of one Cholesky factor."""
        n, R, batch = model.width + model.units, problem.run.replicas, model.batch
        steps = problem.steps(problem.run.until)
        b = block_steps(batch) * batch
        per_sample = 6e-9 * (n + b) + 1e-9 * (n * b + n**3 / b) + 1e-7 + 3e-6 / R
        size = self.steps_per_block(model)
        if model.levels is not None:
            per_sample *= model.levels.s.size
            size = block_steps(batch)
        samples = steps_taken(problem, size) * batch * R
        looks = len(problem.times) * R * model.risk_seconds
        return Cost(COMPILING + samples * per_sample + looks, steps, 8.0 * R * (3 * b * (b + n) + 4 * n * n))

    def begin(
        self, model: DirectionsModel, start: Start, replicas: int, key: Key[Array, ""]
    ) -> AtBlock[OverlapNetwork]:
        """Every replica starts from the same overlaps."""
        assert model.levels is None, "a chain for every eigenvalue is the one that `runner` names"
        return AtBlock(_begun(start, replicas), jnp.zeros((), int), key)

    def steps_per_block(self, model: DirectionsModel) -> int:
        """Several factorisations of Omega share one draw."""
        return _FACTORS * block_steps(model.batch)

    def through_block(
        self,
        model: DirectionsModel,
        network: OverlapNetwork,
        block: Int[Array, ""],
        key: Key[Array, ""],
        active: Int[Array, ""],
    ) -> OverlapNetwork:
        """Draw fields and Gram matrices from their exact law, run SGD on them, update the overlaps."""
        steps, first = block_steps(model.batch), block * self.steps_per_block(model)

        b, replicas = steps * model.batch, network.norms.shape[0]
        draws = _draw(model, b, replicas, key)

        def one(number: Array, network: OverlapNetwork) -> OverlapNetwork:
            done = number * steps
            here = _shaped(model, draws, number, b, replicas)
            return _learned(model, network, here, first + done, jnp.clip(active - done, 0, steps))

        return jax.lax.fori_loop(0, _FACTORS, one, network)

    def look(self, model: DirectionsModel, network: OverlapNetwork) -> tuple[Overlaps, Float[Array, "r p"]]:
        return network.overlaps, network.bias

    def risks(self, model: DirectionsModel, network: OverlapNetwork) -> Float[Array, " r"]:
        return model.overlap_risks(network.overlaps, network.bias)

    def observe(self, model: DirectionsModel, looks: PyTree[Float[Array, "t r ..."]]) -> Observed:
        return model.observables(*looks)

    def block(self, model: DirectionsModel) -> Block | str:
        """The block of steps that one factorisation of Omega serves."""
        if model.law.source == "other":
            return "the noise on its labels is neither Gaussian nor uniform"
        steps, rank = block_steps(model.batch), _rank(model)
        b = steps * model.batch
        hidden = (b, 0) if model.law.source == "normal" else (0, b)
        freedom = model.dimension - rank - jnp.arange(1.0 * b) if model.few_dimensions is None else jnp.zeros(0)
        return Block(steps, b * rank + _outside_entries(model, b) + hidden[0], hidden[1], freedom)

    def enter(self, model: DirectionsModel, start: Start) -> OverlapNetwork:
        """The overlaps of the start."""
        return _begun(start, 1)

    def through(
        self,
        model: DirectionsModel,
        state: OverlapNetwork,
        draws: Draws,
        first: Int[Array, ""],
        active: Int[Array, ""],
    ) -> OverlapNetwork:
        """Run a block as `through_block` does."""
        b, rank = block_steps(model.batch) * model.batch, _rank(model)
        ends = np.cumsum([b * rank, _outside_entries(model, b)])
        inside, below, noise = jnp.split(draws.normals, ends)
        here = _Draws(
            inside=inside.reshape(1, b, rank),
            below=below[:, None],
            diagonal=jnp.sqrt(draws.chi_squares)[:, None],
            noise=(noise if model.law.source == "normal" else draws.uniforms)[:, None],
        )
        return _learned(model, state, here, first, active)

    def seen(self, model: DirectionsModel, state: OverlapNetwork) -> Observed:
        return self.observe(model, jax.tree.map(lambda x: x[None], self.look(model, state)))

    def pace(self, model: DirectionsModel) -> Float[Array, ""]:
        """dt = gamma/(p d)."""
        return model.time_step


def _begun(start: Start, replicas: int) -> OverlapNetwork:
    overlaps, bias = jax.tree.map(lambda x: jnp.broadcast_to(x, (replicas, *x.shape)), (start.overlaps, start.bias))
    return OverlapNetwork(overlaps, bias, jnp.diagonal(overlaps.Q, axis1=-2, axis2=-1))


class _Draws(NamedTuple):
    """All that is random in a block: coordinates in the span of the weights, inputs outside of it, what else labels depend on."""

    inside: Float[Array, "..."]  # xi: (r, b, rank)
    below: Float[
        Array, "..."
    ]  # Bartlett's factor below the diagonal, or with few dimensions the inputs themselves: (m, r)
    diagonal: Float[Array, "..."]  # Bartlett's factor on the diagonal: (b, r)
    noise: Float[Array, "..."]  # (b, r)


def _draw(model: DirectionsModel, b: int, replicas: int, key: Key[Array, ""]) -> _Draws:
    """Flat, for all factorisations of a block at once."""
    inside_key, below_key, diagonal_key, noise_key = jax.random.split(key, 4)
    rank, count = _rank(model), _FACTORS * replicas
    degrees = model.dimension - rank - jnp.arange(1.0 * b)
    chosen = jnp.tile(jnp.repeat(degrees, replicas), _FACTORS) if model.few_dimensions is None else jnp.ones(0)
    return _Draws(
        inside=normals(inside_key, count * b * rank),
        below=normals(below_key, count * _outside_entries(model, b)),
        diagonal=jnp.sqrt(chi_squares(diagonal_key, chosen)),
        noise=model.law.hidden(noise_key, count * b),
    )


def _shaped(model: DirectionsModel, draws: _Draws, number: Array, b: int, replicas: int) -> _Draws:
    """The draws of one factorisation, in shape and in float64."""

    def part(flat: Array, *shape: int) -> Array:
        size = prod(shape)
        return jax.lax.dynamic_slice_in_dim(flat, number * size, size).astype(float).reshape(shape)

    return _Draws(
        inside=part(draws.inside, replicas, b, _rank(model)),
        below=part(draws.below, _outside_entries(model, b), replicas),
        diagonal=part(draws.diagonal, b if model.few_dimensions is None else 0, replicas),
        noise=part(draws.noise, b, replicas),
    )


def _outside_entries(model: DirectionsModel, b: int) -> int:
    return b * (b - 1) // 2 if model.few_dimensions is None else b * (model.few_dimensions - _rank(model))


def _rank(model: DirectionsModel) -> int:
    n = model.width + model.units
    return n if model.few_dimensions is None else min(n, model.few_dimensions)


def _learned(
    model: DirectionsModel, network: OverlapNetwork, draws: _Draws, first_step: Array, active: Array
) -> OverlapNetwork:
    """One factorisation of Omega, and the steps that it serves."""
    p, state = model.width, network.overlaps
    A = factor(state.covariance(model.P), _rank(model))
    inside, outside = _centred(model, A, draws)
    fields = jnp.moveaxis(inside @ jnp.swapaxes(A, 1, 2), 0, -1)  # u_b = A xi_b
    gram = jnp.moveaxis(inside @ jnp.swapaxes(inside, 1, 2) + outside, 0, -1) / model.dimension
    samples = Samples(fields[:, :p], model.law.label(fields[:, p:], draws.noise), gram)
    scalars = Scalars(jnp.moveaxis(state.a, 0, -1), network.bias.T, network.norms.T)
    progress = run_block(model, samples, scalars, first_step, active)
    return OverlapNetwork(_updated(model, state, fields, gram, progress), progress.scalars.bias.T, network.norms)


def _centred(
    model: DirectionsModel, A: Float[Array, "r n rank"], draws: _Draws
) -> tuple[Float[Array, "r b rank"], Float[Array, "r b b"]]:
    """Inputs in the span of all weights, and the Gram matrix of what they have outside of it, around their centres.

    Equation (3.3) of docs/theory/losses.md: a centre lies in the span, at Aᵀ (0, S), and roots stretch both parts.
    """
    inside, outside, centre = draws.inside, _outside(model, draws), model.law.centre(draws.noise)
    if centre is None:
        return inside, outside
    S, root = (jnp.moveaxis(x, -1, 0) for x in centre)
    return S @ A[:, model.width :] + root[..., None] * inside, root[:, :, None] * outside * root[:, None, :]


def _outside(model: DirectionsModel, draws: _Draws) -> Float[Array, "r b b"]:
    """S of equation (1.4), the Gram matrix of what the inputs have outside the span of all weights."""
    b, replicas = draws.noise.shape
    few = model.few_dimensions is not None
    T = draws.below.reshape(b, -1, replicas) if few else lower_triangle(draws.below, draws.diagonal)
    T = jnp.moveaxis(T, -1, 0)
    return T @ jnp.swapaxes(T, 1, 2)


def _updated(model: DirectionsModel, state: Overlaps, fields: Array, gram: Array, progress: Progress) -> Overlaps:
    """Equations (1.1) and (1.2) for the whole block: W = pi (W_0 + Cᵀ X)."""
    p, d = model.width, model.dimension
    C, u, G = (jnp.moveaxis(x, -1, 0) for x in (progress.coefficients, fields, gram))
    C_T = jnp.swapaxes(C, 1, 2)
    pi = progress.factor.T
    linear = C_T @ u / d
    H, dM = linear[..., :p], linear[..., p:]
    Q = state.Q + H + jnp.swapaxes(H, 1, 2) + C_T @ G @ C / d
    a = jnp.moveaxis(progress.scalars.a, -1, 0)
    return Overlaps(pi[:, :, None] * Q * pi[:, None, :], pi[:, :, None] * (state.M + dM), a)
