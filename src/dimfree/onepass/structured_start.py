"""Starts on structured inputs: weight vectors in the eigenbasis, or at any dimension their overlaps eigenvalue by eigenvalue.

docs/theory/structured.md: students are as on isotropic inputs; teachers have the overlaps of the problem as preactivations.
"""

from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from dimfree.errors import ProblemError
from dimfree.onepass.inputs.directions import Directions
from dimfree.onepass.inputs.quadrature import reduced
from dimfree.onepass.inputs.spectrum import Spectrum
from dimfree.onepass.problem import OnePassProblem
from dimfree.onepass.sections import GaussianStart, SphereStart
from dimfree.programs.compiled import brief_program
from dimfree.random_numbers import wishart
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import factor
from dimfree.tables import read_table

_LOST = 1e-12  # share of a teacher's variance below which a part counts as zero


class _Law(NamedTuple):
    """What a start is drawn from."""

    s: Float[Array, " _"]  # eigenvalues, of every coordinate or of every level
    P: Float[Array, "k k"]
    scale: Float[Array, ""]


def drawn_weights(
    problem: OnePassProblem, start: GaussianStart | SphereStart, key: Key[Array, ""]
) -> Float[Array, "n d"]:
    """Students, then teachers, in the eigenbasis."""
    p, k, found = problem.network.width, problem.data.units, problem.spectrum
    law = _Law(*jax.device_put((found.coordinates, problem.teacher_overlap, start.scale)))
    given = None if problem.directions is None else given_directions(problem, problem.directions, key)
    weights, seen = _vectors(key, law, (p, k), isinstance(start, SphereStart), given)
    if (teachers := problem.given_teachers) is not None:
        return jnp.concatenate([weights[:p], jnp.asarray(teachers)])
    _check_rank(k, seen)
    return weights


def drawn_blocks(
    problem: OnePassProblem, start: GaussianStart | SphereStart, a: Float[Array, "*outputs p"], key: Key[Array, ""]
) -> Blocks:
    """The overlaps of such vectors from their exact law: one Wishart matrix per eigenvalue."""
    p, k, found = problem.network.width, problem.data.units, problem.spectrum
    law = _Law(*jax.device_put((found.values, problem.teacher_overlap, start.scale)))
    counts = tuple(int(count) for count in found.multiplicities)
    Omega, seen = _overlaps(key, law, (p, k), counts, isinstance(start, SphereStart))
    _check_rank(k, seen)
    return _with_levels(Omega, a, found)


def given_directions(problem: OnePassProblem, given: Directions, key: Key[Array, ""]) -> Float[Array, "k d"]:
    """Teachers of a signal s w*² that falls as rank^-power, with random signs (section 5), or those of a file."""
    k, found = problem.data.units, problem.spectrum
    if given.file is not None:
        return jax.device_put(found.into_eigenbasis(_read_directions(given.file, (k, found.dimension))))
    assert given.power is not None
    s = found.coordinates
    rank = np.empty(s.size)
    rank[np.argsort(-s, kind="stable")] = np.arange(1.0, s.size + 1)
    size = np.where(s > 0, rank ** (-given.power / 2) / np.sqrt(np.where(s > 0, s, 1.0)), 0.0)
    return jax.random.rademacher(jax.random.split(key)[1], (k, s.size), float) * size


def _read_directions(file: Path, shape: tuple[int, int]) -> Float[np.ndarray, "k d"]:
    rows = np.atleast_2d(read_table(file))
    if rows.shape != shape:
        raise ProblemError(
            f"[data.directions] names the file {str(file)!r} of shape {rows.shape}; it must be {shape}, units x dimension."
        )
    if not np.isfinite(rows).all():
        raise ProblemError(f"[data.directions] names the file {str(file)!r}, which has entries that are not finite.")
    return rows


@brief_program
def _vectors(
    key: Key[Array, ""], law: _Law, sizes: tuple[int, int], sphere: bool, given: Float[Array, "k d"] | None
) -> tuple[Float[Array, "n d"], Float[Array, ""]]:
    (s, P, scale), (p, k), d = law, sizes, law.s.size
    student_key, teacher_key = jax.random.split(key)
    W = scale * jax.random.normal(student_key, (p, d))
    if sphere:
        W = scale * W * jnp.sqrt(d / jnp.sum(W**2, axis=1, keepdims=True))
    free = jax.random.normal(teacher_key, (k, d)) if given is None else given
    T, seen = _seen_as(P, (free * s) @ free.T / d)
    return jnp.concatenate([W, T @ free]), seen


