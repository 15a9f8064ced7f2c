"""Any loss, label law and clipping: what SGD and right-hand sides cost over the square loss of values.

All ratios are medians of CPU times that are measured in turns, since other work on a machine changes its speed.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import dimfree as df
from clock import Bar
from overlaps import REPLICAS, advance, problem, start_of

BARS = {
    "chain_any_loss": Bar(True, 1.15),  # the slowest of CASES over the square loss, per step
    "chain_clusters": Bar(
        True, 1.3
    ),  # XOR and the logistic loss, two directions, over two teachers and the square loss
    "sgd_any_loss": Bar(True, 1.1),
    "rhs_any_loss_1_1": Bar(True, 10.0),  # erf units, logistic loss, signs over the closed form of the square loss
    "rhs_any_loss_2_1": Bar(True, 15.0),
    "rhs_any_loss_4_4": Bar(True, 40.0),
    "rhs_any_loss_relu_1_1": Bar(True, 10.0),  # the same with ReLU units
    "rhs_any_loss_relu_2_1": Bar(True, 15.0),
    "rhs_any_loss_relu_4_4": Bar(True, 40.0),
    "rhs_student_noise": Bar(True, 3.0),  # Huber's loss: Student noise over Gaussian noise
    "perceptron_law_seconds": Bar(True, 2.0),  # CPU seconds of the ODE to 10,000 samples per dimension, once compiled
}
CASES = {
    "logistic": {"data.labels": "sign", "data.flip": 0.1, "training.loss": "logistic"},
    "hinge": {"data.labels": "logistic", "training.loss": "hinge"},
    "Huber, Student": {"data.noise_law": {"student": 3.0}, "training.loss": "huber"},
    "clipped errors": {"training.clip": {"error": 1.0}},
}
SIGNS = {"data.labels": "sign", "data.noise": 0.0, "training.loss": "logistic"}


def paired(one: Callable[[], Any], other: Callable[[], Any], rounds: int, calls: int) -> float:
    """The median over rounds of the CPU time of one over that of the other, which take turns."""
    for call in (one, other):
        jax.block_until_ready(call())
    return statistics.median(_spent(one, calls) / _spent(other, calls) for _ in range(rounds))


def _spent(call: Callable[[], Any], calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        jax.block_until_ready(call())
    return time.process_time() - started


def stepping(one: Any, p: df.Problem, steps: int, replicas: int) -> Callable[[], Any]:
    """So many steps of SGD."""
    runner, model = one.twin(df.extend.model(p))
    state = runner.begin(model, start_of(p, vectors="vectors" in one.needs), replicas, jax.random.key(2))
    target = jnp.asarray(steps * p.time_step)
    return lambda: advance(runner, model, state, target)


def velocity(width: int, units: int, activation: str, changes: dict[str, Any], times: int = 20) -> Callable[[], Any]:
    """So many right-hand sides of the ODE, the variance term included."""
    p = df.Problem(
        data={"kind": "teacher", "units": units, "activation": activation},
        network={"width": width, "activation": activation},
    ).replace(**changes)
    runner, model = df.theories.HighDimensional().twin(df.extend.model(p))
    state = start_of(p, vectors=False).overlaps

    @eqx.filter_jit
    def program(
        m: Any, s: df.extend.Overlaps
    ) -> df.extend.Overlaps:  # many of them in one call, which itself takes longer than one
        nudge = lambda x, v: x + 1e-9 * v  # noqa: E731
        return jax.lax.fori_loop(
            0, times, lambda _, now: jax.tree.map(nudge, now, runner.velocity(m, jnp.zeros(()), now)), s
        )

    return lambda: program(model, state)


def rhs(width: int, units: int, activation: str, rounds: int, calls: int) -> float:
    """The logistic loss of signs over the square loss of values."""
    return paired(
        velocity(width, units, activation, SIGNS), velocity(width, units, activation, {}), rounds=rounds, calls=calls
    )


def perceptron_law() -> float:
    """CPU seconds of the ODE of the perceptron rule, the second time, when programs are compiled."""
    p = df.Problem(
        data={"kind": "teacher", "units": 1, "activation": "linear", "labels": "sign"},
        network={"width": 1, "activation": "linear"},
        training={"learning_rate": 1.0, "loss": {"kind": "hinge", "margin": 0.0}},
        start={"kind": "overlaps", "Q": [[1.0]], "M": [[0.1]]},
        run={"until": 1e4, "times": [1e2, 1e3, 1e4]},
    )
    df.solve(p, "ode")
    started = time.process_time()
    df.solve(p, "ode")
    return time.process_time() - started


def ratios(smoke: bool) -> dict[str, float]:
    """The table of this subject."""
    rounds, calls, steps = (1, 1, 160) if smoke else (7, 1, 800)

    def slowest(one: Any, replicas: int) -> float:
        square = stepping(one, problem(), steps, replicas)
        cases = [stepping(one, problem().replace(**changes), steps, replicas) for changes in CASES.values()]
        return max(paired(case, square, rounds, 1) for case in cases)

    two = problem().replace(**{"data.units": 2})
    xor = two.replace(data={"kind": "clusters"}, training={"learning_rate": 1.0, "loss": "logistic"})
    huber = {"data.noise": 0.2, "training.loss": "huber"}
    heavy = huber | {"data.noise_law": {"student": 3.0}}
    chain, many = df.experiments.OverlapChain(), 100 * calls
    return {
        "chain_any_loss": slowest(chain, 256),
        "chain_clusters": paired(stepping(chain, xor, steps, 256), stepping(chain, two, steps, 256), rounds, 1),
        "sgd_any_loss": slowest(df.experiments.VectorSGD(), REPLICAS),
        "rhs_any_loss_1_1": rhs(1, 1, "erf", rounds, many),
        "rhs_any_loss_2_1": rhs(2, 1, "erf", rounds, many),
        "rhs_any_loss_4_4": rhs(4, 4, "erf", rounds, calls),
        "rhs_any_loss_relu_1_1": rhs(1, 1, "relu", rounds, many),
        "rhs_any_loss_relu_2_1": rhs(2, 1, "relu", rounds, many),
        "rhs_any_loss_relu_4_4": rhs(4, 4, "relu", rounds, calls),
        "rhs_student_noise": paired(velocity(1, 1, "erf", heavy), velocity(1, 1, "erf", huber), rounds, calls),
        "perceptron_law_seconds": perceptron_law(),
    }
