"""Structured inputs and momentum beside isotropic inputs and plain SGD (docs/theory/structured.md)."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import dimfree as df
import structured_runs
from clock import Bar, cpu_seconds
from dimfree.onepass.limits.blocks import BlockEquations
from dimfree.onepass.linear_mean import critical_rate
from dimfree.onepass.rule import OnePassModel
from dimfree.states.blocks import Blocks
from dimfree.states.overlaps import Overlaps
from overlaps import per_step, problem

BARS = {
    "sgd_structured": Bar(True, 1.15),
    "sgd_momentum": Bar(True, 1.3),
    "chain_three_levels": Bar(True, 3.5),
    "chain_levels_dimension": Bar(True, 1.1),
    "chain_momentum": Bar(True, 2.5),
    "rhs_three_levels": Bar(True, 1.3),
    "rhs_nodes": Bar(True, 2.5),
    "critical_rate_levels": Bar(True, 1.0),  # seconds, at 600 levels of a million dimensions
    **structured_runs.BARS,
}
LEVELS = {"kind": "levels", "values": [3.0, 1.0, 0.2], "shares": [0.125, 0.375, 0.5]}
REPLICAS = 16
CALLS = 1000  # of a right-hand side


def right_hand_side(model: OnePassModel, state: Any, least: float) -> float:
    """CPU seconds of the equations of overlaps, or of those for every block, in a compiled loop, less what the loop costs."""
    one: Any = BlockEquations() if isinstance(state, Blocks) else df.theories.HighDimensional()
    called = _looped(lambda m, y: one.velocity(m, jnp.zeros(()), y), model, state, least)
    return called - _looped(lambda m, y: y, model, state, least)


def _looped(velocity: Any, model: OnePassModel, state: Any, least: float) -> float:
    @eqx.filter_jit
    def loop(m: Any, y: Any) -> Any:
        step = lambda _, y: jax.tree.map(lambda a, b: a + 1e-9 * b, y, velocity(m, y))  # noqa: E731
        return jax.lax.fori_loop(0, CALLS, step, y)

    return cpu_seconds(loop, model, state, least=least) / CALLS


def blocks(count: int, n: int) -> Blocks:
    """Overlaps of as many blocks, all alike, whose fields are those of one."""
    A = np.random.default_rng(0).normal(size=(n, 2 * n)) / np.sqrt(2 * n)
    Omega = np.broadcast_to(A @ A.T / count, (count, n, n))
    a, s, rho = np.ones(n // 2), np.ones(count), np.full(count, 1 / count)
    return Blocks(*jax.device_put((Omega.copy(), a, s, rho, 0.0)))


def ratios(smoke: bool) -> dict[str, float]:
    steps, least = (32, 0.01) if smoke else (640, 0.5)
    plain = problem(width=2, units=2, dimension=1000)
    leveled = plain.replace(**{"data.covariance": LEVELS})
    moving = plain.replace(**{"training.momentum": 0.9, "training.learning_rate": 0.1})
    sgd, chain = (
        per_step(df.experiments.VectorSGD(), plain, steps, REPLICAS, least),
        per_step(df.experiments.OverlapChain(), plain, steps, REPLICAS, least),
    )
    levels = per_step(df.experiments.OverlapChain(), leveled, steps, REPLICAS, least)
    both = leveled.replace(**{"training.momentum": 0.9, "training.learning_rate": 0.1})
    wide = problem(width=4, units=4)
    one = blocks(1, 8)
    overlaps = Overlaps(one.Omega[0, :4, :4], one.Omega[0, :4, 4:], one.a)
    isotropic = right_hand_side(df.extend.model(wide), overlaps, least)
    model = df.extend.model(wide.replace(**{"data.covariance": LEVELS}))
    counts = np.full(600, 1666.0)
    return {
        "sgd_structured": per_step(df.experiments.VectorSGD(), leveled, steps, REPLICAS, least) / sgd,
        "sgd_momentum": per_step(df.experiments.VectorSGD(), moving, steps, REPLICAS, least) / sgd,
        "chain_three_levels": levels / chain,
        "chain_levels_dimension": per_step(
            df.experiments.OverlapChain(), leveled.replace(dimension=10**6), steps, REPLICAS, least
        )
        / levels,
        "chain_momentum": per_step(df.experiments.OverlapChain(), both, steps, REPLICAS, least) / levels,
        "rhs_three_levels": right_hand_side(model, blocks(3, 8), least) / isotropic,
        "rhs_nodes": right_hand_side(model, blocks(96, 8), least) / isotropic,
        "critical_rate_levels": cpu_seconds(critical_rate, np.geomspace(1.0, 1e-6, 600), counts, least=least),
        **structured_runs.ratios(smoke),
    }
