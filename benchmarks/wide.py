"""The dimensionless limit: its cost must grow linearly with the width."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.onepass.limits.wide import Dimensionless
from dimfree.onepass.start import draw_particles

BARS = {"dimensionless_width": Bar(True, 150)}


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time to t = 10 with two teachers: width 10,000 over width 100."""
    widths = (40, 400) if smoke else (100, 10_000)
    narrow, wide = (seconds(width, 0.01 if smoke else 1.0) for width in widths)
    return {"dimensionless_width": wide / narrow}


def seconds(width: int, least: float) -> float:
    """CPU seconds of one solution, compiled."""
    p = df.Problem(dimension=1000, network=df.TwoLayer(width=width), data=df.Teacher(units=2))
    one, start = Dimensionless(), df.extend.Start(draw_particles(p, jax.random.key(0)), None, jnp.zeros(width))

    @eqx.filter_jit
    def solve(model: Any, start: df.extend.Start) -> Any:
        return one.advance(model, one.begin(model, start, 1, jax.random.key(0)), jnp.asarray([10.0]))[0]

    return cpu_seconds(solve, df.extend.model(p), start, least=least, rounds=3)
