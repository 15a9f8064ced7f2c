"""Standard streams that never fail: a closed stream becomes the null device, and a message that cannot be written is dropped."""

import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Dropping(io.FileIO):
    """A file that drops what it cannot write because the disk is full or the reading program has ended."""

    def write(self, text: "ReadableBuffer", /) -> int:
        """Write, and report as many bytes as were given, written or not."""
        with suppress(OSError):
            return super().write(text)
        return memoryview(text).nbytes


def mend_streams() -> None:
    """Open closed streams on the null device, and let stderr drop what it cannot write.

    A closed stream leaves its file number free: the next file opened would get that number, and with it all that libraries print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is that of the closed stream
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Dropping(2, "w", closefd=False)), encoding, "backslashreplace", line_buffering=True
    )
