"""Scaling laws: what the deterministic equivalent and the exact mean of a drawn projection cost, in CPU seconds.

The cost of the equivalent must not grow with the size, only with its logarithm.
"""

import jax
import jax.numpy as jnp
import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.onepass.projected.mean_risk import mean_risks
from dimfree.onepass.projected.measures import drawn, equivalent
from dimfree.onepass.projected.population import power_law
from dimfree.readings.frontier import lowest
from overlaps import advance

LAST = 1e9  # step of a curve
BARS = {
    "equivalent_1e6_inputs": Bar(True, 1.0),  # CPU seconds, size 1e5, nodes and 60 times
    "equivalent_1e9_inputs": Bar(True, 2.0),  # size 1e6
    "equivalent_flat_in_size": Bar(True, 3.0),  # size 1e6 over size 1e4, at 1e8 inputs
    "projection_8000_1024": Bar(True, 2.0),  # CPU seconds of a drawn projection and 30 times
    "frontier_30_sizes": Bar(True, 30.0),  # CPU seconds, six decades of compute
    "eigenbasis_over_genuine": Bar(False, 20.0),  # speed of SGD behind a projection, 8 inputs per feature, size 1024
    "sgd_over_equivalent": Bar(False, 1e4),  # one run to the last time of the curve, from the time of a step; same size
}


def curve(v: float, d: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The mean risk at 60 times."""
    population = power_law(1.0, 0.7, v)
    return mean_risks(equivalent(population, d), 0.5 / population.trace, 1, 0.0, np.geomspace(1, LAST, 60))


def projection(v: int, d: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The exact mean for a drawn projection at 30 times."""
    j = np.arange(1.0, v + 1)
    W = np.random.default_rng(0).standard_normal((v, d)) / np.sqrt(d)
    return mean_risks(drawn(j**-1.4, j**-1.2, W).measures, 0.16, 1, 0.0, np.geomspace(1, 1e6, 30))


def frontier(sizes: int) -> object:
    """The best size of every budget."""
    compute, d = np.geomspace(1e4, 1e10, 25), np.round(16 * 2 ** (np.arange(sizes) / 2))
    risks = []
    for size in d:
        population = power_law(0.7, 1.2, 1000 * size)
        risks.append(mean_risks(equivalent(population, size), 0.5 / population.trace, 1, 0.0, compute / size))
    return lowest(d, np.array(risks), compute)


def seconds_of_sgd(given: df.Problem, steps: int) -> tuple[float, float]:
    """CPU seconds of a step of one replica, on genuine inputs and in the eigenbasis."""
    start = df.extend.draw_start(given, jax.random.key(0), vectors=True)
    model, replicas, spent = df.extend.model(given), 4, []
    for one in (model, model.in_eigenbasis):
        state = df.experiments.VectorSGD().begin(one, start, replicas, jax.random.key(1))
        until = jnp.asarray(steps * given.time_step)
        spent.append(cpu_seconds(advance, df.experiments.VectorSGD(), one, state, until, rounds=2) / (replicas * steps))
    return spent[0], spent[1]


def of_sgd(size: int, steps: int) -> dict[str, float]:
    """SGD on genuine inputs over SGD in the eigenbasis, and over the equivalent for the same curve."""
    given = df.Problem(dimension=size, data={"kind": "power-law"}, training={"learning_rate": 0.1})
    genuine, eigenbasis = seconds_of_sgd(given, steps)
    return {
        "eigenbasis_over_genuine": genuine / eigenbasis,
        "sgd_over_equivalent": LAST * genuine / cpu_seconds(curve, 8.0 * size, float(size)),
    }


def ratios(smoke: bool) -> dict[str, float]:
    """CPU seconds, and ratios of them."""
    few = {"least": 0.01, "rounds": 1}
    if smoke:
        return {
            "equivalent_1e6_inputs": cpu_seconds(curve, 1e3, 1e2, **few),
            "projection_8000_1024": cpu_seconds(projection, 80, 10, **few),
            "frontier_30_sizes": cpu_seconds(frontier, 3, **few),
            **of_sgd(16, 32),
        }
    return {
        "equivalent_1e6_inputs": cpu_seconds(curve, 1e6, 1e5),
        "equivalent_1e9_inputs": cpu_seconds(curve, 1e9, 1e6),
        "equivalent_flat_in_size": cpu_seconds(curve, 1e8, 1e6) / cpu_seconds(curve, 1e8, 1e4),
        "projection_8000_1024": cpu_seconds(projection, 8000, 1024, rounds=3),
        "frontier_30_sizes": cpu_seconds(frontier, 30, rounds=3),
        **of_sgd(1024, 320),
    }
