"""Tests mostly compile, and mostly single operations outside of programs: jax does both of its steps in less time here.

jax makes an MLIR context for every program: 5 of 25 ms for a single operation, and a megabyte that stays as long as the program.
LLVM's optimisation takes 6 ms more, and a small program without a loop runs for microseconds. Where a version of jax lacks one
of the two functions that are replaced, the tests only take longer.
"""

from collections.abc import Callable, Iterator
from functools import cache, wraps
from math import prod

from jax._src import compiler
from jax._src.interpreters import mlir

_OPERATIONS, _NUMBERS = 20, 10_000  # of what is called small
_LEVEL = ("xla_backend_optimization_level", "0")


def compile_quickly() -> None:
    """Lower all programs in one context, and compile small ones without LLVM's optimisation."""
    if hasattr(mlir, "make_ir_context"):
        made, shared = mlir.make_ir_context, cache(mlir.make_ir_context)
        # a program that is made within another one would become a part of it in the same context
        mlir.make_ir_context = lambda: made() if mlir.ir.Context.current else shared()
    if hasattr(compiler, "compile_or_get_cached"):
        compiler.compile_or_get_cached = _with_less_for_small_ones(compiler.compile_or_get_cached)


def _with_less_for_small_ones(usual: Callable) -> Callable:
    @wraps(usual)
    def compiled(backend, computation, devices, options, *args, **more):
        if not options.env_option_overrides and _is_small(computation):
            options.env_option_overrides = [_LEVEL]
        return usual(backend, computation, devices, options, *args, **more)

    return compiled


def _is_small(computation: mlir.ir.Module) -> bool:
    """Few operations on few numbers, and no loop."""
    for count, operation in enumerate(_operations(computation)):
        if count >= _OPERATIONS or operation.name == "stablehlo.while":
            return False
        shapes = (result.type.shape for result in operation.results if isinstance(result.type, mlir.ir.ShapedType))
        if any(prod(shape) > _NUMBERS for shape in shapes):
            return False
    return True


def _operations(computation: mlir.ir.Module) -> Iterator[mlir.ir.Operation]:
    for function in computation.body.operations:
        for block in (block for region in function.regions for block in region.blocks):
            for operation in block.operations:
                yield operation.operation
