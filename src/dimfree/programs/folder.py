"""The folder of compiled programs. Programs are code: the folder must belong to this user and be closed to others.

A loaded program runs, as a library does, and jax reads it by pickle, which runs what a file asks for. It is never safe to load
a program that another user wrote, so that files which another user could have put there are not used.
"""

import os
import stat
from pathlib import Path

from dimfree.system import user

WORTH_KEEPING = 0.3  # a program that took at least this many seconds to compile is kept on disk
PROGRAM, NUMBERS = ".program", ".npy"  # endings of the files that dimfree keeps
_PROGRAMS = (PROGRAM, NUMBERS, "-cache", "-atime")  # and of those that jax keeps
_OTHERS, _WRITE = 0o077, 0o022  # permissions of others: any, and those to change something


class NoFolderError(Exception):
    """Why programs are not kept."""


def programs_folder() -> Path | None:
    """Where compiled programs are kept between processes; None with DIMFREE_CACHE=off, or where it would not be safe."""
    try:
        return checked_folder()
    except NoFolderError:
        return None


def checked_folder() -> Path:
    """The folder of programs, made if necessary; an error with the reason if there can be none."""
    if os.environ.get("DIMFREE_CACHE") == "off":
        raise NoFolderError("DIMFREE_CACHE=off")
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        home.mkdir(parents=True, exist_ok=True)
        for outer in (home.resolve(), *home.resolve().parents):
            _check_around(outer)
        folder = home / "dimfree" / "xla"
        for inner in (folder.parent, folder):
            inner.mkdir(mode=0o700, exist_ok=True)
            _close(inner)
    except (OSError, RuntimeError) as failure:  # no home, or a read-only one
        raise NoFolderError(f"no folder can be made: {failure}") from None
    if not os.access(folder, os.W_OK):
        raise NoFolderError(f"{folder} cannot be written to")
    return folder


def read(path: Path) -> bytes:
    """A file of this user that others cannot change; PermissionError for any other one."""
    with path.open("rb") as file:
        if not _is_safe(os.fstat(file.fileno())):
            raise PermissionError(f"{path} belongs to another user, or can be changed by one")
        return file.read()


def write(path: Path, content: bytes) -> None:
    """Write a file that only this user can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)


def _check_around(folder: Path) -> None:
    """Refuse a parent folder in which another user could rename our folder and put another one in its place."""
    mode = folder.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise NoFolderError(f"all users can change {folder}")


def _close(folder: Path) -> None:
    """Close the folder to other users; programs that another user could have put there are removed."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NoFolderError(f"{folder} is not a folder")
    if not _is_own(found):
        raise NoFolderError(f"{folder} belongs to another user")
    if user() is None or not found.st_mode & _OTHERS:
        return
    folder.chmod(0o700)
    if found.st_mode & _WRITE:
        for entry in list(folder.iterdir()):
            if entry.name.endswith(_PROGRAMS):
                entry.unlink()


def _is_safe(found: os.stat_result) -> bool:
    return _is_own(found) and (user() is None or not found.st_mode & _WRITE)


def _is_own(found: os.stat_result) -> bool:
    """Whether this user owns it; where users have no numbers (Windows), their folders are closed to others by default."""
    return user() in (None, found.st_uid)
