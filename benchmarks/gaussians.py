"""Two Gaussians: the law of the neurons must cost a small part of the SGD run that it predicts."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from clock import Bar, cpu_seconds
from dimfree.onepass.gaussians_problem import Neurons, NoisyOnePass, TwoGaussiansProblem
from dimfree.problem import Run
from dimfree.onepass.real.neurons import NeuronSGD
from dimfree.onepass.limits.pde import DistributionalDynamics

BARS = {"pde_over_sgd": Bar(True, 1 / 50)}
MEASURED = 4000  # steps of SGD, of 2e7


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time of 400 particles to t = 20 over SGD with d = 40, N = 800, eps = 1e-6, estimated from a part of its steps."""
    width, particles, until = (20, 10, 0.1) if smoke else (800, 400, 20.0)
    problem = TwoGaussiansProblem(
        network=Neurons(width=width),
        training=NoisyOnePass(learning_rate=1e-6 * width * 40),
        run=Run(until=until, replicas=1, points=5, spacing="linear"),
    )
    least = 0.01 if smoke else 1.0
    return {"pde_over_sgd": limit_seconds(problem, particles, least) / sgd_seconds(problem, least)}


def limit_seconds(problem: TwoGaussiansProblem, particles: int, least: float) -> float:
    """CPU seconds of the whole solution, compiled."""
    one = DistributionalDynamics(particles=particles)
    m = one.model(problem)
    cloud = one.begin(m, one.start(problem, jax.random.key(0)), 1, jax.random.key(0))
    return cpu_seconds(lambda: one.advance(m, cloud, jnp.asarray(problem.times))[1].risk, least=least, rounds=3)


def sgd_seconds(problem: TwoGaussiansProblem, least: float) -> float:
    """CPU seconds of all steps at the speed of the first few; observing costs the same with and without them."""
    one = NeuronSGD()
    m = one.model(problem)
    walk = one.begin(m, one.start(problem, jax.random.key(0)), 1, jax.random.key(0))

    @eqx.filter_jit
    def until(time: Any) -> Any:
        return one.advance(m, walk, time[None])[1].risk

    none, some = (cpu_seconds(until, m.time_step * steps, least=least, rounds=3) for steps in (0, MEASURED))
    return (some - none) / MEASURED * problem.steps(problem.run.until)
