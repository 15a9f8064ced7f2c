"""Errors and warnings. Each is one sentence: what was given, what was expected, what to change."""

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches


class DimfreeError(Exception):
    """Base of every error that is meant for the user; the command line prints it without a traceback."""

    exit_code = 1


class ProblemError(DimfreeError):
    """The problem as written does not make sense."""

    exit_code = 2


class CodeError(ProblemError):
    """A file names code, and the caller has not allowed it to run."""


class RefusalError(DimfreeError):
    """A description does not hold for this problem and says why."""

    exit_code = 3


class DivergenceError(DimfreeError):
    """Training (or its limit) blew up at a finite time."""


class OutputError(DimfreeError):
    """A result could not be written or read."""


def in_one_line(failure: BaseException) -> str:
    """The whole message of another library's exception, with its line breaks replaced by spaces."""
    return " ".join(str(failure).split())


def first_line(failure: BaseException) -> str:
    """The first line of what an exception says, up to 200 characters; the name of its type if it says nothing."""
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0][:200]


def type_and_first_line(failure: BaseException) -> str:
    """The name of an exception's type and, if it says anything, the first line of that."""
    name, said = type(failure).__name__, first_line(failure)
    return name if said == name else f"{name}: {said}"


class DimfreeWarning(UserWarning):
    """Base of every warning that is meant for the user; the command line prints it as one sentence, once."""


class LeftBehindWarning(DimfreeWarning):
    """A change moved a problem to another setting, which has no place for some of the given keys."""


class PluginWarning(DimfreeWarning):
    """A package that extends dimfree cannot be loaded, or uses a name that is already taken."""


class DimfreeDeprecation(DimfreeWarning, FutureWarning):
    """A name or a spelling of a former version, which goes on working for now."""


def deprecated(former: str, now: str) -> None:
    """Warn that a name was replaced, and by what; the warning points at the line outside of dimfree that led here."""
    sentence = f"{former} is now {now}; write the new name, since a later version drops the former one."
    warnings.warn(sentence, DimfreeDeprecation, _level_outside())


def _level_outside() -> int:
    """The `stacklevel` with which a warning of the caller names a line that belongs neither to dimfree nor to pydantic."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("dimfree", "pydantic"):
        frame = frame.f_back
        while (
            frame.f_back is not None and "importlib._bootstrap" in frame.f_code.co_filename
        ):  # warnings do not count these
            frame = frame.f_back
        level += 1
    return level


def suggest(given: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the most similar name, or else all names."""
    names = list(known)
    close = get_close_matches(given, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"choose from: {', '.join(names)}."
