"""Primitives that only move numbers: one NumPy function does it to known values, and to addresses of others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dimfree.lab.export.emitter import Emitter, Equation, rule
from dimfree.lab.export.values import KNOWN, Array, Constant, OnHeap, Value

Move = Callable[[list[Array], Equation], list[Array]]


def _reshape(inputs: list[Array], equation: Equation) -> list[Array]:
    return [inputs[0].reshape(equation.wanted[0].shape)]


def _transpose(inputs: list[Array], equation: Equation) -> list[Array]:
    return [inputs[0].transpose(equation.params["permutation"])]


def _reverse(inputs: list[Array], equation: Equation) -> list[Array]:
    return [np.flip(inputs[0], equation.params["dimensions"])]


def _broadcast(inputs: list[Array], equation: Equation) -> list[Array]:
    shape, places = equation.params["shape"], equation.params["broadcast_dimensions"]
    spread = [1] * len(shape)
    for size, place in zip(inputs[0].shape, places, strict=True):
        spread[place] = size
    return [np.broadcast_to(inputs[0].reshape(spread), shape)]


def _slice(inputs: list[Array], equation: Equation) -> list[Array]:
    firsts, lasts, strides = (equation.params[name] for name in ("start_indices", "limit_indices", "strides"))
    steps = strides or [1] * len(firsts)
    return [inputs[0][tuple(slice(*one) for one in zip(firsts, lasts, steps, strict=True))]]


def _concatenate(inputs: list[Array], equation: Equation) -> list[Array]:
    return [np.concatenate(inputs, equation.params["dimension"])]


def _stack(inputs: list[Array], equation: Equation) -> list[Array]:
    return [np.stack(inputs, equation.params["axis"])]


def _unstack(inputs: list[Array], equation: Equation) -> list[Array]:
    return [np.asarray(one) for one in np.moveaxis(inputs[0], equation.params["axis"], 0)]


def _tile(inputs: list[Array], equation: Equation) -> list[Array]:
    return [np.tile(inputs[0], equation.params["reps"])]


def _split(inputs: list[Array], equation: Equation) -> list[Array]:
    ends = np.cumsum(equation.params["sizes"])[:-1]
    return np.split(inputs[0], ends, equation.params["axis"])


def _pad(inputs: list[Array], equation: Equation) -> list[Array]:
    values, padding = inputs
    config = equation.params["padding_config"]
    spread = [
        max(0, (n - 1) * (between + 1) + 1) if n else 0 for n, (_, _, between) in zip(values.shape, config, strict=True)
    ]
    wide = np.full([n + max(low, 0) + max(high, 0) for n, (low, high, _) in zip(spread, config, strict=True)], padding)
    places = [
        slice(max(low, 0), max(low, 0) + n, between + 1) for n, (low, _, between) in zip(spread, config, strict=True)
    ]
    wide[tuple(places)] = values
    kept = [slice(max(-low, 0), n - max(-high, 0)) for n, (low, high, _) in zip(wide.shape, config, strict=True)]
    return [wide[tuple(kept)]]


MOVES: dict[str, Move] = {
    "reshape": _reshape,
    "squeeze": _reshape,
    "transpose": _transpose,
    "rev": _reverse,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "tile": _tile,
    "split": _split,
    "pad": _pad,
}


@rule(*MOVES)
def _move(emitter: Emitter, equation: Equation) -> list[Value]:
    return moved(emitter, equation, MOVES[equation.name])


def moved(emitter: Emitter, equation: Equation, move: Move) -> list[Value]:
    """Values or addresses after a move."""
    if equation.stage == KNOWN:
        known = [np.asarray(one.values) for one in equation.inputs if isinstance(one, Constant)]
        return [Constant(np.asarray(one)) for one in move(known, equation)]
    addresses: list[Any] = [emitter.heap.addresses(one) for one in equation.inputs]
    return [OnHeap(np.asarray(one), equation.stage) for one in move(addresses, equation)]


@rule("iota")
def _iota(emitter: Emitter, equation: Equation) -> list[Value]:
    wanted, along = equation.wanted[0], equation.params["dimension"]
    counts = np.arange(wanted.shape[along], dtype=wanted.dtype)
    shape = [-1 if place == along else 1 for place in range(len(wanted.shape))]
    return [Constant(np.broadcast_to(counts.reshape(shape), wanted.shape))]


@rule("platform_index")
def _platform(emitter: Emitter, equation: Equation) -> list[Value]:
    """The branch that is for CPUs, or for everything."""
    platforms = equation.params["platforms"]
    places = [place for place, names in enumerate(platforms) if names is None or "cpu" in names]
    return [Constant(np.asarray(places[0] if places else 0))]
