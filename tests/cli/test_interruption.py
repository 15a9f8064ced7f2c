"""Signals at random moments: the right exit code, files all old or all new, no orphan, nothing left behind."""

import os
import random
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from dimfree.files import replacing, together, writable

TRIES = int(os.environ.get("DIMFREE_SIGNALS", "10"))
SEED = int(os.environ.get("DIMFREE_RANDOM_SEED", secrets.randbits(32)))
FILES = ("ode.nc", "ode.png")
Event = Callable[["subprocess.Popen[str]"], bool]
watched = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are watched in /proc")


def started(out: Path, stderr: int | None = subprocess.PIPE) -> "subprocess.Popen[str]":
    """A run that takes a while."""
    return launched(["solve", "--set", "run.until=1.0", "--out", str(out)], stderr)


def launched(arguments: list[str], stderr: int | None) -> "subprocess.Popen[str]":
    """A command with signals as a shell's foreground job has them, whatever the parent of the tests does with them.

    Without `stderr` it is closed.
    """
    command = [sys.executable, "-m", "dimfree", *arguments]
    as_usual = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    )
    closed = "os.close(2); " if stderr is None else ""
    return subprocess.Popen(
        [sys.executable, "-c", as_usual.replace("os.execv", f"{closed}os.execv"), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if stderr is None else stderr,
        text=True,
        start_new_session=True,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )


def file_of(process: "subprocess.Popen[str]", name: str) -> str:
    """What the kernel tells about a process; nothing when it is no more."""
    try:
        return Path(f"/proc/{process.pid}/{name}").read_text()
    except OSError:
        return ""


def has_ended(process: "subprocess.Popen[str]") -> bool:
    """Whether it ended without being waited for yet."""
    return file_of(process, "stat").rpartition(")")[2].split()[:1] in (["Z"], ["X"], [])


def heeds_signals(process: "subprocess.Popen[str]") -> bool:
    """Whether it has its handler: Python itself leaves SIGTERM alone."""
    caught = next((line for line in file_of(process, "status").splitlines() if line.startswith("SigCgt")), "0")
    return bool(int(caught.split()[-1], 16) >> (signal.SIGTERM - 1) & 1)


def has_loaded(process: "subprocess.Popen[str]", library: str) -> bool:
    """Whether it runs code of this library."""
    return library in file_of(process, "maps")


def cpu_seconds(process: "subprocess.Popen[str]") -> float:
    """Of all threads of a process."""
    fields = file_of(process, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else float("inf")


def signalled(out: Path, number: signal.Signals, when: Event) -> tuple[int, str]:
    """Exit code and what was said, when the signal came as soon as this was true."""
    process = started(out)
    while not (has_ended(process) or (heeds_signals(process) and when(process))):
        os.sched_yield()
    process.send_signal(number)
    _, said = process.communicate(timeout=300)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode, said


def check(out: Path, number: signal.Signals, when: Event) -> None:
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


@watched
@pytest.mark.parametrize(
    ("number", "when"), [(signal.SIGINT, heeds_signals), (signal.SIGTERM, partial(has_loaded, library="jaxlib"))]
)
def test_an_interrupted_run_says_so_and_writes_nothing(number, when, tmp_path):
    check(tmp_path / "out", number, when)


@contextmanager
def full() -> Iterator[int]:
    """A disk without room."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "wb") as device:
        yield device.fileno()


@contextmanager
def closed() -> Iterator[None]:
    """As after 2>&-."""
    yield None


@contextmanager
def broken() -> Iterator[int]:
    """A pipe whose reader is gone."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    yield write_end
    os.close(write_end)


@contextmanager
def stalled() -> Iterator[int]:
    """A pipe whose reader does not read, filled to the brim."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with suppress(BlockingIOError):
        while True:
            os.write(write_end, bytes(1))
    os.set_blocking(write_end, True)
    yield write_end
    os.close(write_end)
    os.close(read_end)


@watched
@pytest.mark.parametrize("stream", [full, closed, broken, stalled])
def test_a_signal_ends_a_run_whose_stderr_cannot_be_written(stream, tmp_path):
    with stream() as stderr:
        process = started(tmp_path, stderr)
        while not heeds_signals(process) and not has_ended(process):
            os.sched_yield()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stream", [full, closed, broken])
def test_exit_codes_do_not_depend_on_stderr(stream, tmp_path):
    with stream() as stderr:
        assert launched(["show", str(tmp_path / "none.toml")], stderr).wait(timeout=60) == 2


@pytest.mark.slow
@pytest.mark.parametrize("stream", [full, closed, broken])
def test_a_run_whose_stderr_cannot_be_written_succeeds(stream, tmp_path):
    with stream() as stderr:
        assert started(tmp_path, stderr).wait(timeout=300) == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(FILES)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> float:
    """CPU seconds of a run that nobody interrupts, on this machine."""
    process, spent = started(tmp_path_factory.mktemp("whole")), 0.0
    while not has_ended(process):
        spent = max(spent, cpu_seconds(process))
        os.sched_yield()
    _, said = process.communicate()
    assert process.returncode == 0, said
    return spent


@watched
@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(TRIES))
def test_signals_at_random_times(attempt, whole_run, tmp_path):
    random_ = random.Random(SEED + attempt)
    number = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[attempt % 3]
    share = random_.uniform(0.0, 1.1)
    print(f"DIMFREE_RANDOM_SEED={SEED}: {number.name} after {share:.3f} of the CPU time of a whole run")
    check(tmp_path / "out", number, lambda process: cpu_seconds(process) >= share * whole_run)


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
