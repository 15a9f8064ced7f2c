"""Ctrl-C and other signals: a thread ends the process at once, whatever the main thread does, and no file is half-written.

An exception would not work: compiled code runs for minutes before Python looks at signals, and an exception that is raised
inside a callback of jax is lost.
"""

import os
import select
import signal
from threading import Thread

from dimfree.system import wake_on_signals

_HEEDED = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 1.0  # seconds to wait until the last message is written
_SHOW_CURSOR = "\x1b[?25h\r\x1b[2K"  # which a progress bar has hidden


def heed_signals() -> None:
    """From now on, let these signals end the process with one sentence; signals that the parent ignores stay ignored."""
    if woken := wake_on_signals(_HEEDED):
        Thread(target=_wait, args=woken, daemon=True).start()


def _wait(read_end: int, heeded: set[int]) -> None:
    while True:
        number = os.read(read_end, 1)[0]
        if number in heeded:
            _end(128 + number)


def _end(code: int) -> None:
    from dimfree.files import RENAMING, discard_temporaries

    RENAMING.acquire()  # never released, so that no file is renamed after the message
    try:
        files = discard_temporaries()
        # name the store of a sweep, not the files in it
        written = [path for path in files if not {*path.parents} & {*files}]
        done = "nothing was written" if not written else f"written before that: {', '.join(map(str, written))}"
        _say(f"dimfree: interrupted; {done}.\n")
    finally:
        os._exit(code)


def _say(sentence: str) -> None:
    """Print on stderr, unless that is full, closed, or read by a program that has ended or stopped reading."""
    _, ready, _ = select.select([], [2], [], _PATIENCE)
    if ready:
        cursor = _SHOW_CURSOR if os.isatty(2) else ""
        os.write(2, f"{cursor}{sentence}".encode())
