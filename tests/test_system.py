"""What holds where the operating system lacks a call: each call is taken away, as on a Mac or on Windows."""

import os
import re
import signal
import subprocess
import sys
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest

import dimfree as df
from dimfree import system, temporary_arrays
from dimfree.programs import folder

SOURCE = Path(df.__file__).parent
ONLY_SOME = re.compile(
    r"import (resource|fcntl|pwd|grp|termios)\b|os\.(fork|geteuid|getuid|kill|sched_getaffinity|sysconf|symlink)\("
    r"|os\.O_NOFOLLOW|signal\.(signal|set_wakeup_fd|getsignal)\(|malloc_trim|resource_tracker"
)


def test_only_one_file_makes_calls_that_some_systems_lack():
    found = {path.name for path in SOURCE.rglob("*.py") if ONLY_SOME.search(path.read_text(encoding="utf-8"))}
    assert found == {"system.py"}


def test_cores_where_the_system_does_not_say_which_are_free(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert system.cores() == os.cpu_count()


def test_memory_where_nothing_is_said(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert system.memory_of_the_machine() is None
    assert system.address_space() is None


def test_files_of_arrays_and_programs_where_users_have_no_numbers(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert system.user() is None
    own = temporary_arrays._folder(-1, tmp_path)  # no such process: nothing is removed when this one ends
    assert own.parent == tmp_path
    assert own.is_dir()
    (tmp_path / "program").write_bytes(b"x")
    assert folder.read(tmp_path / "program") == b"x"


def test_files_of_arrays_where_files_cannot_be_locked(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    own = temporary_arrays._folder(-2, tmp_path)
    assert own.name.startswith("dimfree-arrays-")
    assert not (own / temporary_arrays._LOCK).exists()


def test_no_process_is_asked_for_where_asking_would_end_it(monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert system.has_ended(ended.pid) == (os.name == "posix")
    assert not system.has_ended(os.getpid())
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("it would end the process"))
    assert not system.has_ended(os.getpid())


def test_signals_are_left_to_python_where_pipes_cannot_be_woken(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda *_, **__: pytest.fail("Windows wakes sockets only"))
    assert system.wake_on_signals((signal.SIGINT,)) is None
    system.give_back_memory()


def test_memory_is_kept_where_the_c_library_cannot_give_it_back(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(system.ctypes, "CDLL", lambda _: object())  # musl has no malloc_trim
    system.give_back_memory()


def test_no_tracker_of_semaphores_is_started_where_there_is_none(monkeypatch):
    monkeypatch.setattr(resource_tracker, "ensure_running", lambda: pytest.fail("Windows cannot start it"))
    monkeypatch.setattr(sys, "platform", "win32")
    system.start_tracker()


MISSING = """
import importlib, os, pkgutil, sys
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("geteuid", "getuid", "sched_getaffinity", "fork", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
import dimfree
for found in pkgutil.walk_packages(dimfree.__path__, "dimfree."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print(sum(name.startswith("dimfree.") for name in sys.modules))
import numpy as np
small = dimfree.Problem(dimension=20, network={"width": 2}, data={"units": 1}, run={"until": 1.0, "points": 4})
print(float(dimfree.solve(small)["risk"][0, 0]) > 0)
"""


@pytest.mark.slow
def test_every_module_is_imported_and_a_problem_solved_where_calls_of_unix_are_missing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MISSING],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"DIMFREE_CACHE": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    count, solved = done.stdout.split()
    assert int(count) > 200
    assert solved == "True"


COLLECTED = """
import distributed, jax, os, pytest, signal, sys, typer.testing, uvicorn  # packages have files of their own for other systems
for name in ("resource", "fcntl", "pwd", "grp", "termios", "pty"):
    sys.modules[name] = None
for owner, names in {
    os: ("geteuid", "sched_getaffinity", "sched_yield", "fork", "mkfifo", "O_NOFOLLOW"),
    signal: ("SIGKILL", "SIGXFSZ", "SIGHUP"),
}.items():
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
sys.exit(pytest.main(["--collect-only", "-q", "-n", "0", "-m", "", "-p", "no:cacheprovider"]))
"""


@pytest.mark.slow
def test_every_test_is_collected_where_calls_of_unix_are_missing():
    """One test file that cannot be imported would end the whole run."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_arrays_given_in_python_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary_arrays.tempfile, "gettempdir", lambda: str(tmp_path))
    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.load(temporary_arrays.array_file(X)), X)
