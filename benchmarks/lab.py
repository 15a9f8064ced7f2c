"""A slider of the lab: from the message of a page to the curve of the theory, over the compiled program that solves it."""

import asyncio
import json
from contextlib import contextmanager
from threading import Thread
from typing import Any

import jax
import uvicorn
from websockets.sync.client import connect

import dimfree as df
from clock import Bar, cpu_seconds
from dimfree.comparison.run import own_key
from dimfree.description import Ask, Evolution
from dimfree.lab.guard import door
from dimfree.lab.live import prepared
from dimfree.lab.serve import LOOPBACK, config, listen
from dimfree.lab.server import application
from dimfree.lab.shelf import plain_problem
from dimfree.registry import description, setting_of
from dimfree.setting import model_of

BARS = {"lab_slider_over_solve": Bar(True, 3.0)}


def ratios(smoke: bool) -> dict[str, float]:
    """CPU time of the round trip, server and client together, over that of the bare program; the embedded problem."""
    problem = df.Problem(run={"until": 5.0}) if smoke else df.Problem()
    least, rounds = (0.01, 1) if smoke else (1.0, 5)
    bare = cpu_seconds(solver(problem), least=least, rounds=rounds)
    with served(problem) as ask:
        return {"lab_slider_over_solve": cpu_seconds(ask, least=least, rounds=rounds) / bare}


def solver(problem: df.Problem) -> Any:
    """The theory of the setting as one call of its program, from a start that is there already."""
    one = description(setting_of(problem).theory)
    assert isinstance(one, Evolution)
    model, start = model_of(problem), prepared(problem).starts[0]
    ask = Ask(problem.times, 1, own_key(problem, one.title))
    return lambda: jax.block_until_ready(one.at_once(model, start, ask).observables)


@contextmanager
def served(problem: df.Problem) -> Any:
    """A server, and what asks it for the theory at another learning rate each time, as a slider does."""
    listening = listen(LOOPBACK, 0)
    through = door(LOOPBACK, listening.getsockname()[1], "benchmark")
    server = uvicorn.Server(config(application(problem, through)))
    thread = Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    at, values, count = f"{LOOPBACK}:{through.port}", plain_problem(problem), 0
    headers = {"Cookie": f"{through.cookie}={through.token}"}
    with connect(f"ws://{at}/socket", origin=f"http://{at}", additional_headers=headers, max_size=None) as socket:

        def ask() -> None:
            nonlocal count
            count += 1
            values["training"]["learning_rate"] = 1.0 + 1e-4 * count
            socket.send(json.dumps({"id": count, "ask": "solve", "problem": values}))
            while True:
                told = json.loads(socket.recv())
                if told["id"] == count and told["part"] == "curve" and told["name"] == setting_of(problem).theory:
                    socket.send(json.dumps({"id": 0, "ask": "cancel", "target": count}))
                    break

        yield ask
    server.should_exit = True
    thread.join(30)
    listening.close()
