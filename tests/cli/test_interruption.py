"""Signals at random CPU times: the right exit code, files all old or all new, no orphan, nothing left behind."""

import os
import random
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dimfree.files import replacing, together, writable

TRIES = int(os.environ.get("DIMFREE_SIGNALS", "10"))
SEED = int(os.environ.get("DIMFREE_RANDOM_SEED", secrets.randbits(32)))
FILES = ("ode.nc", "ode.png")


def started(out: Path) -> "subprocess.Popen[str]":
    """A run with signals as a shell's foreground job has them, whatever the parent of the tests does with them."""
    command = [sys.executable, "-m", "dimfree", "solve", "--set", "run.until=1.0", "--out", str(out)]
    as_usual = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", as_usual, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )


def cpu_seconds(process: "subprocess.Popen[str]") -> float:
    """Of all threads of a process; infinite when it is no more."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    gone = fields[0] in "ZX"
    return float("inf") if gone else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def signalled(out: Path, number: signal.Signals, when: float) -> tuple[int, str]:
    """Exit code and what was said, when the signal came after so many CPU seconds."""
    process = started(out)
    while cpu_seconds(process) < when:
        os.sched_yield()
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode, said


def check(out: Path, number: signal.Signals, when: float) -> None:
    out.mkdir()
    for name in FILES:
        (out / name).write_text("old")
    code, said = signalled(out, number, when)
    old = [(out / name).read_bytes() == b"old" for name in FILES]
    assert len(set(old)) == 1, "some files are new and some are old"
    if code == 0:
        assert not old[0], "it ended before the signal"
        return
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 128 + number), said
    if number != signal.SIGKILL:
        told = "nothing was written" if old[0] else "written before that"
        assert said.splitlines()[-1].startswith(f"dimfree: interrupted; {told}"), said
        assert sorted(entry.name for entry in out.iterdir()) == sorted(FILES)
    writable(out)  # what every run does first
    assert sorted(entry.name for entry in out.iterdir()) == sorted(FILES)


@pytest.mark.parametrize(("number", "when"), [(signal.SIGINT, 0.8), (signal.SIGTERM, 2.0)])
def test_an_interrupted_run_says_so_and_writes_nothing(number, when, tmp_path):
    check(tmp_path / "out", number, when)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(TRIES))
def test_signals_at_random_times(attempt, tmp_path):
    random_ = random.Random(SEED + attempt)
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[attempt % 3]
    when = random_.uniform(0.3, 9.0)
    print(f"DIMFREE_RANDOM_SEED={SEED}: {number.name} after {when:.2f} CPU seconds")
    check(tmp_path / "out", number, when)


def test_files_take_their_places_together_or_not_at_all(tmp_path):
    def write(name: str, text: str) -> None:
        with replacing(tmp_path / name) as temporary:
            temporary.write_text(text)

    with together():
        write("a", "1")
        write("b", "1")
        assert [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(".")] == []

    def fail() -> None:
        with together():
            write("a", "2")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "1"


def test_what_a_killed_run_left_behind_is_removed_and_nothing_else(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    with replacing(tmp_path / "a.nc") as temporary:
        temporary.write_text("1")
        mine = temporary.name
        dead = mine.replace(f"-{os.getpid()}-", f"-{int(child.stdout)}-")
        foreign = dead.replace(".dimfree-", ".dimfree-elsewhere-")
        for name in (dead, foreign, ".hidden"):
            (tmp_path / name).write_text("")
        writable(tmp_path)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([mine, foreign, ".hidden"])
