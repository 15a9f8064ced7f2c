"""Two users of one machine whose folder of caches is the same: neither runs a program that the other could have written."""

import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dimfree import system

OTHER = 65534  # a user without rights
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(system.user() != 0, reason="only root can run as another user"),
]

# Everything is imported and used once before the user changes, who may not be able to read where Python is installed.
SCRIPT = """
import os, pickle, sys, zlib
os.environ["DIMFREE_CACHE"] = "off"
import jax, numpy as np
from dimfree.programs import compiled, kept
user, shared, plants = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "plants"
class Planted:
    def __reduce__(self):
        return os.mkdir, (os.path.join(shared, "ran"),)
def double(x):
    return 2 * x
double.__module__ = "dimfree.nowhere"  # only functions of the package have programs with names
x = jax.device_put(np.arange(3.0))
compiled.program(double)(x)
kept._surroundings()
kept._prepare_linear_algebra()
compiled.FORMS.clear()
if user != os.geteuid():
    os.setgroups([]); os.setgid(user); os.setuid(user)
os.umask(0)
del os.environ["DIMFREE_CACHE"]
os.environ["XDG_CACHE_HOME"] = shared
compiled.keep_programs()
print(compiled.where_kept())
assert compiled.program(double)(x).tolist() == [0.0, 2.0, 4.0]
if plants:
    folder = os.path.join(shared, "dimfree", "xla")
    (name,) = [name for name in os.listdir(folder) if name.endswith(".program")]
    os.remove(os.path.join(folder, name))
    with open(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o644), "wb") as file:
        file.write(zlib.compress(pickle.dumps(Planted())))
"""


@pytest.fixture
def shared():
    """A folder of caches in which all may write; the folders above must let others through."""
    folder = Path(tempfile.mkdtemp(prefix="dimfree-two-users-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def used_by(user: int, shared: Path, then: str = "ends") -> str:
    """A process of a user runs one program, and may put another one in its place; where it says that programs are kept."""
    command = [sys.executable, "-c", SCRIPT, str(user), str(shared), then]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def ran(shared: Path) -> bool:
    """Whether the planted program has run since this was last asked."""
    found = (shared / "ran").exists()
    if found:
        (shared / "ran").rmdir()
    return found


@pytest.mark.parametrize(("first", "second"), [(0, OTHER), (OTHER, 0)], ids=["root-first", "root-second"])
def test_the_second_user_of_a_folder_runs_nothing_that_the_first_one_planted(first, second, shared):
    folder = shared / "dimfree" / "xla"
    assert used_by(first, shared, "plants") == str(folder)
    assert {path.stat().st_uid for path in (folder.parent, folder, *folder.iterdir())} == {first}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (folder.parent, folder):
        path.chmod(0o755)  # so that the second user can read them
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert used_by(second, shared) == f"off: {folder.parent} belongs to another user"
    assert not ran(shared)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before, "what is another user's is left alone"
    used_by(first, shared)
    assert ran(shared), "to its owner the planted program is a program: this test is able to fail"


def test_what_another_user_planted_while_the_folder_was_open_is_removed(shared):
    folder = shared / "dimfree" / "xla"
    assert used_by(0, shared) == str(folder)
    (own,) = folder.glob("*.program")
    for path in (folder.parent, folder):
        path.chmod(0o777)
    code = (
        "import os, sys; os.setuid(int(sys.argv[1])); os.remove(sys.argv[2]); open(sys.argv[2], 'wb').write(b'planted')"
    )
    subprocess.run([sys.executable, "-c", code, str(OTHER), str(own)], check=True)
    assert own.stat().st_uid == OTHER
    assert used_by(0, shared) == str(folder)
    (now,) = folder.glob("*.program")
    assert (now, now.stat().st_uid, stat.S_IMODE(now.stat().st_mode)) == (own, 0, 0o600)
    assert now.read_bytes() != b"planted"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_user_keeps_programs_where_all_may_rename(shared):
    shared.chmod(0o777)
    for user in (0, OTHER):
        assert used_by(user, shared) == f"off: all users can change {shared}"
    assert not list(shared.iterdir())
