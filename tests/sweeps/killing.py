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

from dimfree.sweeps.status import status
from dimfree.sweeps.store import Store

SCRIPT = Path(__file__).with_name("killed.py")


def content(store: Path) -> dict[str, bytes]:
    """Every file of a store."""
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


def computed(store: Path) -> Counter[str]:
    """How often each point was computed and kept."""
    return Counter(note["point"] for note in Store(store).journal())


def finished(store: Path) -> int:
    """How many points are there."""
    return sum(1 for entry in (store / "points").glob("[!.]*") if entry.is_dir())


def started(store: Path, engine: str, points: int) -> "subprocess.Popen[str]":
    command = [sys.executable, str(SCRIPT), str(store), engine, str(points)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def run(store: Path, engine: str, points: int) -> None:
    """To the end."""
    process = started(store, engine, points)
    said = process.communicate()[1]
    assert process.returncode == 0, said


def kill(store: Path, engine: str, points: int, whom: str, moment: random.Random) -> None:
    """Send SIGKILL to the driver or to a worker when a random number of new points is there; a driver that lives goes on."""
    before = finished(store)
    due = before + moment.randint(0, max(1, (points - before) // 2))
    process = started(store, engine, points)
    while process.poll() is None and finished(store) < due:
        os.sched_yield()
    if whom == "driver":
        process.kill()
        process.communicate()
        return
    with suppress(ProcessLookupError, IndexError, psutil.Error):  # it may be at its end
        os.kill(moment.choice(workers(process.pid)), signal.SIGKILL)
    said = process.communicate()[1]
    assert process.returncode == 0, said


def workers(parent: int) -> list[int]:
    """The processes that compute for another one."""
    return [one.pid for one in psutil.Process(parent).children() if "spawn_main" in " ".join(one.cmdline())]


def survives(folder: Path, engine: str, points: int, kills: list[str], seed: int) -> dict[str, int]:
    """Kill as often as asked, resume, and compare with a sweep that nobody disturbed; how many points were computed again."""
    moment = random.Random(seed)
    run(folder / "undisturbed", "here", points)
    for whom in kills:
        kill(folder / "killed", engine, points, whom, moment)
    run(folder / "killed", engine, points)
    assert content(folder / "killed") == content(folder / "undisturbed"), f"seed {seed}"
    counts = computed(folder / "killed")
    assert status(folder / "killed").finished == len(counts) == points
    again = sum(counts.values()) - points
    return {"kills": len(kills), "points": points, "kept_twice": again}
