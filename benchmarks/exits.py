"""Exit times: following a replica to its exit on vectors, over following it in overlap space."""

from typing import Any

import jax
import jax.numpy as jnp

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.onepass.real.blocked import BlockedSGD
from dimfree.onepass.real.passages import advance_passage, begin_passage, draw_starts

BARS = {"exits_vector_vs_chain": Bar(False, 8)}


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time per replica at d = 1000: 32 replicas on vectors stand for the 1000 that the chain follows."""
    few, many, least = (4, 32, 0.01) if smoke else (32, 1000, 1.0)
    vectors, chain = (
        seconds(df.experiments.VectorSGD(), few, least),
        seconds(df.experiments.OverlapChain(), many, least),
    )
    return {"exits_vector_vs_chain": vectors / chain}


def seconds(sgd: BlockedSGD[Any, Any], replicas: int, least: float) -> float:
    """CPU seconds per replica over the first 1024 steps, a part of the way that nearly all of them take."""
    p = df.Problem(
        dimension=1000,
        data=df.Teacher(units=1, activation="square", noise=0.01),
        network=df.TwoLayer(width=1, activation="square"),
        training=df.OnePass(learning_rate=0.08, spherical=True),
        start=df.SphereStart(),
    )
    model = df.extend.model(p)
    starts = draw_starts(p, jax.random.key(0), replicas, vectors="vectors" in sgd.needs)
    passage = begin_passage(sgd, model, starts, jnp.asarray(0.1), jax.random.key(1))
    end, stride = jnp.asarray(1024 * p.time_step), jnp.asarray(sgd.steps_per_block(model))
    return cpu_seconds(advance_passage, sgd, model, passage, end, stride, least=least, rounds=3) / replicas
