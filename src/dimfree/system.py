"""Calls that some operating systems lack, each with what happens there instead. No other file makes such calls."""

import ctypes
import os
import signal
import sys
from types import FrameType

NO_LINKS: int = getattr(os, "O_NOFOLLOW", 0)  # for os.open: refuse symbolic links; Windows lacks this flag


def cores() -> int:
    """How many processors this process may use: those of the machine, or as many as taskset, a container or SLURM allow."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_of_the_machine() -> float | None:
    """Bytes of memory in this machine; None on Windows, which does not report it."""
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
    """Whether no process on this machine has this number; False where that cannot be found out."""
    if sys.platform == "win32":  # on Windows the call below would end that process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process belongs to another user
        return False
    return False


def lock_file(descriptor: int, *, alone: bool) -> None:
    """Lock an open file: shared with others, or `alone` and without waiting. OSError if that is impossible."""
    try:
        import fcntl
    except ImportError:
        raise OSError("files cannot be locked on this system") from None
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)


def give_back_memory() -> None:
    """Return freed memory to the system: Linux's C library keeps it for the thread that took it, and compilers run in threads."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def wake_on_signals(numbers: tuple[signal.Signals, ...]) -> tuple[int, set[int]] | None:
    """Write the numbers of these signals into a pipe; return its reading end and the signals it gets. None on Windows.

    Signals that the parent process ignores stay ignored. On Windows a signal can only wake a socket, so Python's Ctrl-C stays.
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


def start_tracker() -> None:
    """Start Python's tracker without its complaints: it removes the semaphores of a process that ends at once.

    Windows has no tracker; semaphores end there with the last process that uses them.
    """
    if sys.platform == "win32":
        return
    from multiprocessing import resource_tracker

    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker:UserWarning"
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Without any handler the signal would end the process before the pipe is read."""
