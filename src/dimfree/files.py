"""Files are written under temporary names and then renamed: a killed run leaves either the old files or the new ones."""

import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, EFBIG, EINVAL, EISDIR, ENOTEMPTY
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from threading import RLock

from dimfree.errors import OutputError
from dimfree.system import has_ended

RENAMING = RLock()  # held while files are renamed; the thread that ends the process on a signal waits for it
_TEMPORARY = re.compile(r"\.dimfree-(?P<host>.+)-(?P<process>\d+)-[0-9a-f]{16}\..*")
_host = re.sub(r"[^\w.-]", "_", socket.gethostname())
_underway: set[Path] = set()
_batches: list[list[tuple[Path, Path]]] = []  # temporary names and their places, of every `together` that is open
_written: dict[Path, None] = {}  # each once, in the order of their first writing
_LONGEST = 10**8  # bytes; a longer file cannot be a problem file


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`: renamed to `path` if the block succeeds, removed if it fails."""
    writable(path.parent)
    temporary = _temporary(path)
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if _batches:
            _batches[-1].append((temporary, path))
        else:
            _rename([(temporary, path)])
    except OSError as failure:
        raise OutputError(f"{str(path)!r} could not be written: {failure}.") from None
    finally:
        if not any((temporary, path) in batch for batch in _batches):
            _discard(temporary)


@contextmanager
def placing(folder: Path, whole: Path) -> Iterator[Path]:
    """A temporary folder beside `folder` that takes its place when the block succeeds, unless there is one already.

    It is a part of `whole`, which is what counts as written.
    """
    temporary = _temporary(folder)
    try:
        temporary.mkdir()
        yield temporary
        with RENAMING, suppress(FileExistsError):
            _take_place(temporary, folder)
            _written[whole] = None
    finally:
        _discard(temporary)


def take_away(folder: Path) -> None:
    """Remove a folder: one rename comes first, so that it is gone even if the process is killed meanwhile."""
    temporary = _temporary(folder)
    with suppress(FileNotFoundError):
        os.rename(folder, temporary)
    _discard(temporary)


def withdraw(path: Path) -> None:
    """Remove a file of this process, which then does not count as written any more."""
    with RENAMING:
        path.unlink(missing_ok=True)
        _written.pop(path, None)


@contextmanager
def together() -> Iterator[None]:
    """Rename all files that the block has written if it succeeds; if it fails, none of them."""
    batch: list[tuple[Path, Path]] = []
    _batches.append(batch)
    try:
        yield
        _rename(batch)
    except OSError as failure:
        raise OutputError(f"the files could not be written: {failure}.") from None
    finally:
        _batches.remove(batch)
        for temporary, _ in batch:
            _discard(temporary)


def writable(folder: Path) -> None:
    """Make sure a folder exists and can be written to, before any work is spent; clear away what killed runs left there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        leftovers = [entry for entry in folder.iterdir() if _is_left_behind(entry.name)]
    except OSError as failure:
        raise OutputError(
            f"the output folder {str(folder)!r} cannot be written to ({failure.strerror}); choose another one."
        ) from None
    for entry in leftovers:
        _remove(entry)


def check_regular(path: str | Path) -> None:
    """Raise an OSError unless it is a regular file: a folder has no content, and a pipe or a device may never end."""
    mode = os.stat(path).st_mode
    if S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, "it is a folder", str(path))
    if not S_ISREG(mode):
        raise OSError(EINVAL, "it is a pipe or a device, not a regular file", str(path))


def read_text(path: str | Path) -> str:
    """The text of a regular file of a sensible size; otherwise an OSError or a UnicodeDecodeError."""
    check_regular(path)
    if (size := os.stat(path).st_size) > _LONGEST:
        raise OSError(EFBIG, f"it has {size:.3g} bytes, which is too long for a text file", str(path))
    return Path(path).read_text(encoding="utf-8-sig")


def save_figure(write: Callable[[Path], None], path: Path) -> None:
    """Write a figure through `write`; a failed write leaves no file."""
    with replacing(path) as temporary:
        write(temporary)


def discard_temporaries() -> list[Path]:
    """Remove all temporary files, and return the files that this process has written."""
    for temporary in list(_underway):
        _remove(temporary)
    return list(_written)


def _rename(pairs: list[tuple[Path, Path]]) -> None:
    with RENAMING:
        for temporary, path in pairs:
            os.replace(temporary, path)
            _written[path] = None


def _take_place(temporary: Path, folder: Path) -> None:
    try:
        os.rename(temporary, folder)
    except OSError as failure:
        if failure.errno == ENOTEMPTY:
            raise FileExistsError(EEXIST, "another process was faster", str(folder)) from None
        raise


def _temporary(path: Path) -> Path:
    """A unique temporary name. `mkstemp` would make a file that only its owner can read."""
    temporary = path.parent / f".dimfree-{_host}-{os.getpid()}-{secrets.token_hex(8)}{path.suffix or '.tmp'}"
    _underway.add(temporary)
    return temporary


def _discard(temporary: Path) -> None:
    _remove(temporary)
    _underway.discard(temporary)


def _remove(entry: Path) -> None:
    with suppress(OSError):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink(missing_ok=True)


def _is_left_behind(name: str) -> bool:
    """Whether this is a temporary file of a process of this machine that has ended."""
    found = _TEMPORARY.fullmatch(name)
    if not found or found["host"] != _host:
        return False
    return has_ended(int(found["process"]))
