"""Walk through a jaxpr and note what the page has to compute, equation by equation.

What depends on the sliders alone goes to a list of its own, which the page runs once when they move.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from jax.extend import core
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var

from dimfree.lab.export.operations import Argument, Elementwise, Operation
from dimfree.lab.export.values import KNOWN, NUMBERS, STATE, Constant, Heap, OnHeap, Unsupported, Value


class Equation(NamedTuple):
    """One equation with the values of its inputs."""

    params: dict[str, Any]
    inputs: list[Value]
    given: list[Any]  # shapes and types of the inputs
    wanted: list[Any]  # and of the outputs
    bind: Callable[..., Any]  # jax's own function, for what is known
    name: str

    @property
    def stage(self) -> int:
        """When its result is known."""
        return max((one.stage for one in self.inputs), default=KNOWN)


Rule = Callable[["Emitter", Equation], list[Value]]
RULES: dict[str, Rule] = {}  # by the name of the primitive


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of primitives."""

    def enter(one: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, one))
        return one

    return enter


class Emitter:
    """The heap, and the operations of both stages."""

    def __init__(self) -> None:
        self.heap = Heap()
        self.code: dict[int, list[Operation]] = {NUMBERS: [], STATE: []}
        self._inside: list[tuple[int, list[Operation]]] = []  # blocks of loops and branches, with their stages

    def input(self, shape: tuple[int, ...], stage: int) -> OnHeap:
        """Numbers that the page writes before it runs anything."""
        return OnHeap(self.heap.new(shape), stage)

    def new(self, shape: tuple[int, ...], stage: int) -> tuple[int, OnHeap]:
        """The first address of a new region, and the value that will lie there."""
        addresses = self.heap.new(shape)
        return self.heap.firsts[-1], OnHeap(addresses, stage)

    def push(self, stage: int, operation: Operation) -> None:
        """Note an operation: in the innermost block, unless it can be done before all that this block depends on."""
        if self._inside and self._inside[-1][0] <= stage:
            self._inside[-1][1].append(operation)
        else:
            self.code[stage].append(operation)

    @contextmanager
    def block(self, stage: int) -> Iterator[list[Operation]]:
        """A list that collects what is noted meanwhile."""
        found: list[Operation] = []
        self._inside.append((stage, found))
        try:
            yield found
        finally:
            self._inside.pop()

    def elementwise(
        self, text: Callable[..., str], inputs: Sequence[Value], shape: tuple[int, ...], nanoseconds: float = 1.0
    ) -> OnHeap:
        """Entry by entry; scalars are broadcast."""
        stage = max(one.stage for one in inputs)
        out, value = self.new(shape, stage)
        arguments = [self.argument(one, shape) for one in inputs]
        if value.addresses.size:
            self.push(stage, Elementwise(out, value.addresses.size, text, arguments, nanoseconds))
        return value

    def argument(self, value: Value, shape: tuple[int, ...]) -> Argument:
        """A number that is the same everywhere as text, else addresses."""
        if isinstance(value, Constant) and value.values.size and _uniform(value.values):
            return number(value.values.flat[0])
        return np.broadcast_to(self.heap.addresses(value), shape).ravel()

    def copy(self, value: Value, out: int, stage: int) -> None:
        """Write a value to a region."""
        shape = value.values.shape if isinstance(value, Constant) else value.addresses.shape
        size = int(np.prod(shape, dtype=int))
        if size:
            self.push(stage, Elementwise(out, size, lambda x: x, [self.argument(value, shape)]))

    def run(self, jaxpr: Jaxpr, constants: Sequence[Any], inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a jaxpr."""
        known: dict[Var, Value] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, one in zip(jaxpr.constvars, constants, strict=True):
            known[variable] = one if isinstance(one, Constant | OnHeap) else Constant(np.asarray(one))

        def read(atom: Any) -> Value:
            return Constant(np.asarray(atom.val)) if isinstance(atom, core.Literal) else known[atom]

        for equation in jaxpr.eqns:
            outputs = self.equation(equation, [read(one) for one in equation.invars])
            known.update(zip(equation.outvars, outputs, strict=True))
        return [read(one) for one in jaxpr.outvars]

    def closed(self, jaxpr: ClosedJaxpr, inputs: Sequence[Value]) -> list[Value]:
        """The same for a jaxpr with its constants."""
        return self.run(jaxpr.jaxpr, jaxpr.consts, inputs)

    def equation(self, equation: JaxprEqn, inputs: list[Value]) -> list[Value]:
        """The outputs of one equation."""
        name = equation.primitive.name
        one = Equation(
            equation.params,
            inputs,
            [atom.aval for atom in equation.invars],
            [atom.aval for atom in equation.outvars],
            equation.primitive.bind,
            name,
        )
        if name not in RULES and one.stage != KNOWN:
            raise Unsupported(f"it uses {name}, which is not translated")
        return RULES[name](self, one) if name in RULES else by_jax(one)


def by_jax(equation: Equation) -> list[Value]:
    """What is known while writing, computed by jax."""
    inputs = [one.values for one in equation.inputs if isinstance(one, Constant)]
    found = equation.bind(*map(np.asarray, inputs), **equation.params)
    return [Constant(np.asarray(one)) for one in (found if isinstance(found, list | tuple) else [found])]


def number(x: Any) -> str:
    """A number as JavaScript reads it."""
    x = float(x)
    if np.isnan(x):
        return "NaN"
    if np.isinf(x):
        return "Infinity" if x > 0 else "-Infinity"
    if x == int(x) and abs(x) < 1e15:
        return "-0" if x == 0 and np.signbit(x) else str(int(x))
    return repr(x)


def _uniform(values: Any) -> bool:
    first = values.flat[0]
    signed = first == 0 and np.issubdtype(values.dtype, np.floating)
    same = bool(np.all(values == first)) and not (signed and np.any(np.signbit(values) != np.signbit(first)))
    return same or bool(np.all(values != values))
