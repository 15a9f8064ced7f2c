"""Bins of a spectrum: many eigenvalues become few, each with many directions (docs/theory/structured.md, section 2)."""

from dataclasses import replace
from math import ceil

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from dimfree.onepass.rule import few_directions
from dimfree.onepass.start import Start
from dimfree.onepass.structured_model import StructuredModel
from dimfree.onepass.structured_start import summed_overlaps
from dimfree.states.blocks import Blocks


def bin_sizes(dimension: int, kept: int, ratio: float) -> Int[np.ndarray, " b"]:
    """The largest eigenvalues one by one, and the others in bins whose ranks end at `ratio` times where they begin."""
    ends = [*range(min(kept, dimension) + 1)]
    while ends[-1] < dimension:
        first = ends[-1] + 1  # counted from 1
        ends.append(min(dimension, max(first, ceil(first * ratio) - 1)))
    return np.diff(ends)


def binned_model(model: StructuredModel, kept: int, ratio: float) -> StructuredModel:
    """The same with the mean eigenvalue of every bin, so that the trace stays."""
    s = -np.sort(-_coordinates(model))
    sizes = bin_sizes(s.size, kept, ratio)
    return replace(
        model,
        s=jax.device_put(np.add.reduceat(s, _firsts(sizes)) / sizes),
        multiplicities=jax.device_put(sizes.astype(float)),
        few=few_directions(sizes, model.vectors, model.batch),
        roots=None,
    )


def binned(model: StructuredModel, start: Start, kept: int, ratio: float) -> tuple[StructuredModel, Start]:
    """Model and start with the sum of all overlaps in every bin; the teachers' preactivations are those of the bins, too."""
    assert start.weights is not None, "a description with bins needs vectors"
    bins, s = binned_model(model, kept, ratio), _coordinates(model)
    falling = np.argsort(-s, kind="stable")
    W, k = np.asarray(start.weights)[:, falling], model.units
    Omega = summed_overlaps(W, np.asarray(bins.multiplicities).astype(int))
    before = (W[-k:] * s[falling]) @ W[-k:].T / s.size
    after = np.einsum("b,bij->ij", np.asarray(bins.s), Omega[:, -k:, -k:])
    bins = eqx.tree_at(lambda m: m.target.P, bins, jax.device_put(np.asarray(model.target.P) + after - before))
    blocks = Blocks(jax.device_put(Omega), start.blocks.a, bins.s, bins.rho, jax.device_put(0.0))
    return bins, replace(start, measured=blocks, weights=None)


def _coordinates(model: StructuredModel) -> Float[np.ndarray, " d"]:
    return np.repeat(np.asarray(model.s), np.asarray(model.multiplicities).astype(int))


def _firsts(sizes: Int[np.ndarray, " b"]) -> Int[np.ndarray, " b"]:
    return np.cumsum(sizes) - sizes
