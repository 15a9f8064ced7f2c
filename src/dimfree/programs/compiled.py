"""Compiled programs: built quickly, and kept on disk between processes, because compiling is most of a first run's time.

Settings of jax's own cache that the user made stay as they are.
"""

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper, wraps
from math import prod
from pathlib import Path
from typing import Generic, ParamSpec, TypeVar, cast

import equinox as eqx
import jax
from jax.experimental.compilation_cache import compilation_cache
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.typing import ArrayLike

from dimfree.programs.folder import WORTH_KEEPING, NoFolderError, checked_folder, programs_folder
from dimfree.programs.forms import MOST, Forms
from dimfree.programs.kept import ARRAY, Kept, Numbers, load, load_numbers, name_of, save, save_numbers
from dimfree.programs.remembered import REMEMBERED, programs_alive
from dimfree.programs.tracing import for_programs

P = ParamSpec("P")
T = TypeVar("T")
Options = dict[str, bool | str]

FORMS = Forms[Kept](MOST)  # what this process has compiled or loaded
_folder: list[Path] = []  # the folder of programs, once it has been chosen

# XLA's former code generator, which jaxlib 0.11 no longer has, builds programs of many small operations in half the time; its
# programs are as fast for theories, and a tenth slower for SGD. LLVM's first level of optimisation gives the same bits at the
# same speed as its third.
_QUICK: Options = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": "1",
    "xla_backend_optimization_level": "1",
}
# Without its optimisations LLVM takes half of that time. Its programs are then several times slower, so this is for programs
# that run for milliseconds only: theories without a large array, and programs without a loop.
_QUICKER: Options = {**_QUICK, "xla_backend_optimization_level": "0"}
_SMALL, _LARGE = 5_000, 1_000_000  # numbers
_WORTH = "jax_persistent_cache_min_compile_time_secs"  # jax keeps programs that took longer to compile


def program(function: Callable[P, T]) -> "Program[P, T]":
    """The function compiled as a whole: for long loops."""
    return Program(function, largest=0)


def quick_program(function: Callable[P, T]) -> "Program[P, T]":
    """The function compiled as a whole, and more quickly if all of its arrays are small: for loops of a few hundred turns."""
    return Program(function, largest=_SMALL)


def brief_program(function: Callable[P, T]) -> "Program[P, T]":
    """The function compiled as a whole, and more quickly unless an array is large: for what has no loop."""
    return Program(function, largest=_LARGE)


