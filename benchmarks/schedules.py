"""Schedules: the gradient of a final risk over its value, and a whole search over the chain that confirms it."""

import time

import jax
import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.gallery.optimal_schedule import committee
from dimfree.programs.compiled import program
from dimfree.questions.schedules.grid import Grid
from dimfree.questions.schedules.parts import steerable
from dimfree.questions.schedules.walk import final, steered

BARS = {"schedule_gradient": Bar(True, 6.0), "schedule_search": Bar(True, 40.0)}


def ratios(smoke: bool) -> dict[str, float]:
    """Gradient over value, both compiled; search with compilation over 32 replicas of the chain under one schedule."""
    problem = committee(0.0, 5.0 if smoke else 50.0)
    model, grid = steerable(df.extend.model(problem)), Grid(problem.run.until, 40 if smoke else 400)
    start = jax.tree.map(lambda x: x[None], df.extend.draw_start(problem, jax.random.key(0), vectors=False).overlaps)
    steps, factors, numbers = jax.device_put(
        (np.diff(grid.times), np.full(len(grid.points), 1.7), np.array([1.0, 0.0]))
    )
    least = 0.01 if smoke else 1.0
    value = cpu_seconds(program(final), model, start, steps, factors, "mean-log", least=least)
    gradient = cpu_seconds(steered, model, start, steps, factors, numbers, "mean-log", least=least)
    found = {"schedule_gradient": gradient / value}
    return found if smoke else found | {"schedule_search": _search(problem)}


def _search(problem: df.extend.OnePassProblem) -> float:
    """The search without confirmation over one confirming run, which is compiled before."""
    run = problem.replace(**{"training.schedule": df.LinearKnots(times=(0.0,), factors=(1.755,)), "run.replicas": 32})
    df.simulate(run, by="chain")
    began = time.process_time()
    df.simulate(run, by="chain")
    middle = time.process_time()
    df.optimise(problem, knots=25, confirm="none")
    return (time.process_time() - middle) / (middle - began)
