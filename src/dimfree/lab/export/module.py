"""Pure functions of numbers and of a state, written as one script that returns them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import jax
import numpy as np

# the rules of primitives enter themselves
from dimfree.lab.export import algebra, elementwise, indexing, loops, moves  # noqa: F401
from dimfree.lab.export.cost import nanoseconds
from dimfree.lab.export.emitter import Emitter
from dimfree.lab.export.liveness import Needed
from dimfree.lab.export.operations import Operation
from dimfree.lab.export.tables import constants_text
from dimfree.lab.export.values import NUMBERS, STATE, OnHeap
from dimfree.lab.export.write import Writer

Place = tuple[int, int]  # the first address of numbers on the heap, and how many they are


def shaped(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array without its numbers, for tracing."""
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Function:
    """A pure function of the leaves of a model, and of inputs of these shapes."""

    call: Callable[..., Any]  # call(leaves, *inputs) -> a tree of arrays
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class Written:
    """The text of an expression whose value has the functions, and what is known of it."""

    text: str
    microseconds: dict[str, float]  # of one call of each function, roughly
    outputs: dict[str, list[tuple[int, ...]]]  # the shapes of the outputs of each function, leaf by leaf


class _Body:
    """One function on the way to its text."""

    def __init__(self, emitter: Emitter, leaves: Sequence[OnHeap], shapes: Sequence[Any], function: Function) -> None:
        emitter.code[STATE] = []
        self.inputs = [emitter.input(one.shape, STATE) for one in function.inputs]
        traced, result = jax.make_jaxpr(function.call, return_shape=True)([*shapes], *function.inputs)
        found = emitter.closed(traced, [*leaves, *self.inputs])
        self.shapes = [tuple(one.shape) for one in jax.tree.leaves(result)]
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes]
        self.first, self.result = emitter.new((sum(sizes),), STATE)
        at = self.first
        for value, size in zip(found, sizes, strict=True):
            emitter.copy(value, at, STATE)
            at += size
        self.operations: list[Operation] = emitter.code[STATE]


def write_module(leaves: Sequence[Any], functions: dict[str, Function]) -> Written:
    """Write functions that share a heap.

    **Arguments:**

    - `leaves`: The arrays of a model. Their shapes are written, their numbers are set in the page.
    - `functions`: The functions by name.

    **Returns:**

    A text of JavaScript, an expression. Its value has `H`, the heap; `leaves`, where their numbers go; `setup`, to be called when
    these have changed; and for every function `run`, which reads its `inputs` and writes its `output`, all views of the heap.
    """
    emitter = Emitter()
    shapes = [shaped(np.shape(one), one.dtype) for one in leaves]
    places = [emitter.input(one.shape, NUMBERS) for one in shapes]
    bodies = {name: _Body(emitter, places, shapes, one) for name, one in functions.items()}
    setup = emitter.code[NUMBERS]
    needed = Needed(
        emitter.heap,
        [setup, *(one.operations for one in bodies.values())],
        [one.result.addresses for one in bodies.values()],
    )
    writer = Writer(needed, emitter.heap.zeros)
    texts = [
        writer.function("setup", setup),
        *(writer.function(f"{name}_", one.operations) for name, one in bodies.items()),
    ]
    parts = [
        f"const H=new Float64Array({emitter.heap.size});",
        f"const {{{RUNTIME}}}=makeRuntime(H);",
        *(
            constants_text(values, emitter.heap.firsts[region])
            for region, values in emitter.heap.constants.items()
            if region in needed.regions
        ),
        writer.tables,
        *writer.functions,
        *texts,
        "const view=([first,count])=>H.subarray(first,first+count);",
        f"return{{H,leaves:{json.dumps([_place(one) for one in places], separators=(',', ':'))}.map(view),setup,",
        ",".join(_entry(name, one) for name, one in bodies.items()),
        "}",
    ]
    spent = {name: nanoseconds(one.operations) / 1e3 for name, one in bodies.items()}
    return Written(f"(()=>{{{''.join(parts)}}})()", spent, {name: one.shapes for name, one in bodies.items()})


def runtime() -> str:
    """What written code calls."""
    return files("dimfree.lab.export").joinpath("runtime.js").read_text(encoding="utf-8")


RUNTIME = runtime().rpartition("return {")[2].partition("}")[0].replace("\n", "").replace(" ", "")


def _entry(name: str, body: _Body) -> str:
    inputs = json.dumps([_place(one) for one in body.inputs], separators=(",", ":"))
    output = json.dumps((body.first, body.result.addresses.size), separators=(",", ":"))
    return f"{name}:{{run:{name}_,inputs:{inputs}.map(view),output:view({output})}}"


def _place(value: OnHeap) -> Place:
    addresses = value.addresses
    return (int(addresses.flat[0]) if addresses.size else 0), int(addresses.size)
