"""Networks on a data set: how paths grow with steps and units, and their price beside real training at an equal error bar."""

import time
from typing import Any

import jax
import numpy as np

import dimfree as df
from clock import Bar
from dimfree.dataset.committee.descent import run_network
from dimfree.dataset.committee.paths import solve_paths
from dimfree.dataset.committee.problem_model import network_model, network_start
from dimfree.dataset.committee.taught import risks

BARS = {
    "network_paths_steps": Bar(True, 5.5),
    "network_paths_units": Bar(True, 5.0),
    "network_paths_over_sgd": Bar(True, 0.5),
}


def ratios(smoke: bool) -> dict[str, float]:
    """80 steps over 40, 8 units over 4; CPU seconds times squared error bars of M, Q and losses, 8000 paths over d = 1000."""
    steps, paths, d, runs = (4, 400, 40, 3) if smoke else (40, 4000, 1000, 48)  # variances of few runs are a third off
    short, long = (path_seconds(2, count, paths) for count in (steps, 2 * steps))
    few, many = (path_seconds(p, steps // 2, paths) for p in (4, 8))
    theory = [timed(solve_paths, 2, steps, d, number, 2 * paths) for number in range(runs)]
    real = [timed(run_network, 2, steps, d, number) for number in range(runs)]
    return {
        "network_paths_steps": long / short,
        "network_paths_units": many / few,
        "network_paths_over_sgd": float(np.exp(np.mean(np.log(prices(theory) / prices(real))))),
    }


def case(p: int, d: int) -> tuple[Any, Any]:
    """Full batches, erf units, three samples per dimension."""
    problem = df.Problem(
        dimension=d,
        data=df.DataSetTeacher(samples=3.0, noise=0.02),
        network=df.TwoLayer(width=p),
        training=df.NetworkMultiPass(learning_rate=1.5),
        start=df.OverlapStart(Q=np.eye(p).tolist(), M=(np.linspace(0.2, 0.8, 2 * p).reshape(p, 2) / p).tolist()),
    )
    return network_model(problem), network_start(problem, jax.random.key(0), frozenset())


def path_seconds(p: int, steps: int, paths: int) -> float:
    """CPU seconds of one ensemble, compiled: the best of three."""
    model, start = case(p, 40)
    best = float("inf")
    for number in range(4):
        started = time.process_time()
        solve_paths(model, start, steps, jax.random.key(number), paths)
        best = min(best, time.process_time() - started) if number else best
    return best


def timed(solver: Any, p: int, steps: int, d: int, number: int, *more: int) -> tuple[float, list[np.ndarray]]:
    """CPU seconds of one ensemble or one data set, and its observables at the end."""
    model, start = case(p, d)
    asked = np.arange(steps + 1) if solver is run_network else steps
    started = time.process_time()
    found = solver(model, start, asked, jax.random.key(number), *more)
    taken = time.process_time() - started
    risk = risks(model, found.M[-1:], found.Q[-1:], found.a[-1:])
    return taken, [found.M[-1], found.Q[-1], found.train_loss[-1:], risk]


def prices(runs: list[tuple[float, list[np.ndarray]]]) -> np.ndarray:
    """CPU seconds that an error bar of one would take for every observable: those of a run (the first compiles) times the
    variance between runs."""
    seconds = np.median([taken for taken, _ in runs[1:]])
    values = zip(*(seen for _, seen in runs), strict=True)
    return np.array([seconds * np.stack(one).var(axis=0, ddof=1).mean() for one in values])
