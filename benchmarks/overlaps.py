"""Real SGD, the overlap chain and the high-dimensional ODE."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.gaussian.variance.ladder import variance_error
from dimfree.random_numbers import normals
from dimfree.states.overlaps import Overlaps

BARS = {
    "vector_sgd_vs_rng": Bar(False, 0.65),
    "vector_sgd_vs_naive": Bar(False, 6),
    "chain_vs_vector": Bar(False, 6),
    "chain_dimension_free": Bar(True, 1.1),
    "ode_vs_euler": Bar(False, 40),
    "rhs_vs_arcsin_p8": Bar(True, 12),
    "rhs_vs_arcsin_p32": Bar(True, 6),
    "rhs_width": Bar(True, 400),
    "rhs_width_error": Bar(True, 1e-3),
}
REPLICAS = 16


def problem(width: int = 8, units: int = 4, dimension: int = 1000, **changes: Any) -> df.Problem:
    base = df.Problem(dimension=dimension, data=df.Teacher(units=units), network=df.TwoLayer(width=width))
    return base.replace(**changes) if changes else base


def start_of(p: df.Problem, vectors: bool = False) -> df.extend.Start:
    return df.extend.draw_start(p, jax.random.key(1), vectors=vectors)


@eqx.filter_jit
def advance(one: Any, model: Any, state: Any, time_: jax.Array) -> Any:
    return one.advance(model, state, time_[None])[0]


def per_step(
    one: df.extend.Evolution[Any, df.extend.Start, Any], p: df.Problem, steps: int, replicas: int, least: float
) -> float:
    """CPU seconds per step of one replica."""
    runner, model = one.twin(df.extend.model(p))
    state = runner.begin(model, start_of(p, vectors="vectors" in one.needs), replicas, jax.random.key(2))
    target = jnp.asarray(steps * p.time_step)
    return cpu_seconds(advance, runner, model, state, target, least=least) / (steps * replicas)


def random_number(least: float, dimension: int = 1000) -> float:
    """CPU seconds per float32 normal, of the generator and in the block size that vector SGD uses."""

    @jax.jit
    def draw(key: jax.Array) -> jax.Array:
        block = lambda n, total: total + jnp.sum(normals(jax.random.fold_in(key, n), REPLICAS * 16 * dimension))  # noqa: E731
        return jax.lax.fori_loop(0, 50, block, jnp.zeros((), jnp.float32))

    return cpu_seconds(draw, jax.random.key(0), least=least) / (50 * REPLICAS * 16 * dimension)


def naive_step(p: df.Problem, steps: int, least: float) -> float:
    """CPU seconds per step of a jitted scan that takes one float64 sample at a time."""
    model, start = df.extend.model(p), start_of(p, vectors=True)
    width, d = p.network.width, p.dimension

    def step(W: jax.Array, key: jax.Array) -> tuple[jax.Array, None]:
        x = jax.random.normal(key, (d,)) / jnp.sqrt(1.0 * d)
        fields = W @ x
        noise = jnp.sqrt(model.Delta) * jax.random.normal(jax.random.fold_in(key, 1))
        error = model.target(fields[width:]) + noise - jnp.mean(model.activation(fields[:width]))
        push = model.gamma / width * model.activation.derivative(fields[:width]) * error
        return W.at[:width].add(push[:, None] * x), None

    run = jax.jit(lambda W: jax.lax.scan(step, W, jax.random.split(jax.random.key(0), steps))[0])
    return cpu_seconds(run, start.weights, least=least) / steps


def rhs_seconds(width: int, least: float) -> float:
    """CPU seconds of one right-hand side as a solver calls it: inside a compiled loop, each call on the last one's result."""
    p, calls = problem(width), max(1, 20_000 // width**2)
    one = df.theories.HighDimensional()

    @eqx.filter_jit
    def loop(model: Any, y: Overlaps) -> Overlaps:
        step = lambda _, y: jax.tree.map(lambda a, b: a + 1e-9 * b, y, one.velocity(model, jnp.zeros(()), y))  # noqa: E731
        return jax.lax.fori_loop(0, calls, step, y)

    return cpu_seconds(loop, df.extend.model(p), start_of(p).overlaps, least=least) / calls


def arcsines(width: int, units: int, least: float) -> float:
    x = np.random.default_rng(0).uniform(-1, 1, width**2 * (width + units) ** 2 // 4)
    return cpu_seconds(lambda: np.arcsin(x), least=least)


def ode_and_euler(least: float, until: float) -> tuple[float, float]:
    p = problem()
    model, overlaps = df.extend.model(p), start_of(p).overlaps
    one = df.theories.HighDimensional(rtol=1e-6, atol=1e-8)
    solve = eqx.filter_jit(lambda m, s: one.advance(m, one.begin(m, s, 1, jax.random.key(0)), jnp.asarray([until]))[0])

    @eqx.filter_jit
    def euler(m: Any, y: Overlaps) -> Overlaps:
        step = lambda n, y: jax.tree.map(lambda a, b: a + 0.01 * b, y, one.velocity(m, 0.01 * n, y))  # noqa: E731
        return jax.lax.fori_loop(0, round(until / 0.01), step, y)

    adaptive = cpu_seconds(solve, model, df.extend.Start(overlaps, None, jnp.zeros(model.width)), least=least)
    return adaptive, cpu_seconds(euler, model, overlaps, least=0, rounds=1)


def ratios(smoke: bool) -> dict[str, float]:
    """The table of this subject; `rhs_width_error` is the relative error of the variance term at that width."""
    least = 0.01 if smoke else 2.0
    steps = 160 if smoke else 3200
    p = problem()
    vector = per_step(df.experiments.VectorSGD(), p, steps, REPLICAS, least)
    chain = per_step(df.experiments.OverlapChain(), p, steps, 256, least)
    far = per_step(df.experiments.OverlapChain(), problem(dimension=10**9), steps, 256, least)
    near = per_step(df.experiments.OverlapChain(), p, steps, 256, least)
    adaptive, euler = ode_and_euler(least, 2.0 if smoke else 1000.0)
    widths = (8, 16, 32) if smoke else (8, 16, 32, 128)
    rhs = {width: rhs_seconds(width, least) for width in widths}
    wide = problem(widths[-1])
    return {
        "vector_sgd_vs_rng": random_number(least) * p.dimension / vector,
        "vector_sgd_vs_naive": naive_step(p, steps, least) / vector,
        "chain_vs_vector": vector / chain,
        "chain_dimension_free": far / min(near, chain),
        "ode_vs_euler": euler / adaptive,
        "rhs_vs_arcsin_p8": rhs[8] / arcsines(8, 4, least),
        "rhs_vs_arcsin_p32": rhs[32] / arcsines(32, 4, least),
        "rhs_width": rhs[widths[-1]] / rhs[16],
        "rhs_width_error": float(eqx.filter_jit(variance_error)(df.extend.model(wide), start_of(wide).overlaps)),
    }
