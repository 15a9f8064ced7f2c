"""Compiled programs: built quickly, and kept on disk between processes, because they are most of a first answer.

Whoever decided about jax's own cache is left alone.
"""

import os
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, update_wrapper, wraps
from pathlib import Path
from typing import Generic, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
from jax.experimental.compilation_cache import compilation_cache

from dimfree.kept import ARRAY, Kept, load, name_of, save
from dimfree.machine import WORTH_KEEPING, programs_folder

P = ParamSpec("P")
T = TypeVar("T")
Options = dict[str, bool | int]

_folder: list[Path] = []  # where programs are kept, once that is decided

# XLA's former code generator builds programs of many small operations in half the time; what it builds is as fast for the
# theories, and a tenth slower for SGD.
_QUICK: Options = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}
# Without its optimisations LLVM takes half the time again. What it builds is several times slower, so this is for theories of
# so few numbers that they are solved in milliseconds anyway.
_QUICKER: Options = {**_QUICK, "xla_backend_optimization_level": 0}
_FEW = 200


def program(function: Callable[P, T]) -> Callable[P, T]:
    """The function compiled as a whole."""
    return _Program(function, few=0)


def quick_program(function: Callable[P, T]) -> Callable[P, T]:
    """The function compiled as a whole, and more quickly if it is called with few numbers: for what is not in a long loop."""
    return _Program(function, few=_FEW)


class _Program(Generic[P, T]):
    """A function and its compiled forms, one for every structure that it was called with."""

    def __init__(self, function: Callable[P, T], few: int) -> None:
        update_wrapper(self, function)
        self._function, self._few = function, few
        self._forms: dict[Hashable, Kept | None] = {}

    def __call__(self, *args: P.args, **more: P.kwargs) -> T:
        leaves = jax.tree.leaves((args, more))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._function(*args, **more)  # part of somebody's larger program
        quicker = sum(leaf.size for leaf in leaves if eqx.is_array(leaf)) <= self._few
        with _errors_are_nan():
            if not _folder:
                return self._jitted[quicker](*args, **more)
            given, form = _parts((args, more))
            if form not in self._forms:
                self._forms[form] = self._form(_folder[0], _options(quicker), (args, more))
            found = self._forms[form]
            return self._jitted[quicker](*args, **more) if found is None else cast(T, found(given))

    @cached_property
    def _jitted(self) -> dict[bool, Callable[P, T]]:
        return {
            quicker: eqx.filter_jit(self._function, compiler_options=_options(quicker))  # type: ignore[call-overload]
            for quicker in (False, True)
        }

    def _form(self, folder: Path, options: Options, called: object) -> Kept | None:
        """From its file, or compiled and written to one; None for what cannot be kept."""
        dynamic, static = eqx.partition(called, eqx.is_array)
        leaves, tree = jax.tree.flatten(dynamic)
        name = name_of(self._function, (options, static), leaves)
        if name is None:
            return None
        if (found := load(folder, name)) is not None:
            return found
        results: list[object] = []

        def flat(*given: jax.Array) -> list[jax.Array]:
            args, more = eqx.combine(jax.tree.unflatten(tree, given), static)
            results[:] = [self._function(*args, **more)]
            return jax.tree.leaves(eqx.filter(results[0], eqx.is_array))

        compiled = jax.jit(flat, compiler_options=options).lower(*leaves).compile()
        made = Kept(compiled, jax.tree.map(lambda x: ARRAY if eqx.is_array(x) else x, results[0]))
        save(folder, name, made)
        return made


def _parts(called: object) -> tuple[list[jax.Array], Hashable]:
    """The arrays of a call, and the rest of it."""
    dynamic, static = eqx.partition(called, eqx.is_array)
    leaves, tree = jax.tree.flatten(dynamic)
    constants, structure = jax.tree.flatten(static)
    return leaves, (tree, structure, tuple(constants), tuple(jax.typeof(leaf) for leaf in leaves))


@lru_cache(maxsize=2)
def _options(quicker: bool) -> Options:
    """The options, if this version of XLA knows them: they promise nothing."""
    wished = _QUICKER if quicker else _QUICK
    try:
        jax.jit(lambda: 0.0, compiler_options=wished)()
    except (jax.errors.JaxRuntimeError, ValueError):
        return {}
    return wished


def keep_programs() -> None:
    """Let jax keep compiled programs on disk, unless its own settings or `machine.programs_folder` say otherwise."""
    folder = programs_folder()
    if _folder or folder is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    _folder.append(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))  # type: ignore[no-untyped-call]
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)  # type: ignore[no-untyped-call]
    compilation_cache.reset_cache()  # jax looks for the folder once, and may have done so already


@contextmanager
def _errors_are_nan() -> Iterator[None]:
    """Trace without the callbacks by which equinox raises errors from within a program, which cannot be kept on disk then.

    dimfree checks its results itself. There is no public way to say so for one program: the environment variable
    EQX_ON_ERROR, which wins where it is set, is read once and for all programs of the process.
    """
    if "EQX_ON_ERROR" in os.environ:
        yield
        return
    errors = sys.modules["equinox._errors"]
    usual = errors.branched_error_if

    @wraps(usual)
    def quiet(*args: object, on_error: str = "default", **more: object) -> object:
        return usual(*args, on_error="nan" if on_error == "default" else on_error, **more)

    setattr(errors, usual.__name__, quiet)
    try:
        yield
    finally:
        setattr(errors, usual.__name__, usual)
