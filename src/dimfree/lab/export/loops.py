"""Calls, branches and loops: short loops are unrolled, long ones run over regions of the heap."""

from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from dimfree.lab.export.elementwise import INTRINSICS, apply
from dimfree.lab.export.emitter import Emitter, Equation, by_jax, rule
from dimfree.lab.export.operations import Branch, For, Offset, Operation, Pick, Put, Reduce, While
from dimfree.lab.export.values import KNOWN, Constant, OnHeap, Value

UNROLLED = 8  # turns of a loop at most that are written one after the other


@rule("jit", "remat2", "custom_jvp_call", "custom_vjp_call")
def _call(emitter: Emitter, equation: Equation) -> list[Value]:
    """In place, unless the runtime has a function of that name."""
    params = equation.params
    inner = next(params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr") if name in params)
    body = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
    name = str(params.get("name") or getattr(body.debug_info, "func_name", "")).rpartition(".")[2]
    if name in INTRINSICS and equation.stage != KNOWN:
        return apply(emitter, equation, INTRINSICS[name])
    return emitter.run(body, inner.consts if isinstance(inner, ClosedJaxpr) else (), equation.inputs)


@rule("cond")
def _cond(emitter: Emitter, equation: Equation) -> list[Value]:
    index, *inputs = equation.inputs
    branches = equation.params["branches"]
    if isinstance(index, Constant):
        return emitter.closed(branches[int(np.clip(int(index.values), 0, len(branches) - 1))], inputs)
    stage, cases = equation.stage, []
    places = [emitter.new(one.shape, stage) for one in equation.wanted]
    for branch in branches:
        with emitter.block(stage) as operations:
            for (out, _), value in zip(places, emitter.closed(branch, inputs), strict=True):
                emitter.copy(value, out, stage)
        cases.append(operations)
    emitter.push(stage, Branch(-1, 0, int(emitter.heap.addresses(index).reshape(())), cases))
    return [value for _, value in places]


class _Carried:
    """What a loop hands from turn to turn: one region for each value, written before the first turn."""

    def __init__(self, emitter: Emitter, first: list[Value], wanted: list[Any], stage: int) -> None:
        self.emitter, self.stage = emitter, stage
        self.places = [emitter.new(one.shape, stage) for one in wanted]
        for (out, _), value in zip(self.places, first, strict=True):
            emitter.copy(value, out, stage)

    @property
    def values(self) -> list[Value]:
        """As a turn finds them."""
        return [value for _, value in self.places]

    def update(self, found: list[Value]) -> None:
        """Write what a turn has found; what still reads old values is put aside first."""
        own = np.concatenate([value.addresses.ravel() for _, value in self.places]) if self.places else np.zeros(0, int)
        ready = []
        for (out, old), new in zip(self.places, found, strict=True):
            if isinstance(new, OnHeap) and np.array_equal(new.addresses, old.addresses):
                continue
            if isinstance(new, OnHeap) and np.isin(new.addresses, own).any():
                aside, value = self.emitter.new(old.addresses.shape, self.stage)
                self.emitter.copy(new, aside, self.stage)
                new = value
            ready.append((out, new))
        for out, new in ready:
            self.emitter.copy(new, out, self.stage)


@rule("while")
def _while(emitter: Emitter, equation: Equation) -> list[Value]:
    params, stage = equation.params, equation.stage
    if stage == KNOWN:
        return by_jax(equation)
    of_test, of_body = params["cond_nconsts"], params["body_nconsts"]
    inputs = equation.inputs
    for_test, for_body, first = inputs[:of_test], inputs[of_test : of_test + of_body], inputs[of_test + of_body :]
    carried = _Carried(emitter, first, equation.wanted, stage)
    with emitter.block(stage) as test:
        (going,) = emitter.closed(params["cond_jaxpr"], [*for_test, *carried.values])
        flags = emitter.heap.addresses(going)
        predicate, _ = emitter.new((), stage)
        emitter.push(stage, Reduce(predicate, 1, "or", flags.reshape(1, -1)))
    with emitter.block(stage) as body:
        found = emitter.closed(params["body_jaxpr"], [*for_body, *carried.values])
        if flags.ndim:  # many loops at once: those that have ended keep what they have
            found = [_while_going(emitter, going, new, old) for new, old in zip(found, carried.values, strict=True)]
        carried.update(found)
    emitter.push(stage, While(-1, 0, test, predicate, body))
    return carried.values


def _while_going(emitter: Emitter, going: Value, new: Value, old: Value) -> Value:
    flags, shape = emitter.heap.addresses(going), emitter.heap.addresses(old).shape
    spread = np.broadcast_to(flags.reshape(*flags.shape, *[1] * (len(shape) - flags.ndim)), shape)
    which = OnHeap(spread, max(one.stage for one in (going, old)))
    return emitter.elementwise("{0}?{1}:{2}".format, [which, new, old], shape)


@rule("scan")
def _scan(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    return _unrolled(emitter, equation) if equation.params["length"] <= UNROLLED else _looped(emitter, equation)


def _parts(equation: Equation) -> tuple[list[Value], list[Value], list[Value]]:
    """What stays, what is carried, and what turns take one by one."""
    constants = equation.params["num_consts"]
    carried = constants + equation.params["num_carry"]
    return equation.inputs[:constants], equation.inputs[constants:carried], equation.inputs[carried:]


def _unrolled(emitter: Emitter, equation: Equation) -> list[Value]:
    fixed, carried, rows = _parts(equation)
    count, length = len(carried), equation.params["length"]
    found: list[list[Value]] = [[] for _ in range(length)]
    for turn in range(length)[:: -1 if equation.params["reverse"] else 1]:
        outputs = emitter.closed(equation.params["jaxpr"], [*fixed, *carried, *(_row(one, turn) for one in rows)])
        carried, found[turn] = outputs[:count], outputs[count:]
    stacked: list[Value] = []
    for place, wanted in enumerate(equation.wanted[count:]):
        column = [one[place] for one in found]
        if length and all(isinstance(one, Constant) for one in column):
            stacked.append(Constant(np.stack([one.values for one in column if isinstance(one, Constant)])))
        else:
            addresses = [emitter.heap.addresses(one) for one in column]
            joined = np.stack(addresses) if addresses else np.zeros(wanted.shape, int)
            stacked.append(OnHeap(joined, equation.stage))
    return [*carried, *stacked]


def _row(value: Value, turn: int) -> Value:
    if isinstance(value, Constant):
        return Constant(np.asarray(np.asarray(value.values)[turn]))
    return OnHeap(np.asarray(value.addresses[turn]), value.stage)


def _looped(emitter: Emitter, equation: Equation) -> list[Value]:
    fixed, first, rows = _parts(equation)
    stage, length, count = equation.stage, equation.params["length"], len(first)
    carried = _Carried(emitter, first, equation.wanted[:count], stage)
    stacked = [emitter.new(one.shape, stage) for one in equation.wanted[count:]]
    counter, turn = emitter.new((), stage)
    with emitter.block(stage) as body:
        now = [_row_in_page(emitter, one, turn, stage) for one in rows]
        outputs = emitter.closed(equation.params["jaxpr"], [*fixed, *carried.values, *now])
        for (out, whole), value in zip(stacked, outputs[count:], strict=True):
            _put_row(emitter, out, whole, value, turn)
        carried.update(outputs[:count])
    emitter.push(stage, For(counter, 1, length, counter, equation.params["reverse"], body))
    return [*carried.values, *(value for _, value in stacked)]


def _row_in_page(emitter: Emitter, value: Value, turn: OnHeap, stage: int) -> Value:
    addresses = emitter.heap.addresses(value)
    out, row = emitter.new(addresses.shape[1:], stage)
    size = row.addresses.size
    if size:
        offset = Offset(np.broadcast_to(turn.addresses, size), len(addresses) - 1, size)
        emitter.push(stage, Pick(out, size, addresses.ravel(), np.arange(size), [offset], fill=False))
    return row


def _put_row(emitter: Emitter, out: int, whole: OnHeap, value: Value, turn: OnHeap) -> None:
    source = emitter.heap.addresses(value).ravel()
    if source.size:
        offset = Offset(np.broadcast_to(turn.addresses, source.size), len(whole.addresses) - 1, source.size)
        put: Operation = Put(out, whole.addresses.size, source, np.arange(source.size), [offset], add=False, drop=False)
        emitter.push(whole.stage, put)
