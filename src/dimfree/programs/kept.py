"""Compiled programs as files: a later process loads what an earlier one compiled, instead of tracing and compiling it again.

The name of a file is a hash of all that its program depends on: code, versions, processor, settings, structure and shapes of
its arguments. A program that depends on something without a safe name, such as a user's function, is not kept.
"""

import hashlib
import importlib
import io
import os
import pickle
import platform
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable
from jax.typing import ArrayLike
from jaxlib import lapack

from dimfree.programs.folder import NUMBERS, PROGRAM, read, write
from dimfree.system import cores

_LIBRARIES = ("jax", "jaxlib", "equinox", "diffrax", "optimistix", "lineax", "numpy", "scipy")
_OURS = frozenset(
    {"dimfree", "builtins", "functools", "collections", *_LIBRARIES}
)  # packages whose versions are in the name
_LARGEST = 5e8  # bytes of all files together; above that, the oldest are removed
Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class _Array:
    """Marks the place of an array."""


ARRAY = _Array()


@dataclass(frozen=True)
class Kept:
    """A compiled program takes and returns flat lists of arrays; `result` is the structure of what it returns."""

    compiled: jax.stages.Compiled
    result: object

    def __call__(self, given: Sequence[ArrayLike]) -> object:
        """Run it."""
        arrays = iter(self.compiled(*given))
        return jax.tree.map(lambda leaf: next(arrays) if isinstance(leaf, _Array) else leaf, self.result)


class _NotNamed(pickle.PicklingError):
    """A part of a program that its file name could not identify."""


class _ByName(pickle.Pickler):
    """Functions and classes by their names, and only those of the libraries whose versions are known."""

    def reducer_override(self, thing: Any) -> Any:
        """Look names up before they are trusted."""
        if isinstance(thing, frozenset):
            return frozenset, (sorted(thing, key=repr),)
        if not (isinstance(thing, type) or (callable(thing) and hasattr(thing, "__qualname__"))):
            return NotImplemented
        module, name = str(thing.__module__), str(thing.__qualname__)
        with suppress(ImportError, AttributeError):
            if module.partition(".")[0] in _OURS and _found(module, name) is thing:
                return NotImplemented if isinstance(thing, type | FunctionType) else (_found, (module, name))
        raise _NotNamed(f"{module}.{name}")


def _found(module: str, name: str) -> object:
    thing: object = importlib.import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def name_of(function: Callable[..., object], called: object, leaves: Sequence[ArrayLike]) -> str | None:
    """The name of a function's program for the structure it is called with and arrays like `leaves`; None without one."""
    if function.__module__.partition(".")[0] not in _OURS or jax.default_backend() != "cpu" or jax.device_count() > 1:
        return None
    try:
        written = _pickled((function.__module__, function.__qualname__, called, [_kind(leaf) for leaf in leaves]))
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return hashlib.sha256(_surroundings() + written).hexdigest()


def _kind(leaf: ArrayLike) -> tuple[tuple[int, ...], str, bool]:
    kind = jax.typeof(leaf)
    return kind.shape, str(kind.dtype), getattr(kind, "weak_type", False)


def load(folder: Path, name: str) -> Kept | None:
    """The program of this name; None where there is none, a damaged one, or one that another user could have written."""
    path = folder / (name + PROGRAM)
    _prepare_linear_algebra()
    try:
        written, trees, result = pickle.loads(zlib.decompress(read(path)))
        compiled = serialize_executable.deserialize_and_load(written, *trees)
        os.utime(path)
    except Exception:  # any damage, and any error of jax: the program can be compiled again
        return None
    return Kept(compiled, result)


@lru_cache(maxsize=1)
def _prepare_linear_algebra() -> None:
    """Make jax find LAPACK, which it otherwise does on its first decomposition; a loaded program would crash without it."""
    try:
        lapack.prepare_lapack_call("potrf_ffi", np.dtype(float))  # type: ignore[no-untyped-call]
    except AttributeError:  # this jaxlib has no such function: compile a decomposition
        jax.jit(jnp.linalg.cholesky).lower(np.eye(1))


def save(folder: Path, name: str, program: Kept) -> None:
    """Keep a program, complete or not at all."""
    with suppress(
        ValueError, TypeError, AttributeError, pickle.PicklingError
    ):  # without the file the program is compiled again
        written, *trees = serialize_executable.serialize(program.compiled)
        _write(folder, name + PROGRAM, zlib.compress(_pickled((written, trees, program.result)), 1))


def load_numbers(folder: Path, name: str) -> Numbers | None:
    """The array of this name; None where there is none, or a damaged one."""
    try:
        found: Numbers = np.load(io.BytesIO(read(folder / (name + NUMBERS))), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found


def save_numbers(folder: Path, name: str, numbers: Numbers) -> None:
    """Keep an array, complete or not at all."""
    file = io.BytesIO()
    np.save(file, numbers, allow_pickle=False)
    _write(folder, name + NUMBERS, file.getvalue())


def _write(folder: Path, name: str, content: bytes) -> None:
    temporary = folder / f".{name}-{os.getpid()}"
    try:
        write(temporary, content)
        temporary.replace(folder / name)
        _make_room(folder)
    except OSError:
        temporary.unlink(missing_ok=True)


def _make_room(folder: Path) -> None:
    files = sorted(
        ((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder)), reverse=True
    )
    total = 0.0
    for _, size, path in files:
        total += size
        if total > _LARGEST:
            Path(path).unlink(missing_ok=True)


def _pickled(thing: object) -> bytes:
    file = io.BytesIO()
    _ByName(file).dump(thing)
    return file.getvalue()


@lru_cache(maxsize=1)
def _surroundings() -> bytes:
    """What every program depends on: sources, versions, processor and settings."""
    package = Path(__file__).parents[1]
    sources = [
        (str(path.relative_to(package)), path.stat().st_mtime_ns, path.stat().st_size) for path in package.rglob("*.py")
    ]
    versions = [(name, version(name)) for name in _LIBRARIES]
    settings = {name: str(value) for name, value in jax.config.values.items() if "cache" not in name}
    environment = {name: text for name, text in os.environ.items() if name.startswith(("XLA_", "EQX_", "JAX_"))}
    machine = (sys.version, platform.machine(), _processor(), cores())
    return repr((sorted(sources), versions, sorted(settings.items()), sorted(environment.items()), machine)).encode()


def _processor() -> str:
    """The instructions that the processor knows: several kinds of machines may share a home directory."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()
