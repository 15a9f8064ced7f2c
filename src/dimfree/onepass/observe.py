"""What is observed of one-pass SGD, as arrays with leading axes (time, replica)."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from dimfree.description import Observed
from dimfree.gaussian.blocks import Blocks
from dimfree.gaussian.components import has_components, overlap_components
from dimfree.gaussian.moments import risk
from dimfree.gaussian.neuron_risk import neuron_risk
from dimfree.gaussian.offset_risk import offset_risk
from dimfree.gaussian.overlaps import Overlaps
from dimfree.gaussian.two_point.shifted import shifted_seconds
from dimfree.onepass.model import DirectionsModel, StructuredModel, TwoGaussiansModel
from dimfree.onepass.quadrature import MOST_LEVELS

MOST_BLOCKS = 32  # eigenvalues up to which overlaps are told one by one
_PAIRS = 1_000_000  # of neurons, whose averages are computed at once


def overlap_risk(model: DirectionsModel, state: Overlaps, bias: Float[Array, " p"] | None = None) -> Float[Array, ""]:
    """The population risk of one network, without the noise floor."""
    if not model.offsets:
        return risk(model, state)
    assert bias is not None
    return offset_risk(model, state, bias)


def offset_seconds(model: DirectionsModel) -> float:
    """What the risk of one network with offsets costs; without any it is not worth counting."""
    return model.width * (model.width + model.units) * shifted_seconds(model.activation) if model.offsets else 0.0


def teacher_observables(
    model: DirectionsModel, overlaps: Overlaps, bias: Float[Array, "t r p"] | None = None
) -> Observed:
    """Overlaps, second layer, offsets if there are any, and the risk, for one polynomial direction degree by degree too."""
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (overlaps, bias))
    one: Callable[[tuple[Overlaps, Array | None]], Array] = lambda now: overlap_risk(model, *now)  # noqa: E731
    count, width = flat[0].a.shape
    together = max(1, min(256, count, _PAIRS // width**2))
    values = jax.lax.map(one, flat, batch_size=together)
    seen = {"risk": values.reshape(overlaps.a.shape[:2]), "Q": overlaps.Q, "M": overlaps.M, "a": overlaps.a}
    if model.offsets:
        return seen | ({"bias": bias} if bias is not None else {})
    if not has_components(model.target):
        return seen
    parts = jax.lax.map(lambda now: overlap_components(model, now[0]), flat, batch_size=together)
    return seen | {"components": parts.reshape(*overlaps.a.shape[:2], -1)}


def structured_observables(
    model: StructuredModel, blocks: Blocks, bias: Float[Array, "t r p"] | None = None
) -> Observed:
    """The same as preactivations see it, plain overlaps of students, and those of every eigenvalue while these are few."""
    p, k, Omega = blocks.width, model.units, blocks.Omega
    seen = teacher_observables(model, blocks.fields(k), bias) | {"Q_plain": blocks.plain(k).Q}
    if model.s.size > MOST_BLOCKS:
        return seen
    return seen | {"Q_block": Omega[..., :p, :p], "M_block": Omega[..., :p, -k:]}


def node_observables(model: StructuredModel, blocks: Blocks) -> Observed:
    """The same for equations, whose blocks are nodes of a quadrature when eigenvalues are very many."""
    seen = structured_observables(model, blocks)
    return seen | ({"quadrature_error": blocks.error} if model.s.size > MOST_LEVELS else {})


def gaussians_risk(
    model: TwoGaussiansModel, weights: Float[Array, "p d"], bias: Float[Array, " p"], a: Float[Array, " p"]
) -> Float[Array, ""]:
    """E(y - f)²/2 of one network on two centred Gaussians."""
    sheet, s0 = weights / jnp.sqrt(1.0 * weights.shape[-1]), model.signal
    return neuron_risk(model.activation, model.Delta, a, bias, sheet[:, :s0], sheet[:, s0:])


def part_norms(weights: Float[Array, "*r p d"], signal: int) -> tuple[Float[Array, "*r p"], Float[Array, "*r p"]]:
    """r1 and r2 of canonical weights: |P_V w| and |P_perp w| over sqrt(d), V spanned by the first `signal` coordinates."""
    squares = weights**2 / weights.shape[-1]
    return jnp.sqrt(jnp.sum(squares[..., :signal], axis=-1)), jnp.sqrt(jnp.sum(squares[..., signal:], axis=-1))
