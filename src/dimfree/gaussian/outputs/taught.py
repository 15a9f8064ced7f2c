"""Labels of a teacher with several outputs: what is known of them at points of the preactivations.

docs/theory/losses.md, section 2, rung 2: a label that is the largest output changes at places of the last direction of the
teacher. Given all other fields that direction is Gaussian, so that its part of every class is closed, and jumps are smoothed.
"""

from itertools import combinations
from math import pi, sqrt

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from dimfree.functions.label_law import Argmax, OutputClasses
from dimfree.functions.target import Committee
from dimfree.gaussian.any_loss.posterior import along_last
from dimfree.gaussian.any_loss.preimages import preimages
from dimfree.gaussian.any_loss.task import Task
from dimfree.gaussian.outputs.averages import Seen, flipped
from dimfree.gaussian.outputs.points import Rule
from dimfree.states.overlaps import Overlaps, factor

_FAR = 1e3  # a missing boundary is put this many standard deviations away
_THIN = 1e-9  # smallest width of a conditional law, as a share of its standard deviation


def fields_left(task: Task, width: int) -> int:
    """The number of fields that are integrated over."""
    return width + task.units - isinstance(task.labels, Argmax)


def seen_at(
    task: Task,
    state: Overlaps,
    rule: Rule,
    *,
    bias: Float[Array, " p"] | None = None,
    dimension: Float[Array, ""] | None = None,
) -> Seen:
    """Points of the students and what is known there. With a `dimension`, |x|² is that of inputs of so many coordinates, and no
    direction is integrated out.
    """
    assert isinstance(task.labels, OutputClasses)
    p, k, one = state.Q.shape[0], task.units, dimension is None and isinstance(task.labels, Argmax)
    E, Omega = k - one, state.covariance(task.target.P)
    # students first, along which a lattice converges fastest; teachers first where labels jump: points then stay in their class
    order = [*range(p, p + E), *range(p), p + E] if one else [*range(p + k)]
    L = factor(Omega[jnp.array(order)][:, jnp.array(order)], p + k)
    x, weights = rule.points(L, tuple(bends(task, p, k)[place] for place in order[: p + E]))
    u = (x @ L[: p + E, : p + E].T)[:, np.argsort(order[: p + E])]
    students, teachers = u[:, :p] if bias is None else u[:, :p] + bias, u[:, p:]
    if one:
        assert isinstance(task.labels, Argmax)
        mu = x @ L[-1, :-1]
        largest, part = _largest(task, teachers, mu, L[-1, -1])
        flip = task.labels.flip
        chances, last = flipped(largest, flip, jnp.ones_like(mu)[:, None]), flipped(part, flip, mu[:, None])
        carried = jnp.concatenate([chances[..., None] * teachers[:, None], last[..., None]], axis=-1)
    else:
        chances = task.labels.chances(task.target(teachers))
        carried = chances[..., None] * teachers[:, None]
    size = jnp.ones(()) if dimension is None else 1 + (jnp.sum(x**2, axis=1) - (p + k)) / dimension
    return Seen(weights, students, chances, carried, size)


def bends(task: Task, width: int, explicit: int) -> tuple[tuple[float, ...], ...]:
    """Where the activation of every field bends: first the fields of the students, then those of the teacher's directions."""
    assert isinstance(task.target, Committee), "a polynomial has one output"
    return (task.activation.kinks,) * width + (task.target.activation.kinks,) * explicit


def _largest(
    task: Task, before: Float[Array, "n e"], mu: Float[Array, " n"], s: Float[Array, ""]
) -> tuple[Float[Array, "n c"], Float[Array, "n c"]]:
    """P(f*_c is the largest) and E[lambda*_k 1(f*_c is the largest)], given all but the last direction, which is N(mu, s²)."""
    width = jnp.sqrt(task.target.P[-1, -1])
    edges = _boundaries(task, before, width)
    middle = 0.5 * (edges[:, 1:] + edges[:, :-1])
    probes = jnp.concatenate([edges[:, :1] - width, middle, edges[:, -1:] + width], axis=1)
    f_star = along_last(task.target, before, probes)
    chosen = (jnp.argmax(f_star, axis=-1)[..., None] == jnp.arange(f_star.shape[-1])).astype(float)
    steps = chosen[:, 1:] - chosen[:, :-1]  # (n, edges, classes)
    spread = jnp.maximum(s, _THIN * width)
    z = (mu[:, None] - edges) / spread
    chance = chosen[:, 0] + jnp.einsum("nm,nmc->nc", ndtr(z), steps)
    push = jnp.einsum("nm,nmc->nc", jnp.exp(-0.5 * z**2) / sqrt(2 * pi), steps)
    return chance, mu[:, None] * chance + spread * push


def _boundaries(task: Task, before: Float[Array, "n e"], width: Float[Array, ""]) -> Float[Array, "n m"]:
    """The places along the last direction at which two outputs are equal or its activation bends, in increasing order."""
    target, count = task.target, before.shape[0]
    assert isinstance(target, Committee)
    pairs = np.array([*combinations(range(target.second_layer.shape[0]), 2)])
    apart = target.second_layer[pairs[:, 0]] - target.second_layer[pairs[:, 1]]  # (pairs, k)
    last = jnp.where(apart[:, -1] == 0, jnp.nan, apart[:, -1])
    levels = -(target.activation(before) @ apart[:, :-1].T) / last
    found = width * preimages(target.activation, levels, jnp.zeros((count, 1)), width)
    kinks = jnp.broadcast_to(jnp.asarray(target.activation.kinks, dtype=float), (count, len(target.activation.kinks)))
    edges = jnp.concatenate([found, kinks], axis=1)
    return jnp.sort(jnp.clip(jnp.nan_to_num(edges, nan=jnp.inf), -_FAR * width, _FAR * width), axis=1)
