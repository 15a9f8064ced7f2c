"""Compiled programs: built quickly, and kept on disk between processes, because compiling is most of a first answer.

Whoever decided about jax's own cache is left alone.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
from jax.experimental.compilation_cache import compilation_cache

from dimfree.machine import WORTH_KEEPING, programs_folder

P = ParamSpec("P")
T = TypeVar("T")

# XLA's former code generator builds programs of many small operations in half the time, with the same numbers. What it
# builds is as fast for the theories, and up to a third slower for SGD, whose loops are long.
_QUICK = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}


def program(function: Callable[P, T]) -> Callable[P, T]:
    """The function compiled as a whole, for speed of its results."""
    return _program(function, dict)


def quick_program(function: Callable[P, T]) -> Callable[P, T]:
    """The function compiled as a whole, for a quick compilation."""
    return _program(function, _quick_options)


def _program(function: Callable[P, T], options: Callable[[], dict[str, bool | int]]) -> Callable[P, T]:
    @lru_cache(maxsize=1)
    def built() -> Callable[P, T]:
        made: Callable[P, T] = eqx.filter_jit(function, compiler_options=options())  # type: ignore[call-overload]
        return made

    @wraps(function)
    def call(*args: P.args, **more: P.kwargs) -> T:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, more))):
            return function(*args, **more)  # part of somebody's larger program
        with _errors_are_nan():
            return built()(*args, **more)

    return call


@lru_cache(maxsize=1)
def _quick_options() -> dict[str, bool | int]:
    """The options, if this version of XLA knows them: they promise nothing."""
    try:
        jax.jit(lambda: 0.0, compiler_options=_QUICK)()
    except (jax.errors.JaxRuntimeError, ValueError):
        return {}
    return _QUICK


def keep_programs() -> None:
    """Let jax keep compiled programs on disk, unless its own settings or `machine.programs_folder` say otherwise."""
    folder = programs_folder()
    if folder is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
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
