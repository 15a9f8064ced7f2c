"""Reading NumPy's files (.npy and .npz): the size that a file announces is checked before memory is reserved."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Protocol, runtime_checkable
from zipfile import ZipFile

import numpy as np

from dimfree.errors import DimfreeError, ProblemError, in_one_line
from dimfree.files import check_regular
from dimfree.machine import refuse_above_memory

AnyArray = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@runtime_checkable
class Stream(Protocol):
    """A file, or a member of an archive."""

    def read(self, size: int = -1, /) -> bytes:
        """Read `size` bytes, or as many as are left."""

    def tell(self) -> int:
        """The number of bytes read so far."""


_HEADERS: Mapping[tuple[int, int], Callable[[Stream], tuple[tuple[int, ...], bool, np.dtype[np.generic]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _Announced:
    """The header of an array, whose numbers have not been read yet."""

    def __init__(self, stream: Stream, size: int) -> None:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"it is written in version {version[0]}.{version[1]} of the format, not in 1.0 or 2.0")
        self.shape, self._fortran, self.dtype = _HEADERS[version](stream)
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects, not numbers")
        if min(self.shape, default=0) < 0:
            raise ValueError(f"its shape is {self.shape}")
        self.bytes, left = prod(self.shape) * self.dtype.itemsize, size - stream.tell()
        if self.bytes > left:
            raise ValueError(f"an array of shape {self.shape} takes {self.bytes:.4g} bytes; only {left:.4g} follow")

    def read(self, stream: Stream) -> AnyArray:
        """Read the array from a stream whose header was read."""
        found: AnyArray = np.frombuffer(stream.read(self.bytes), self.dtype)
        return found.reshape(self.shape, order="F" if self._fortran else "C")


def read_array(file: Path) -> Values:
    """The real numbers in a .npy file; a ValueError or an OSError if it cannot be read."""
    check_regular(file)
    with _understood(), file.open("rb") as stream:
        announced = _Announced(stream, file.stat().st_size)
        _refuse_too_large(file, [announced])
        return _real(announced.read(stream))


def read_archive(file: Path, names: Sequence[str], whose: str) -> dict[str, Values]:
    """The named arrays of real numbers in an .npz file that the section `whose` of a problem names."""
    try:
        found = {name: _real(array) for name, array in unpacked(file, names).items()}
    except FileNotFoundError:
        raise ProblemError(f"{whose} names the file {str(file)!r}, which does not exist.") from None
    except (OSError, ValueError) as failure:
        raise ProblemError(
            f"{whose} names the file {str(file)!r}, which is not a readable .npz archive ({in_one_line(failure)})."
        ) from None
    for name in names:
        if name not in found:
            needed = " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
            raise ProblemError(f"the file {str(file)!r} has no array {name!r}; it needs {needed}.")
    return found


def unpacked(file: Path, names: Sequence[str] | None = None) -> dict[str, AnyArray]:
    """The named arrays (all, if none are named) of an .npz file; a ValueError or an OSError if the file is damaged."""
    check_regular(file)
    with _understood(), ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        announced = {}
        for name, info in wanted.items():
            with archive.open(info) as stream:
                announced[name] = _Announced(stream, info.file_size)
        _refuse_too_large(file, list(announced.values()))
        found = {}
        for name, info in wanted.items():
            with archive.open(info) as stream:
                found[name] = _Announced(stream, info.file_size).read(stream)
        return found


@contextmanager
def _understood() -> Iterator[None]:
    """Turn any exception that a library raises over a damaged file into a ValueError; dimfree's errors and OSErrors pass."""
    try:
        yield
    except (DimfreeError, OSError, ValueError):
        raise
    except (
        Exception
    ) as failure:  # zipfile, zlib, lzma, struct and tokenize all raise their own; there is no complete list
        raise ValueError(str(failure) or "it ends too soon") from None


def _real(found: AnyArray) -> Values:
    if found.dtype.kind not in "fiub":
        raise ValueError(f"its numbers are of type {found.dtype}, not real")
    return found.astype(np.float64)


def _refuse_too_large(file: Path, arrays: Sequence[_Announced]) -> None:
    needed = sum(one.bytes + 8.0 * prod(one.shape) for one in arrays)  # as written, and in double precision
    refuse_above_memory(needed, f"reading the file {str(file)!r}", "give a smaller one")
