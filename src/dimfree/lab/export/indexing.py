"""Reading and writing at indices: by addresses where the indices are known, by the page where it computes them."""

from typing import Any, NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from dimfree.lab.export.emitter import Emitter, Equation, rule
from dimfree.lab.export.operations import Offset, Pick, Put, Reduce
from dimfree.lab.export.values import KNOWN, Addresses, Array, Constant, OnHeap, Value


class Axis(NamedTuple):
    """One axis along which windows are shifted."""

    which: Addresses  # for every entry, which of all indices shifts it
    most: int  # the largest index that leaves the window inside
    stride: int


class Plan(NamedTuple):
    """Which entry of the flat operand belongs to every entry of the windows: inside + sum of index times stride."""

    inside: Addresses
    axes: list[Axis]

    def places(self, indices: Array, clip: bool) -> tuple[Addresses, Array]:
        """For indices that are known: the entries, and which of them lie inside the operand."""
        flat = np.asarray(indices).ravel().astype(int)
        place, valid = self.inside.copy(), np.ones(self.inside.shape, bool)
        for which, most, stride in self.axes:
            index = flat[which]
            valid &= (index >= 0) & (index <= most)
            place = place + np.clip(index, 0, most) * stride
        return place, valid | clip

    def offsets(self, addresses: Addresses) -> list[Offset]:
        """For indices that the page computes."""
        flat = addresses.ravel()
        return [Offset(flat[which], most, stride) for which, most, stride in self.axes]


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [int(np.prod(shape[axis + 1 :], dtype=int)) for axis in range(len(shape))]


def _plan(
    operand: tuple[int, ...],
    windows: tuple[int, ...],  # the shape of all windows: of the result of a gather, of the updates of a scatter
    inner: tuple[int, ...],  # their axes that run inside a window
    left_out: tuple[int, ...],  # axes of the operand that windows do not have
    shared: tuple[tuple[int, ...], tuple[int, ...]],  # axes of operand and indices that run together
    shifted: tuple[int, ...],  # axes of the operand that indices shift
    indices: tuple[int, ...],
    sizes: list[int],  # of a window, along the axes of the operand
) -> Plan:
    strides, grid = _strides(operand), np.indices(windows, dtype=int)
    outer = [axis for axis in range(len(windows)) if axis not in inner]
    along = [axis for axis in range(len(operand)) if axis not in left_out and axis not in shared[0]]
    inside = np.zeros(windows, int)
    for axis, of_operand in zip(inner, along, strict=True):
        inside = inside + grid[axis] * strides[of_operand]
    for of_operand, of_indices in zip(*shared, strict=True):
        inside = inside + grid[outer[of_indices]] * strides[of_operand]
    which = np.zeros(windows, int)
    for axis, step in zip(outer, _strides(indices), strict=False):
        which = which + grid[axis] * step
    axes = [
        Axis((which + number).ravel(), operand[axis] - sizes[axis], strides[axis])
        for number, axis in enumerate(shifted)
    ]
    return Plan(inside.ravel(), axes)


def _whole(axes: Any) -> tuple[int, ...]:
    return tuple(map(int, axes))


def _clips(mode: Any) -> bool:
    return GatherScatterMode.from_any(mode) in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


@rule("gather")
def _gather(emitter: Emitter, equation: Equation) -> list[Value]:
    source, indices = equation.inputs
    params, wanted, dims = equation.params, equation.wanted[0], equation.params["dimension_numbers"]
    plan = _plan(
        equation.given[0].shape,
        wanted.shape,
        _whole(dims.offset_dims),
        _whole(dims.collapsed_slice_dims),
        (_whole(dims.operand_batching_dims), _whole(dims.start_indices_batching_dims)),
        _whole(dims.start_index_map),
        equation.given[1].shape,
        list(params["slice_sizes"]),
    )
    clip = _clips(params["mode"])
    if not isinstance(indices, Constant):
        return [_picked(emitter, equation, plan, indices, fill=not clip)]
    place, valid = plan.places(indices.values, clip)
    blank = params["fill_value"] if params["fill_value"] is not None else np.nan
    if isinstance(source, Constant):
        taken = np.where(valid, np.asarray(source.values).ravel()[place], blank) if not valid.all() else None
        found = np.asarray(source.values).ravel()[place] if taken is None else taken
        return [Constant(found.astype(wanted.dtype).reshape(wanted.shape))]
    flat = source.addresses.ravel()[place]
    if not valid.all():
        flat = np.where(valid, flat, emitter.heap.addresses(Constant(np.asarray(float(blank)))))
    return [OnHeap(flat.reshape(wanted.shape), equation.stage)]


def _picked(emitter: Emitter, equation: Equation, plan: Plan, indices: OnHeap, fill: bool) -> Value:
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    source = emitter.heap.addresses(equation.inputs[0]).ravel()
    offsets = plan.offsets(indices.addresses)
    if value.addresses.size:
        emitter.push(equation.stage, Pick(out, value.addresses.size, source, plan.inside, offsets, fill))
    return value


