"""Accounts that take no time, for tests of whoever computes, keeps and draws them; other processes import them from here."""

import os
import signal
import time
from pathlib import Path
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

import dimfree as df

BASE = df.Problem(dimension=50, run=df.Run(until=2.0, replicas=2, points=5, spacing="linear"))
RATES = "training.learning_rate"


class Square(df.extend.Stationary):
    """The square of the learning rate, which diverges at 7 and is killed at 9, once if `once` names a file that it can leave."""

    name: ClassVar[str] = "square"
    summary: ClassVar[str] = "a number"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = df.extend.OnePassModel
    once: str = ""

    def refuses(self, problem, model):
        return "it does not like 5." if problem.training.learning_rate == 5 else None

    def cost(self, problem, model):
        return df.extend.Cost(seconds=0.0, steps=1, memory=0.0)

    def solve(self, model):
        rate = float(model.gamma)
        if notes := os.environ.get("DIMFREE_TEST_NOTES"):  # who wants to know how often a point is computed
            with Path(notes).open("a") as file:
                file.write(f"{rate!r}\n")
            time.sleep(0.01)
        if rate == 7:
            raise df.DivergenceError("it diverges at 7.")
        if rate == 9 and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"risk": np.asarray(rate**2), "a": np.arange(model.width) * rate}


class Decay(df.extend.Evolution):
    """exp(-rate t), of which many can be computed at once."""

    name: ClassVar[str] = "decay"
    summary: ClassVar[str] = "an exponential"
    cites: ClassVar[tuple[str, ...]] = ()
    models: ClassVar[type[df.extend.Model]] = df.extend.OnePassModel
    chunk: ClassVar[int] = 3

    def cost(self, problem, model):
        return df.extend.Cost(seconds=0.0, steps=1, memory=1e3)

    def begin(self, model, start, replicas, key):
        return model.gamma

    def advance(self, model, state, times):
        return state, {"risk": jnp.exp(-state * times)[:, None]}

    def failure(self, model, state):
        return "it fails at 3." if state == 3 else None