@brief_program
def _overlaps(
    key: Key[Array, ""], law: _Law, sizes: tuple[int, int], counts: tuple[int, ...], sphere: bool
) -> tuple[Float[Array, "b n n"], Float[Array, ""]]:
    (s, P, scale), p, n = law, sizes[0], sum(sizes)
    keys = jax.random.split(key, len(counts))
    Omega = jnp.stack([wishart(keys[b], n, count) for b, count in enumerate(counts)]) / sum(counts)
    stretch = jnp.full(p, scale)
    if sphere:
        stretch = stretch / jnp.sqrt(jnp.diagonal(jnp.sum(Omega, axis=0))[:p])
    T, seen = _seen_as(P, jnp.einsum("b,bij->ij", s, Omega)[p:, p:])
    both = jax.scipy.linalg.block_diag(jnp.diag(stretch), T)
    return both @ Omega @ both.T, seen


def _seen_as(P: Float[Array, "k k"], K: Float[Array, "k k"]) -> tuple[Float[Array, "k k"], Float[Array, ""]]:
    """The map of teachers with the field overlaps K to teachers with those of the problem; how much of each is its own."""
    L = factor(K, K.shape[0])
    own = jnp.min(jnp.diagonal(L) ** 2 / jnp.diagonal(K))
    return factor(P, K.shape[0]) @ jnp.linalg.inv(jnp.where(own > _LOST, L, jnp.eye(K.shape[0]))), own


def _check_rank(units: int, seen: Float[Array, ""]) -> None:
    if not float(seen) > _LOST:
        raise ProblemError(
            f"{units} independent teacher directions do not fit into the directions in which the inputs vary; "
            "lower data.units, or give a covariance of higher rank."
        )


def measured_blocks(problem: OnePassProblem, weights: Float[Array, "n d"], a: Float[Array, "*outputs p"]) -> Blocks:
    """Overlaps of weights in the eigenbasis, level by level."""
    found = problem.spectrum
    return _with_levels(jax.device_put(summed_overlaps(np.asarray(weights), found.multiplicities)), a, found)


def summed_overlaps(W: Float[np.ndarray, "n d"], counts: Int[np.ndarray, " b"]) -> Float[np.ndarray, "b n n"]:
    """Overlaps of consecutive groups of coordinates."""
    firsts = np.cumsum(counts) - counts
    return np.stack([np.add.reduceat(W * row, firsts, axis=1).T for row in W], axis=-1) / W.shape[1]


def _with_levels(Omega: Float[Array, "b n n"], a: Float[Array, "*outputs p"], found: Spectrum) -> Blocks:
    return Blocks(Omega, a, jax.device_put(found.values), jax.device_put(found.weights), jax.device_put(0.0))


def reduced_blocks(problem: OnePassProblem, weights: Float[Array, "n d"], a: Float[Array, "*outputs p"]) -> Blocks:
    """Nodes instead of very many eigenvalues (sections 1.2 and 2)."""
    found = problem.spectrum
    V = np.asarray(weights) / np.sqrt(found.dimension)
    density = np.full(found.dimension, 1 / found.dimension)
    s, rho, Omega, error = reduced(found.coordinates, density, V, problem.run.until)
    return Blocks(*jax.device_put((Omega, a, s, rho, error)))


def summed_blocks(problem: OnePassProblem, weights: Float[Array, "n d"], a: Float[Array, "*outputs p"]) -> Blocks:
    """Overlaps of very many eigenvalues in two sums, as preactivations see them and the rest; no equation starts from these."""
    d, s = problem.dimension, jnp.asarray(problem.spectrum.coordinates)
    seen = (weights * s) @ weights.T / d
    Omega = jnp.stack([seen, weights @ weights.T / d - seen])
    return Blocks(Omega, a, *jax.device_put((np.array([1.0, 0.0]), np.zeros(2), 0.0)))