class Program(Generic[P, T]):
    """A function with one compiled form for every structure of arguments that it was called with."""

    def __init__(self, function: Callable[P, T], largest: int) -> None:
        update_wrapper(self, function)
        self._function, self._largest = function, largest

    def __call__(self, *args: P.args, **more: P.kwargs) -> T:
        """Run the form that fits."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((args, more))):
            return self._function(*args, **more)  # called while a larger program is traced, of which it becomes a part
        form, given = self._form(*args, **more)
        return cast(T, form(given))

    def prepare(self, *args: P.args, **more: P.kwargs) -> None:
        """Compile what the call would run before several threads call it: once, and in the thread that handles signals."""
        self._form(*args, **more)

    def _form(self, *args: P.args, **more: P.kwargs) -> tuple[Kept, list[ArrayLike]]:
        """The program of this structure, and the numbers that it takes."""
        dynamic, static = eqx.partition((args, more), eqx.is_array)
        given, tree = jax.tree.flatten(dynamic)
        constants, structure = jax.tree.flatten(static)
        form = (self, tree, structure, tuple(constants), tuple(jax.typeof(leaf) for leaf in given))
        return FORMS.get(form, lambda: self._kept(given, tree, static)), given

    def _kept(self, given: list[ArrayLike], tree: jax.tree_util.PyTreeDef, static: object) -> Kept:
        """The program from its file, or compiled, and written to a file if it can have one."""
        name = name_of(self._function, (self._largest, static), given) if _folder else None
        if name is not None and (found := load(_folder[0], name)) is not None:
            return found
        if name is None:
            return self._made(given, tree, static)
        with _not_kept_by_jax():
            made = self._made(given, tree, static)
        save(_folder[0], name, made)
        return made

    def _made(self, given: list[ArrayLike], tree: jax.tree_util.PyTreeDef, static: object) -> Kept:
        results: list[object] = []

        def flat(*leaves: jax.Array) -> list[jax.Array]:
            args, more = eqx.combine(jax.tree.unflatten(tree, leaves), static)
            results[:] = [self._function(*args, **more)]
            return jax.tree.leaves(eqx.filter(results[0], eqx.is_array))

        with _nothing_collected():
            with for_programs():
                traced = jax.jit(flat).trace(*given)
            options = _QUICKER if _largest_array(traced.jaxpr.jaxpr) <= self._largest else _QUICK
            compiled = _compiled(traced.lower(), options)
        REMEMBERED.count(1)
        return Kept(compiled, jax.tree.map(lambda x: ARRAY if eqx.is_array(x) else x, results[0]))


def _compiled(lowered: jax.stages.Lowered, options: Options) -> jax.stages.Compiled:
    """Compile with those options that this version of XLA knows: its error names one that it does not know."""
    try:
        return lowered.compile(options)
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        known = {name: value for name, value in options.items() if name not in str(error)}
        return _compiled(lowered, known) if len(known) < len(options) else lowered.compile()


def _largest_array(jaxpr: Jaxpr) -> int:
    """The numbers in the largest array that a program computes, those of all loops included."""
    sizes = [prod(getattr(variable.aval, "shape", ())) for equation in jaxpr.eqns for variable in equation.outvars]
    return max([0, *sizes, *map(_largest_array, _inner(jaxpr))])


def _inner(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    for value in (value for equation in jaxpr.eqns for value in equation.params.values()):
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, Jaxpr | ClosedJaxpr):
                yield part.jaxpr if isinstance(part, ClosedJaxpr) else part


@contextmanager
def counted() -> Iterator[None]:
    """Count the programs that jax itself compiles in the block; they are dropped with everything else that jax remembers."""
    before = programs_alive() - len(FORMS)
    try:
        yield
    finally:
        REMEMBERED.count(max(0, programs_alive() - len(FORMS) - before))


def kept_numbers(function: Callable[P, Numbers]) -> Callable[P, Numbers]:
    """The function, with its results kept as files beside the programs: for arrays that load faster than they are computed."""

    @wraps(function)
    def loaded(*args: P.args, **more: P.kwargs) -> Numbers:
        name = name_of(function, (args, more), []) if _folder else None
        if name is None:
            return function(*args, **more)
        found = load_numbers(_folder[0], name)
        if found is None:
            found = function(*args, **more)
            save_numbers(_folder[0], name, found)
        return found

    return loaded


def keep_programs() -> None:
    """Let jax keep compiled programs on disk, unless its own settings or `programs_folder` say otherwise."""
    folder = programs_folder()
    if _folder or folder is None or jax.config.jax_compilation_cache_dir is not None:  # type: ignore[attr-defined]
        return
    _folder.append(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))  # type: ignore[no-untyped-call]
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        jax.config.update(_WORTH, WORTH_KEEPING)  # type: ignore[no-untyped-call]
    compilation_cache.reset_cache()  # jax looks for its folder only once, and may already have looked


def where_kept() -> str:
    """The folder in which jax and dimfree keep compiled programs, or why there is none."""
    if (chosen := jax.config.jax_compilation_cache_dir) is not None:  # type: ignore[attr-defined]
        return str(chosen)
    try:
        return str(checked_folder())
    except NoFolderError as reason:
        return f"off: {reason}"


@contextmanager
def _not_kept_by_jax() -> Iterator[None]:
    """Turn jax's own cache off for a program that is kept here: what jax loads from its cache cannot be written to a file."""
    usual = jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]
    _let_jax_keep(False)
    try:
        yield
    finally:
        _let_jax_keep(usual)


def _let_jax_keep(wanted: bool) -> None:
    jax.config.update("jax_enable_compilation_cache", wanted)  # type: ignore[no-untyped-call]
    compilation_cache.reset_cache()  # jax decides only once whether it uses its cache


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Turn garbage collection off while tracing: it would take a tenth of the time, and find nothing."""
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()
