"""Kill a sweep, or one of its workers, at a random moment, and see what it left."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from dimfree.sweeps.store import Store

IN_FLIGHT = 4  # of two workers: what they compute, and what waits for them or to be kept
SCRIPT = Path(__file__).with_name("killed.py")


def content(store: Path) -> dict[str, bytes]:
    """Every file of a store."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def finished(store: Path) -> int:
    """How many points are there."""
    return sum(1 for entry in (store / "points").glob("[!.]*") if entry.is_dir())


def started(store: Path, engine: str, points: int) -> "subprocess.Popen[str]":
    command = [sys.executable, str(SCRIPT), str(store), engine, str(points)]
    notes = os.environ | {"DIMFREE_TEST_NOTES": f"{store}.notes"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=notes)


def run(store: Path, engine: str, points: int) -> None:
    """To the end."""
    process = started(store, engine, points)
    said = process.communicate()[1]
    assert process.returncode == 0, said


def kill(store: Path, engine: str, points: int, whom: str, moment: random.Random) -> bool:
    """Send SIGKILL to the driver or to a worker when a random number of points is there; whether it was still needed."""
    before = finished(store)
    due = before + moment.randint(0, (points - before) // 2)
    process = started(store, engine, points)
    while process.poll() is None and (finished(store) < due or not workers(process.pid)):
        os.sched_yield()
    needed = finished(store) < points
    with suppress(ProcessLookupError, IndexError, psutil.Error):  # it may be at its end
        os.kill(process.pid if whom == "driver" else moment.choice(workers(process.pid)), signal.SIGKILL)
    said = process.communicate()[1]
    assert whom == "driver" or process.returncode == 0, said
    return needed


def workers(parent: int) -> list[int]:
    """The processes that compute for another one."""
    with suppress(psutil.Error):
        return [one.pid for one in psutil.Process(parent).children() if "spawn_main" in " ".join(one.cmdline())]
    return []


def survives(folder: Path, engine: str, points: int, whom: str, kills: int, seed: int) -> dict[str, int]:
    """Kill as often as asked, resume, and compare with a sweep that nobody disturbed; what had to be computed again.

    A driver that was killed is started again on its store; a worker that was killed is replaced, and every time is a new sweep.
    """
    moment, hits, again = random.Random(seed), 0, 0
    run(folder / "undisturbed", "here", points)
    whole = content(folder / "undisturbed")
    stores = [folder / "killed"] if whom == "driver" else [folder / f"killed-{number}" for number in range(kills)]
    for number in range(kills):
        hits += kill(stores[number % len(stores)], engine, points, whom, moment)
    for store in stores:
        run(store, engine, points)
        assert content(store) == whole, f"seed {seed}"
        kept = Counter(note["point"] for note in Store(store).journal())
        assert len(kept) == sum(kept.values()) == points, "a point that was there was computed again"
        again += len(Path(f"{store}.notes").read_text().splitlines()) - points
    assert again <= IN_FLIGHT * hits, f"{again} points were computed again after {hits} kills, seed {seed}"
    return {"points": points, "kills": hits, "computed_again": again}
