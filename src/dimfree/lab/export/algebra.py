"""Sums, products of matrices, and what the runtime has a function for: triangular systems, eigenvectors, sorting."""

import numpy as np

from dimfree.lab.export.emitter import Emitter, Equation, by_jax, rule
from dimfree.lab.export.operations import Call, Dot, Reduce
from dimfree.lab.export.values import KNOWN, Addresses, OnHeap, Unsupported, Value


@rule("dot_general")
def _dot(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    (summed_left, summed_right), (both_left, both_right) = equation.params["dimension_numbers"]
    left = _grouped(emitter.heap.addresses(equation.inputs[0]), both_left, summed_left)
    right = _grouped(emitter.heap.addresses(equation.inputs[1]), both_right, summed_right)
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    if value.addresses.size:
        emitter.push(equation.stage, Dot(out, value.addresses.size, left, right))
    return [value]


def _grouped(addresses: Addresses, both: tuple[int, ...], summed: tuple[int, ...]) -> Addresses:
    """Axes in three groups: those of both factors, those of this one, those that are summed."""
    own = [axis for axis in range(addresses.ndim) if axis not in both and axis not in summed]
    shape = [int(np.prod([addresses.shape[axis] for axis in group], dtype=int)) for group in (both, own, summed)]
    return addresses.transpose(*both, *own, *summed).reshape(shape)


@rule("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or")
def _reduce(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    axes, addresses = equation.params["axes"], emitter.heap.addresses(equation.inputs[0])
    kept = [axis for axis in range(addresses.ndim) if axis not in axes]
    count = int(np.prod([addresses.shape[axis] for axis in kept], dtype=int))
    reduced = int(np.prod([addresses.shape[axis] for axis in axes], dtype=int))
    rows = addresses.transpose(*kept, *axes).reshape(count, reduced)
    if count and rows.shape[1] == 1:
        return [OnHeap(rows.reshape(equation.wanted[0].shape), equation.stage)]
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    if count:
        emitter.push(equation.stage, Reduce(out, count, equation.name.removeprefix("reduce_"), rows))
    return [value]


@rule("cumsum", "cumprod", "cummax", "cummin")
def _cumulative(emitter: Emitter, equation: Equation) -> list[Value]:
    """Every entry from the one before."""
    if equation.stage == KNOWN:
        return by_jax(equation)
    axis, backwards = equation.params["axis"], equation.params["reverse"]
    addresses = np.moveaxis(emitter.heap.addresses(equation.inputs[0]), axis, 0)
    sign = {"cumsum": "{}+{}", "cumprod": "{}*{}", "cummax": "Math.max({},{})", "cummin": "Math.min({},{})"}
    text = sign[equation.name].format
    rows = [*(addresses[::-1] if backwards else addresses)]
    found = rows[:1]
    for row in rows[1:]:
        terms: list[Value] = [OnHeap(one, equation.stage) for one in (found[-1], row)]
        found.append(emitter.elementwise(text, terms, row.shape).addresses)
    stacked = np.stack(found[::-1] if backwards else found)
    return [OnHeap(np.moveaxis(stacked, 0, axis), equation.stage)]


@rule("argmax", "argmin")
def _place(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    (axis,) = equation.params["axes"]
    addresses = np.moveaxis(emitter.heap.addresses(equation.inputs[0]), axis, -1)
    rows = addresses.reshape(-1, addresses.shape[-1])
    out, value = emitter.new(equation.wanted[0].shape, equation.stage)
    emitter.push(equation.stage, Reduce(out, len(rows), equation.name, rows))
    return [value]


@rule("sort")
def _sort(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    if equation.params["num_keys"] > 1:
        raise Unsupported("it sorts by several keys")
    axis = equation.params["dimension"]
    addresses = np.stack([np.moveaxis(emitter.heap.addresses(one), axis, -1) for one in equation.inputs])
    out, value = emitter.new(addresses.shape, equation.stage)
    many, *_, size = addresses.shape
    rows = addresses.size // (many * size)
    spent = 50.0 * addresses.size
    emitter.push(equation.stage, Call(out, addresses.size, "sorted", (many, rows, size), [addresses.ravel()], spent))
    return [OnHeap(np.moveaxis(one, -1, axis), equation.stage) for one in value.addresses]


@rule("triangular_solve")
def _triangular(emitter: Emitter, equation: Equation) -> list[Value]:
    """A X = B, or X A = B, for triangular A."""
    if equation.stage == KNOWN:
        return by_jax(equation)
    params = equation.params
    A, B = (emitter.heap.addresses(one) for one in equation.inputs)
    if params["transpose_a"]:
        A = np.swapaxes(A, -1, -2)
    if not params["left_side"]:  # X A = B is Aᵀ Xᵀ = Bᵀ
        A, B = np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2)
    lower = params["lower"] ^ params["transpose_a"] ^ (not params["left_side"])
    n, m = B.shape[-2:]
    out, value = emitter.new(B.shape, equation.stage)
    sizes = (B.size // (n * m), n, m, int(lower), int(params["unit_diagonal"]))
    emitter.push(equation.stage, Call(out, B.size, "triangular", sizes, [A.ravel(), B.ravel()], 2.0 * n * B.size))
    found = value.addresses if params["left_side"] else np.swapaxes(value.addresses, -1, -2)
    return [OnHeap(found, equation.stage)]


@rule("eigh")
def _eigenpairs(emitter: Emitter, equation: Equation) -> list[Value]:
    """Vectors and rising values, by Jacobi's rotations; the sign of a vector is not jax's."""
    if equation.stage == KNOWN:
        return by_jax(equation)
    A = emitter.heap.addresses(equation.inputs[0])
    n = A.shape[-1]
    A = np.where(np.tri(n, dtype=bool), A, np.swapaxes(A, -1, -2)) if equation.params["lower"] else A
    many = A.size // n**2
    out, value = emitter.new((A.size + many * n,), equation.stage)
    emitter.push(
        equation.stage, Call(out, value.addresses.size, "eigenpairs", (many, n), [A.ravel()], 100.0 * n * A.size)
    )
    vectors, values = value.addresses[: A.size].reshape(A.shape), value.addresses[A.size :].reshape(A.shape[:-1])
    return [OnHeap(vectors, equation.stage), OnHeap(values, equation.stage)]


@rule("cholesky")
def _cholesky(emitter: Emitter, equation: Equation) -> list[Value]:
    if equation.stage == KNOWN:
        return by_jax(equation)
    A = emitter.heap.addresses(equation.inputs[0])
    n = A.shape[-1]
    out, value = emitter.new(A.shape, equation.stage)
    emitter.push(equation.stage, Call(out, A.size, "cholesky", (A.size // n**2, n), [A.ravel()], 1.0 * n * A.size))
    return [value]
