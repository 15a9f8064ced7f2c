"""Dynamical mean-field theory: its price beside the simulation it replaces, and how it grows with the number of steps."""

import time
from collections.abc import Callable
from typing import Any

import jax

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.dataset.dataset_model import descent_model
from dimfree.dataset.dmft.paths import solve_paths
from dimfree.dataset.dmft.square import solve
from dimfree.dataset.multi_pass_model import MultiPassModel
from dimfree.dataset.real.descent import simulate_dataset

BARS = {"dmft_over_simulation": Bar(True, 1.0), "dmft_paths_steps": Bar(True, 8.5), "dmft_square_steps": Bar(True, 8.0)}


def ratios(smoke: bool) -> dict[str, float]:
    """Four ensembles of 4000 paths over 40 seeds in dimension 1000, 80 steps; twice as many steps, by paths and exactly."""
    steps, paths, dimension, seeds = (5, 100, 40, 2) if smoke else (80, 4000, 1000, 40)
    logistic, key = limit("logistic"), jax.random.key(0)
    solve_paths(logistic, 1, key, paths, 2)  # compiles
    short, long = (once(solve_paths, logistic, count, key, paths, 4) for count in (steps, 2 * steps))
    asked = list(range(steps + 1))
    simulate_dataset(logistic, dimension, asked, key, 1)  # compiles
    simulated = once(simulate_dataset, logistic, dimension, asked, key, seeds)
    few, many = (exact_seconds(count) for count in ((10, 20) if smoke else (300, 600)))
    return {
        "dmft_over_simulation": short / simulated,
        "dmft_paths_steps": long / short,
        "dmft_square_steps": many / few,
    }


def limit(loss: str) -> MultiPassModel:
    """Two clusters, a third of the samples in each batch."""
    training = df.MultiPass(loss=loss, batch_fraction=0.3, weight_decay=0.1)
    return descent_model(df.extend.DataSetProblem(training=training)).limit


def once(function: Callable[..., Any], *args: Any) -> float:
    """CPU seconds of one call, which takes long enough for the clock."""
    started = time.process_time()
    function(*args)
    return time.process_time() - started


def exact_seconds(steps: int) -> float:
    """CPU seconds of one exact solution, compiled."""
    return cpu_seconds(solve, limit("square"), steps, least=0.01, rounds=1 if steps < 100 else 3)
