"""The folder of programs, which are code: nothing is believed, and nothing run, that another user could have put there."""

import os
import pickle
import stat
import zlib
from pathlib import Path

import jax
import numpy as np
import pytest

from dimfree import system
from dimfree.programs import compiled, kept
from dimfree.programs.folder import programs_folder

pytestmark = pytest.mark.skipif(system.user() is None, reason="users have no numbers here")
NOBODY = 65534


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """The folder of caches."""
    monkeypatch.delenv("DIMFREE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(0o755)
    return tmp_path / "home"


def be_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made(home: Path, permissions: int) -> Path:
    """The folder of programs, made by hand with two files in it."""
    folder = home / "dimfree" / "xla"
    folder.mkdir(parents=True)
    for name in ("planted.program", "letter.txt"):
        (folder / name).write_bytes(b"planted")
    folder.chmod(permissions)
    return folder


def test_it_is_closed_to_others_whatever_the_umask(home):
    usual = os.umask(0)
    try:
        assert programs_folder() == home / "dimfree" / "xla"
    finally:
        os.umask(usual)
    assert mode(home / "dimfree") == mode(home / "dimfree" / "xla") == 0o700


def test_one_that_others_could_read_is_closed_and_used(home):
    folder = made(home, 0o755)
    assert programs_folder() == folder
    assert mode(folder) == 0o700
    assert (folder / "planted.program").exists()


@pytest.mark.parametrize("permissions", [0o777, 0o775, 0o702])
def test_one_that_others_could_write_is_closed_and_its_programs_are_removed(permissions, home):
    folder = made(home, permissions)
    assert programs_folder() == folder
    assert mode(folder) == 0o700
    assert [entry.name for entry in folder.iterdir()] == ["letter.txt"]


def test_that_of_another_user_is_not_used(home, monkeypatch):
    folder = made(home, 0o777)
    be_another_user(monkeypatch)
    assert programs_folder() is None
    assert compiled.where_kept() == f"off: {folder.parent} belongs to another user"


@pytest.mark.skipif(system.user() != 0, reason="only root gives files away")
@pytest.mark.parametrize("part", ["dimfree", "dimfree/xla"])
def test_what_another_user_put_first_into_a_shared_folder_is_not_used(part, home):
    home.chmod(0o1777)
    folder = made(home, 0o777)
    os.chown(home / part, NOBODY, NOBODY)
    assert programs_folder() is None
    assert (folder / "planted.program").read_bytes() == b"planted"


def test_a_folder_in_which_all_may_rename_holds_no_programs(home):
    home.chmod(0o777)
    assert programs_folder() is None
    assert compiled.where_kept() == f"off: all users can change {home}"
    home.chmod(0o1777)
    assert programs_folder() is not None


def test_links_are_not_followed(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(0o777)
    elsewhere.chmod(0o777)
    (home / "dimfree").symlink_to(elsewhere)
    assert programs_folder() is None
    assert mode(elsewhere) == 0o777


class Planted:
    """What runs when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (str(self.mark),)


def double(x: jax.Array) -> jax.Array:
    return 2 * x


double.__module__ = "dimfree.nowhere"  # only functions of the package have programs with names
X = jax.device_put(np.arange(3.0))


@pytest.fixture
def program_file(tmp_path, monkeypatch) -> Path:
    """The file of a program that was run once and forgotten."""
    monkeypatch.setattr(compiled, "_folder", [tmp_path])
    compiled.program(double)(X)
    (file,) = tmp_path.glob("*.program")
    assert mode(file) == 0o600
    return file


def test_a_planted_program_would_run(program_file, tmp_path):
    """The tests below are able to fail."""
    program_file.write_bytes(zlib.compress(pickle.dumps(Planted(tmp_path / "ran"))))
    compiled.program(double)(X)
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("door", ["owner", "group", "all"])
def test_a_program_that_another_user_could_have_written_does_not_run(door, program_file, tmp_path, monkeypatch):
    program_file.write_bytes(zlib.compress(pickle.dumps(Planted(tmp_path / "ran"))))
    if door == "owner":
        be_another_user(monkeypatch)
    else:
        program_file.chmod({"group": 0o660, "all": 0o606}[door])
    np.testing.assert_array_equal(compiled.program(double)(X), [0.0, 2.0, 4.0])
    assert not (tmp_path / "ran").exists()


def test_numbers_of_another_user_are_not_believed(tmp_path):
    kept.save_numbers(tmp_path, "numbers", np.ones(2))
    assert kept.load_numbers(tmp_path, "numbers") is not None
    (tmp_path / "numbers.npy").chmod(0o666)
    assert kept.load_numbers(tmp_path, "numbers") is None
