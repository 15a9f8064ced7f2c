"""Two users of one machine, who share its temporary files: neither is in the other's way, believed, or read."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import dimfree as df
from dimfree import system
from dimfree.files import writable

OTHER = 65534  # a user without rights
as_root = pytest.mark.skipif(system.user() != 0, reason="only root can run as another user")
ARRAY = np.arange(6.0)

# Everything is imported and used once before the user changes, who may not be able to read where Python is installed.
SCRIPT = """
import os, sys, tempfile
import numpy as np
import dimfree as df
user, shared, then = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def made(array):
    return df.Problem(data=df.Teacher(covariance=df.Covariance.spectrum(array)))
made(np.arange(1.0, 5.0)).spectrum
if user != os.geteuid():
    os.setgroups([]); os.setgid(user); os.setuid(user)
tempfile.tempdir = shared
problem = made(np.arange(1.0, 7.0))
assert problem.dimension == 6 and problem.spectrum.values.size == 6
print(problem.data.covariance.file, problem.digest, flush=True)
if then == "wait":
    sys.stdin.read()
elif then == "killed":
    os.kill(os.getpid(), 9)
elif then == "fork" and os.fork() == 0:
    sys.exit()
elif then == "fork":
    os.wait()
    assert problem.data.covariance.file.exists(), "a fork removed it"
"""


@pytest.fixture
def shared():
    """As /tmp is: all may write, and only owners remove; the folders above must let others through."""
    folder = Path(tempfile.mkdtemp(prefix="dimfree-two-users-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def begun(user: int, shared: Path, then: str = "end"):
    """A process of a user, the file of its array, and the digest of its problem."""
    command = [sys.executable, "-c", SCRIPT, str(user), str(shared), then]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    said = process.stdout.readline().split()
    if len(said) != 2:
        pytest.fail(process.communicate()[1])
    return process, Path(said[0]), said[1]


def ended(process) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors


@as_root
@pytest.mark.slow
def test_arrays_of_two_users_are_apart_and_private(shared):
    mine, file, _ = begun(0, shared, "wait")
    theirs, other, _ = begun(OTHER, shared, "wait")
    same, again, _ = begun(OTHER, shared, "wait")
    assert file != other
    assert (again, file.stat().st_uid, other.stat().st_uid) == (other, 0, OTHER)
    for path in (file, other):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    ended(theirs)
    assert other.exists(), "another process of that user needs it"
    ended(same)
    assert not other.parent.exists()
    assert file.exists()
    ended(mine)
    assert not list(shared.iterdir()), "the last process removes all"


@as_root
@pytest.mark.slow
@pytest.mark.parametrize("planted", ["folder", "link", "readable by all"])
def test_what_another_user_planted_is_not_believed(shared, planted):
    """The folder, with a file of the name that the array will have and other numbers in it."""
    first, file, _ = begun(0, shared)
    ended(first)
    place = file.parent
    if planted == "link":
        (shared / "elsewhere").mkdir()
        place.symlink_to(shared / "elsewhere")
    else:
        place.mkdir(mode=0o777 if planted == "readable by all" else 0o755)
        place.chmod(0o777 if planted == "readable by all" else 0o755)
    np.save(place / file.name, np.full(6, 666.0))
    if planted == "folder":
        os.chown(place, OTHER, OTHER)
    before = {entry: entry.read_bytes() for entry in place.iterdir()}
    process, used, _ = begun(0, shared, "wait")
    assert used.parent != place
    assert stat.S_IMODE(used.parent.stat().st_mode) == 0o700
    np.testing.assert_array_equal(np.load(used), np.arange(1.0, 7.0))
    ended(process)
    assert not used.parent.exists()
    assert {entry: entry.read_bytes() for entry in place.iterdir()} == before, "what is another user's is left alone"


@pytest.mark.slow
def test_killed_and_forked_processes_neither_keep_nor_take_it(shared):
    killed, file, digest = begun(os.geteuid(), shared, "killed")
    killed.communicate()
    assert file.exists()
    forked, same, same_digest = begun(os.geteuid(), shared, "fork")
    assert (same, same_digest) == (file, digest), "the same problem in another process"
    ended(forked)
    assert not list(shared.iterdir()), "also what a killed process left"


def test_an_array_is_one_file_by_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, other = df.Covariance.spectrum(ARRAY).file, df.Covariance.spectrum(ARRAY + 1).file
    assert one == df.Covariance.spectrum(ARRAY.copy()).file != other
    assert stat.S_IMODE(one.parent.stat().st_mode) == 0o700
    one.write_bytes(b"damaged")
    np.testing.assert_array_equal(np.load(df.Covariance.spectrum(ARRAY).file), ARRAY)
    assert sorted(entry.name for entry in one.parent.iterdir()) == sorted([".lock", one.name, other.name])


def test_an_array_that_cannot_be_written_is_one_sentence(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/proc/nowhere")
    with pytest.raises(df.OutputError, match=r"^an array could not be written .*; save it yourself .*\.$"):
        df.Covariance.spectrum(ARRAY)


@as_root
def test_temporary_files_of_another_user_are_left_alone_unless_they_are_left_behind(shared):
    """A folder of results that two users write to: what a process of another user is writing stays."""
    from dimfree import files

    running = subprocess.Popen(["sleep", "60"], user=OTHER)
    try:
        busy = shared / f".dimfree-{files._host}-{running.pid}-0123456789abcdef.nc"
        left = shared / f".dimfree-{files._host}-999999999-0123456789abcdef.nc"
        for path in (busy, left):
            path.touch()
            os.chown(path, OTHER, OTHER)
        writable(shared)
        assert busy.exists()
        assert not left.exists()
    finally:
        running.kill()
        running.wait()
