"""The mean of SGD on linear networks at any rates, step by step: its risk, and how the end depends on every rate.

docs/theory/structured.md, sections 1.6 and 4.2, and behind a random projection docs/theory/scaling.md, section 1. A step adds
z F0 + u F1 + w F2 to the state, where z is 1, u the rate and w its square. Derivatives of the end with respect to z, u and w,
taken as independent numbers, are products of F0, F1 and F2 with the costate lambda after the step: the slope with respect to the
rate, and all that the conditions of an optimum need, from one pass backwards.
"""

from collections.abc import Callable
from math import ceil, sqrt
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dimfree.onepass.linear_mean import LinearRule
from dimfree.onepass.projected.measures import Measures
from dimfree.onepass.projected.step_by_step import Moving, Push, after_step
from dimfree.programs.compiled import program

Ends = Callable[[Float[Array, " s"]], Float[Array, ""]]  # a function of the final risks of all starts


class Nodes(eqx.Module):
    """A linear rule as arrays, with momentum; its rates are given step by step.

    Twice the risk is `always` plus the sum of `weights` times the mean squares of the error along the eigenvalues `pull`; noise
    of size 1 adds `driven` to those mean squares, times the square of the rate over the batch.
    """

    pull: Float[Array, " b"]
    weights: Float[Array, " b"]
    driven: Float[Array, " b"]
    always: Float[Array, ""]
    Delta: Float[Array, ""]
    batch: Float[Array, ""]
    momentum: Float[Array, ""]


class Slopes(NamedTuple):
    """The value at the end, and in every step lambda·F0, lambda·F1 and lambda·F2."""

    value: Float[Array, ""]
    zeroth: Float[Array, " r"]
    first: Float[Array, " r"]
    second: Float[Array, " r"]


def seconds_of_step(levels: int) -> float:
    """CPU seconds of a step from one start."""
    return 3e-6 + 5e-9 * levels


def nodes_of(rule: LinearRule, momentum: float) -> Nodes:
    """The arrays of a linear network on inputs with a covariance."""
    d = rule.counts.sum()
    return _nodes(rule.s / d, rule.s, rule.s * rule.counts / d**2, 0.0, rule.Delta, rule.batch, momentum)


def nodes_behind(
    measures: Measures, Delta: float, batch: float, momentum: float
) -> tuple[Nodes, Float[np.ndarray, " b"]]:
    """The arrays behind a random projection, and the mean squares at the start: nodes of the signal, then those of the noise."""
    x, f, y, k, unreached, _ = measures
    signal, noise = np.ones(len(x)), np.ones(len(y))
    nodes = _nodes(
        np.concatenate([x, y]),
        np.concatenate([signal, k]),
        np.concatenate([0 * signal, noise]),
        unreached,
        Delta,
        batch,
        momentum,
    )
    return nodes, np.concatenate([f, 0 * noise])


def _nodes(*given: Any) -> Nodes:
    return Nodes(*jax.device_put(tuple(np.asarray(one, dtype=float) for one in given)))


@program
def risks_along(nodes: Nodes, D: Float[Array, "s b"], rates: Float[Array, " r"]) -> Float[Array, "t s"]:
    """The mean risk before every step and after the last one, from every start."""

    def step(now: Moving, rate: Array) -> tuple[Moving, Array]:
        return _stepped(nodes, now, jnp.ones(()), rate, rate**2), _risk(nodes, now)

    end, seen = jax.lax.scan(step, _at_rest(D), rates)
    return jnp.append(seen, _risk(nodes, end)[None], axis=0)


@program
def end_in_batches(
    nodes: Nodes, D: Float[Array, "s b"], rates: Float[Array, " r"], batches: Float[Array, " r"]
) -> Float[Array, " s"]:
    """The mean risk after the last step, from every start, where every step has a rate and a batch of its own."""

    def step(now: Moving, given: tuple[Array, Array]) -> tuple[Moving, None]:
        rate, batch = given
        taken = eqx.tree_at(lambda one: one.batch, nodes, batch)
        return _stepped(taken, now, jnp.ones(()), rate, rate**2), None

    return _risk(nodes, jax.lax.scan(step, _at_rest(D), (rates, batches))[0])


def end_slopes(nodes: Nodes, D: Float[Array, "s b"], rates: Float[Array, " r"], ends: Ends) -> Slopes:
    """The function `ends` of the final risks, and its slopes; memory grows like the root of the number of steps."""
    length = max(1, round(sqrt(rates.size)))
    stretches = ceil(rates.size / length)
    before = stretches * length - rates.size  # steps at rate 0 before the first one, when nothing moves

    @jax.checkpoint
    def stretch(now: Moving, given: Array) -> tuple[Moving, None]:
        return jax.lax.scan(lambda state, one: (_stepped(nodes, state, *one), None), now, given)

    def value(given: Array) -> Array:
        padded = jnp.pad(given, ((before, 0), (0, 0))).reshape(stretches, length, 3)
        end, _ = jax.lax.scan(stretch, _at_rest(D), padded)
        return ends(_risk(nodes, end))

    found, slopes = jax.value_and_grad(value)(jnp.stack([jnp.ones_like(rates), rates, rates**2], axis=1))
    return Slopes(found, *slopes.T)


def greedy_rates(
    nodes: Nodes, D: Float[Array, "s b"], count: int, bounds: Float[Array, "2"], ends: Ends
) -> tuple[Float[Array, " r"], Float[Array, ""]]:
    """The rates of so many steps that lower `ends` of the risks most in every step; and the rate that leaves it at the start."""

    def slopes(now: Moving) -> tuple[Array, Array]:
        falls, grows = jax.grad(lambda by: ends(_risk(nodes, _stepped(nodes, now, jnp.ones(()), *by))))(jnp.zeros(2))
        return -falls, grows

    def step(now: Moving, _: None) -> tuple[Moving, Array]:
        falls, grows = slopes(now)
        rate = jnp.where(grows > 0, jnp.clip(falls / (2 * jnp.where(grows > 0, grows, 1.0)), *bounds), bounds[1])
        return _stepped(nodes, now, jnp.ones(()), rate, rate**2), rate

    falls, grows = slopes(_at_rest(D))
    return jax.lax.scan(step, _at_rest(D), None, length=count)[1], falls / grows


def _at_rest(D: Float[Array, "s b"]) -> Moving:
    return Moving(D, jnp.zeros_like(D), jnp.zeros_like(D))


def _stepped(nodes: Nodes, now: Moving, carried: Array, rate: Array, squared: Array) -> Moving:
    """One step; what velocities carry on, without a gradient, counts by the factor `carried`, which is 1."""
    beta = nodes.momentum
    driven = (2 * _risk(nodes, now) + nodes.Delta)[:, None] * nodes.driven
    new = after_step(now, nodes.pull, Push(rate, squared, driven), nodes.batch, beta)
    coasted = Moving(
        beta**2 * now.T - 2 * beta * now.S, beta * now.S - beta**2 * now.T - now.S, beta**2 * now.T - now.T
    )
    return jax.tree.map(lambda x, by: x + (carried - 1) * by, new, coasted)


def _risk(nodes: Nodes, now: Moving) -> Float[Array, " s"]:
    return (nodes.always + now.D @ nodes.weights) / 2
