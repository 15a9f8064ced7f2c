"""Sweeps: theories many at once against one by one, two processes against one, and Dask against the pool of processes.

The first is a ratio of CPU times. The other two are ratios of wall times, which only an idle machine with two cores can tell.
"""

import time
from typing import ClassVar

import numpy as np

import dimfree as df
from clock import Bar, cpu_seconds

BARS = {"sweep_at_once": Bar(False, 4.0), "sweep_two_processes": Bar(False, 1.6), "sweep_dask_vs_pool": Bar(True, 1.3)}
_RATES = "training.learning_rate"


class Busy(df.extend.Stationary):
    """A point that takes as many CPU seconds as it is told."""

    name: ClassVar[str] = "busy"
    summary: ClassVar[str] = "nothing, slowly"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = df.extend.OnePassModel
    seconds: float = 0.5

    def cost(self, problem, model):
        return df.extend.Cost(seconds=self.seconds, steps=1, memory=0.0)

    def solve(self, model):
        until, found = time.process_time() + self.seconds, 0.0
        while time.process_time() < until:
            found = float(np.sin(np.arange(1000.0)).sum())
        return {"risk": np.asarray(found)}


def ratios(smoke: bool) -> dict[str, float]:
    return {
        "sweep_at_once": _at_once(smoke),
        "sweep_two_processes": _processes(smoke),
        "sweep_dask_vs_pool": _dask(smoke),
    }


def _at_once(smoke: bool) -> float:
    """CPU time of 64 solves of the embedded problem over that of one sweep over their learning rates, all compiled."""
    problem = df.Problem()
    rates = np.geomspace(0.05, 2.5, 2 if smoke else 64).tolist()
    problems = [problem.replace(**{_RATES: rate}) for rate in rates]
    least, rounds = (0.01, 1) if smoke else (1.0, 3)

    def alone() -> None:
        for one in problems:
            df.solve(one)

    def together() -> None:
        assert (df.sweep(problem, {_RATES: rates})["failure"] == "").all()

    return cpu_seconds(alone, least=least, rounds=rounds) / cpu_seconds(together, least=least, rounds=rounds)


def _processes(smoke: bool) -> float:
    """Wall time of real SGD on vectors in one process over that in two."""
    problem = df.Problem(
        dimension=20 if smoke else 1000, run=df.Run(until=0.5 if smoke else 10.0, replicas=4, points=6)
    )
    over = {"run.seed": list(range(2 if smoke else 40))}
    simulated = {"descriptions": ["sgd"]}
    df.sweep(problem, {"run.seed": [0]}, processes=1, **simulated)  # compiled programs are kept for the others
    return _wall(problem, over, processes=1, **simulated) / _wall(problem, over, processes=2, **simulated)


def _dask(smoke: bool) -> float:
    """Wall time of 200 points of half a second on a local cluster of Dask over that in the pool of processes."""
    over, busy = {"run.seed": list(range(2 if smoke else 200))}, {"descriptions": [Busy(0.01 if smoke else 0.5)]}
    pool = _wall(df.Problem(), over, processes=2, **busy)
    return _wall(df.Problem(), over, processes=2, cluster="local", **busy) / pool


def _wall(problem: df.Problem, over: dict[str, list[int]], **more: object) -> float:
    started = time.perf_counter()
    assert (df.sweep(problem, over, **more)["failure"] == "").all()
    return time.perf_counter() - started
