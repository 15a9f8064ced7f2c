"""Hostile messages for a server of the lab, and the honest page beside them."""

import json
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from serving import Client, asked, tiny
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from dimfree.errors import ProblemError
from dimfree.lab.session import read
from dimfree.lab.shelf import plain_problem
from dimfree.registry import settings

ASKS = ("hello", "controls", "text", "solve", "simulate", "cancel", "", "../..", "__class__")
KINDS = [kind for one in settings() for section in ("data", "training") for kind in one.kinds(section)]
NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**53,
    2**63,
    10**400,
    -(10**400),
    1e308,
    -1e308,
    5e-324,
    0.1,
    math.nan,
    math.inf,
    True,
    None,
)
WORDS = ("", "nan", "os:system", "/etc/passwd", "\x00", "é" * 50, "x" * 5000, "__import__('os')", "🦆", "erf", *KINDS)


def anything(rng: random.Random, depth: int = 0) -> object:
    """Random JSON."""
    kind = rng.random()
    if depth > 4 or kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return rng.choice(WORDS)
    if kind < 0.8:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {str(rng.choice(WORDS)): anything(rng, depth + 1) for _ in range(rng.randrange(4))}


def spoiled(rng: random.Random, values: dict) -> dict:
    """A problem of which a few keys have become something else."""
    sections = [values] + [one for one in values.values() if isinstance(one, dict)]
    for _ in range(rng.randrange(1, 4)):
        table = rng.choice(sections)
        if table:
            table[rng.choice([*table, "nothing"])] = anything(rng, 2)
    return values


def moved(rng: random.Random, values: dict) -> dict:
    """A problem of which one or two numbers are far from where they were."""
    for _ in range(rng.choice((1, 1, 2))):
        tables = [values] + [one for one in values.values() if isinstance(one, dict)]
        table, key = rng.choice([(t, k) for t in tables for k, x in t.items() if type(x) in (int, float)])
        value = table[key]
        if isinstance(value, int):
            table[key] = max(1, int((value or 1) * 10 ** rng.uniform(-3, 5)))
        else:
            table[key] = (value or 1.0) * 10 ** rng.uniform(-12, 12)
    return values


def extreme(rng: random.Random) -> dict:
    """A problem that is one, with numbers far from all that is sensible: it is computed, unless it is refused."""
    values = plain_problem(tiny(**{"run.seed": rng.randrange(2**63)}))
    section, key = rng.choice(
        [("run", "until"), ("start", "scale"), ("network", "output_scale"), ("start", "second_layer_scale")]
    )
    values[section][key] = 10 ** rng.uniform(-300, 300) if rng.random() < 0.5 else 10 ** rng.uniform(-2, 2)
    return values


def message(rng: random.Random) -> str | bytes:
    kind = rng.random()
    if kind < 0.04:
        return rng.randbytes(rng.randrange(2000))
    if kind < 0.05:
        return "[" * rng.choice([10, 1000, 200_000])
    if kind < 0.06:
        return '{"id":1,"ask":"solve","problem":' + '{"a":' * 5000 + "1" + "}" * 5001
    if kind < 0.08:
        return json.dumps(anything(rng))
    if kind < 0.10:
        return '{"id": 1, "ask": "solve", "problem": {"dimension": %s}}' % ("9" * rng.choice([400, 5000, 100_000]))
    if kind < 0.25:
        return json.dumps({"id": 1, "ask": rng.choice(["solve", "solve", "simulate"]), "problem": extreme(rng)})
    problem = anything(rng) if kind < 0.4 else spoiled(rng, plain_problem(tiny()))
    asking = {"id": rng.choice([1, 7, -3, *NUMBERS]), "ask": rng.choice(ASKS), "problem": problem}
    asking |= {"change": anything(rng)} if rng.random() < 0.3 else {}
    asking |= {"as": anything(rng), "target": anything(rng)} if rng.random() < 0.3 else {}
    return json.dumps(asking)


def is_answered(text: str | bytes) -> bool:
    """Whether a message has an answer of its own: work that is begun is answered later, and to cancel is answered by it."""
    try:
        return read(text)["ask"] not in ("solve", "simulate", "cancel")
    except ProblemError:
        return True


def attacked(client: Client, rng: random.Random, count: int, seen: Counter[str]) -> Iterator[int]:
    """Send hostile messages, to a new connection whenever one was closed; counts parts of answers, yields after each."""
    number = 0
    while number < count:
        with client.socket() as socket:
            try:
                while number < count:
                    number += 1
                    check(socket, message(rng), seen)
                    yield number
            except ConnectionClosed:
                yield number


def check(socket: ClientConnection, text: str | bytes, seen: Counter[str]) -> None:
    """Send a message and wait for its answer; parts of work that was begun before come in between."""
    socket.send(text)
    while is_answered(text):
        told = json.loads(socket.recv(timeout=300))
        assert {"answer", "part"} & told.keys()
        seen[told.get("part", "answer")] += 1
        if told.get("part") == "error":
            assert told["sentence"].strip().endswith((".", ".)")), told
        if "answer" in told or (told["part"] == "error" and told["id"] == number_of(text)):
            return


def number_of(text: str | bytes) -> object:
    try:
        return read(text)["id"]
    except ProblemError:
        return None


def forget_peak() -> float:
    """Let the largest resident memory begin anew where the system can do that; returns it, in bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux
    return peak()


def peak() -> float:
    """The largest resident memory of this process so far, in bytes."""
    import resource

    with suppress(OSError, IndexError):  # what getrusage says is not reset with it
        status = Path("/proc/self/status").read_text()
        return 1024 * float(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def honest(client: Client) -> None:
    with client.socket() as socket:
        answer = asked(socket, id=5, ask="text", problem=plain_problem(tiny()), **{"as": "toml"})[0]
        assert "given-points" in answer["answer"]


def computed(client: Client, rng: random.Random, seen: Counter[str]) -> None:
    """Ask for a problem with extreme numbers, and wait until all of it is answered."""
    with client.socket() as socket:
        seen.update(one["part"] for one in asked(socket, id=6, ask="solve", problem=extreme(rng)))


class Served(NamedTuple):
    """What an honest page took, beside hostile messages."""

    seconds: float
    cpu: float  # seconds of all threads of the process meanwhile


def siege(client: Client, rng: random.Random, count: int, seen: Counter[str]) -> Iterator[Served]:
    """Hostile messages; after every fiftieth an extreme problem is computed, and an honest page is served."""
    for number in attacked(client, rng, count, seen):
        if number % 50 == 0:
            computed(client, rng, seen)
            wall, cpu = time.perf_counter(), time.process_time()
            honest(client)
            yield Served(time.perf_counter() - wall, time.process_time() - cpu)