@rule("scatter", "scatter-add")
def _scatter(emitter: Emitter, equation: Equation) -> list[Value]:
    operand, indices, updates = equation.inputs
    add, dims, shape = equation.name == "scatter-add", equation.params["dimension_numbers"], equation.given[0].shape
    windows = equation.given[2].shape
    along = [
        axis for axis in range(len(shape)) if axis not in (*dims.inserted_window_dims, *dims.operand_batching_dims)
    ]
    sizes = [1] * len(shape)
    for axis, of_updates in zip(along, dims.update_window_dims, strict=True):
        sizes[axis] = windows[of_updates]
    plan = _plan(
        shape,
        windows,
        _whole(dims.update_window_dims),
        _whole(dims.inserted_window_dims),
        (_whole(dims.operand_batching_dims), _whole(dims.scatter_indices_batching_dims)),
        _whole(dims.scatter_dims_to_operand_dims),
        equation.given[1].shape,
        sizes,
    )
    clip = _clips(equation.params["mode"])
    if not isinstance(indices, Constant):
        return [_put(emitter, equation, plan, emitter.heap.addresses(indices), add, not clip)]
    place, valid = plan.places(indices.values, clip)
    if equation.stage == KNOWN and isinstance(operand, Constant) and isinstance(updates, Constant):
        result = np.array(operand.values).ravel()
        written = np.asarray(updates.values).ravel()[valid]
        if add:
            np.add.at(result, place[valid], written)
        else:
            result[place[valid]] = written
        return [Constant(result.reshape(shape))]
    before, after = (emitter.heap.addresses(one).ravel() for one in (operand, updates))
    if add:
        return [_summed(emitter, equation, before, place[valid], after[valid])]
    result = before.copy()
    result[place[valid]] = after[valid]
    return [OnHeap(result.reshape(shape), equation.stage)]


def _summed(emitter: Emitter, equation: Equation, before: Addresses, place: Addresses, added: Addresses) -> Value:
    """Every entry with all that is added to it; short lists end in zeros."""
    lists = [[one] for one in before]
    for where, what in zip(place, added, strict=True):
        lists[where].append(what)
    longest = max(map(len, lists), default=1)
    zero = int(emitter.heap.addresses(Constant(np.zeros(()))))
    rows = np.array([one + [zero] * (longest - len(one)) for one in lists])
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    emitter.push(equation.stage, Reduce(out, len(rows), "sum", rows))
    return value


def _put(emitter: Emitter, equation: Equation, plan: Plan, indices: Addresses, add: bool, drop: bool) -> Value:
    """A copy of the operand, and then the updates."""
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    emitter.copy(equation.inputs[0], out, equation.stage)
    source = emitter.heap.addresses(equation.inputs[-1]).ravel()
    size = value.addresses.size
    if source.size:
        emitter.push(equation.stage, Put(out, size, source, plan.inside, plan.offsets(indices), add, drop))
    return value


def _window(operand: tuple[int, ...], sizes: tuple[int, ...]) -> Plan:
    """One window, shifted along every axis by an index of its own."""
    return _plan(
        operand, sizes, tuple(range(len(sizes))), (), ((), ()), tuple(range(len(sizes))), (len(sizes),), list(sizes)
    )


def _together(emitter: Emitter, indices: list[Value]) -> Value:
    """Indices that come one by one as one array."""
    known = [np.asarray(one.values).reshape(()) for one in indices if isinstance(one, Constant)]
    if len(known) == len(indices):
        return Constant(np.array(known, dtype=int))
    stage = max(one.stage for one in indices)
    return OnHeap(np.array([int(emitter.heap.addresses(one).reshape(())) for one in indices]), stage)


@rule("dynamic_slice")
def _dynamic_slice(emitter: Emitter, equation: Equation) -> list[Value]:
    source, shape = equation.inputs[0], equation.wanted[0].shape
    plan, indices = _window(equation.given[0].shape, shape), _together(emitter, equation.inputs[1:])
    if not isinstance(indices, Constant):
        return [_picked(emitter, equation, plan, indices, fill=False)]
    place, _ = plan.places(indices.values, True)
    if isinstance(source, Constant):
        return [Constant(np.asarray(source.values).ravel()[place].reshape(shape))]
    return [OnHeap(source.addresses.ravel()[place].reshape(shape), equation.stage)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(emitter: Emitter, equation: Equation) -> list[Value]:
    operand, updates, *starts = equation.inputs
    plan, indices = _window(equation.given[0].shape, equation.given[1].shape), _together(emitter, starts)
    if not isinstance(indices, Constant):
        moved = equation._replace(inputs=[operand, indices, updates])
        return [_put(emitter, moved, plan, indices.addresses, add=False, drop=False)]
    place, _ = plan.places(indices.values, True)
    if isinstance(operand, Constant) and isinstance(updates, Constant):
        values = np.array(operand.values).ravel()
        values[place] = np.asarray(updates.values).ravel()
        return [Constant(values.reshape(equation.wanted[0].shape))]
    addresses = emitter.heap.addresses(operand).ravel().copy()
    addresses[place] = emitter.heap.addresses(updates).ravel()
    return [OnHeap(addresses.reshape(equation.wanted[0].shape), equation.stage)]
