"""Temporary files for arrays that were given in Python: a problem is text, and can only name files.

The files lie in a folder that only the user can enter. Their names follow from their content, so that another process of the same
user finds the same problem. The last process that uses the folder removes it, with what killed processes left there.
"""

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from dimfree.errors import OutputError
from dimfree.system import NO_LINKS, lock_file, user

_NAME = "dimfree-arrays"
_LOCK = ".lock"  # every process that uses the folder holds a shared lock on this file


def array_file(array: Any) -> Path:
    """A .npy file with an array, until this process ends."""
    written = BytesIO()
    np.save(written, np.asarray(array), allow_pickle=False)
    content = written.getvalue()
    try:
        path = _folder(os.getpid(), Path(tempfile.gettempdir())) / f"{hashlib.sha256(content).hexdigest()[:16]}.npy"
        if not (path.is_file() and path.read_bytes() == content):
            temporary = path.with_name(f"{token_hex(8)}.tmp")
            temporary.write_bytes(content)
            os.replace(temporary, path)
    except OSError as failure:
        raise OutputError(
            f"an array could not be written to a temporary file ({failure.strerror}); save it yourself with numpy.save, "
            "and give the name of that file."
        ) from None
    return path


@lru_cache(maxsize=8)
def _folder(process: int, shared: Path) -> Path:
    """The folder of this user among the temporary files; where that is impossible, one for this process alone."""
    folder = shared / f"{_NAME}-{user()}"
    lock = None if user() is None else _locked(folder)
    if lock is None:
        own = Path(tempfile.mkdtemp(prefix=f"{_NAME}-", dir=shared))
        atexit.register(_remove, own, process)
        return own
    atexit.register(_leave, folder, lock, process)
    return folder


def _locked(folder: Path) -> int | None:
    """The folder's lock, shared by all processes that use it; None if another user made the folder, or files cannot be locked."""
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        try:
            if not _is_private(folder):
                return None
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
        except FileNotFoundError:  # another process has just removed it
            continue
        try:
            lock_file(lock, alone=False)
            if os.path.samestat(os.fstat(lock), os.stat(folder / _LOCK)):
                return lock
        except FileNotFoundError:
            pass
        except OSError:
            os.close(lock)
            return None
        os.close(lock)  # the folder was removed before the lock was taken


def _is_private(folder: Path) -> bool:
    """Whether it is a folder (not a link to one) that only this user can enter."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user() and not found.st_mode & 0o077


def _leave(folder: Path, lock: int, process: int) -> None:
    """Remove the folder if no other process uses it; a fork of this process leaves that to its parent."""
    if os.getpid() != process:
        return
    with suppress(OSError):
        lock_file(lock, alone=True)
        leaving = folder.with_name(f"{folder.name}-{token_hex(8)}")
        os.rename(folder, leaving)  # a process that starts now makes a new folder
        shutil.rmtree(leaving, ignore_errors=True)
    os.close(lock)


def _remove(own: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(own, ignore_errors=True)
