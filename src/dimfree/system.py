"""Calls that not every operating system has, each with what holds where it is missing; no other file makes them."""

import ctypes
import os
import signal
import sys
from types import FrameType

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)  # for os.open: refuse a symbolic link; Windows makes none unasked


def cores() -> int:
    """Processors that this process may use: those of the machine, or what taskset, a container or SLURM leave of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_of_the_machine() -> float | None:
    """Bytes of memory that are built in; None on Windows, which does not say."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else None


def address_space() -> float | None:
    """Bytes that the shell lets this process reserve (`ulimit -v`); None where there is no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if allowed == resource.RLIM_INFINITY else float(allowed)


def user() -> int | None:
    """The number of the user who runs this process; None on Windows, where each user's folders are closed to others."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def has_ended(process: int) -> bool:
    """Whether no process of this machine has this number; False where that cannot be asked."""
    if sys.platform == "win32":  # the call below would end the process there
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # of another user
        return False
    return False


def lock_file(descriptor: int, *, alone: bool) -> None:
    """Lock an open file, beside others who share it, or at once and alone; OSError where that is impossible."""
    try:
        import fcntl
    except ImportError:
        raise OSError("files cannot be locked on this system") from None
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)


def give_back_memory() -> None:
    """Let the system have what was freed: Linux's C library keeps it for the thread that took it, and compilers are threads."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def wake_on_signals(numbers: tuple[signal.Signals, ...]) -> tuple[int, set[int]] | None:
    """Write the numbers of these signals into a pipe; its end to read from, and which are heeded. None on Windows.

    Signals that the parent process ignores stay ignored. Windows wakes sockets only, and keeps Python's own Ctrl-C.
    """
    if sys.platform == "win32":
        return None
    heeded = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in heeded:
        signal.signal(number, _nothing)
    return read_end, {*map(int, heeded)}


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler must be there, or the signal would end the process before the pipe is read."""
