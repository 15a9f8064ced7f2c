"""Two Gaussians: the law of the neurons must cost a small part of the SGD run that it predicts."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import dimfree as df
from clock import Bar, cpu_seconds

BARS = {"pde_over_sgd": Bar(True, 1 / 50)}
MEASURED = 4000  # steps of SGD, of 2e7


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time of 400 particles to t = 20 over SGD with d = 40, N = 800, eps = 1e-6, estimated from a part of its steps."""
    width, particles, until = (20, 10, 0.1) if smoke else (800, 400, 20.0)
    problem = df.extend.OnePassProblem(
        data=df.TwoGaussians(),
        network=df.TwoLayer(width=width),
        training=df.OnePass(learning_rate=1e-6 * width * 40),
        run=df.Run(until=until, replicas=1, points=5, spacing="linear"),
    )
    least = 0.01 if smoke else 1.0
    return {"pde_over_sgd": limit_seconds(problem, particles, least) / sgd_seconds(problem, least)}


def limit_seconds(problem: df.extend.OnePassProblem, particles: int, least: float) -> float:
    """CPU seconds of the whole solution, compiled."""
    until = from_start(df.theories.DistributionalDynamics(particles=particles), problem)
    return cpu_seconds(until, jnp.asarray(problem.times), least=least, rounds=3)


def sgd_seconds(problem: df.extend.OnePassProblem, least: float) -> float:
    """CPU seconds of all steps at the speed of the first few; observing costs the same with and without them."""
    until = from_start(df.experiments.VectorSGD(), problem)
    times = (jnp.asarray([steps * problem.time_step]) for steps in (0, MEASURED))
    none, some = (cpu_seconds(until, time, least=least, rounds=3) for time in times)
    return (some - none) / MEASURED * problem.steps(problem.run.until)


def from_start(one: df.extend.Evolution[Any, df.extend.Start, Any], problem: df.extend.OnePassProblem) -> Any:
    """The risk at some times as a compiled function of them."""
    model, key = df.extend.model(problem), jax.random.key(0)
    state = one.begin(model, df.extend.draw_start(problem, key, vectors=True), 1, key)
    return eqx.filter_jit(lambda times: one.advance(model, state, times)[1]["risk"])
