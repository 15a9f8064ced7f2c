"""Files: written under a temporary name and renamed, so that a killed run leaves the old file or the new one."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dimfree.errors import OutputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block succeeds and vanishes when it does not."""
    writable(path.parent)
    # not mkstemp, whose files only their owner can read
    temporary = path.parent / f".{path.stem}-{secrets.token_hex(8)}{path.suffix}"
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as failure:
        raise OutputError(f"{str(path)!r} could not be written: {failure}.") from None
    finally:
        temporary.unlink(missing_ok=True)


def writable(folder: Path) -> None:
    """Make sure a folder exists and can be written to, before any work is spent on what goes there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as failure:
        raise OutputError(
            f"the output folder {str(folder)!r} cannot be written to ({failure.strerror}); choose another one with --out."
        ) from None


def save_figure(write: Callable[[Path], None], path: Path) -> None:
    """Write a figure through `write`, complete or not at all."""
    with replacing(path) as temporary:
        write(temporary)
