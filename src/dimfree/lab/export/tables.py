"""Addresses and constants as text: at equal distances where they are, else in the shortest way."""

import numpy as np

from dimfree.lab.export.emitter import number
from dimfree.lab.export.values import Addresses, Array


def straight(addresses: Addresses) -> str | None:
    """Entry i of addresses at equal distances as text; None for others."""
    first = int(addresses[0])
    if len(addresses) == 1:
        return str(first)
    steps = np.diff(addresses)
    if (steps != steps[0]).any():
        return None
    step = int(steps[0])
    by = "i" if abs(step) == 1 else f"{abs(step)}*i"
    return f"{first}{'+' if step > 0 else '-'}{by}" if step else str(first)


def strides(factor: Addresses) -> list[int] | None:
    """First address and the distances along all three axes; None if they are not equal."""
    steps = [int(np.diff(factor, axis=axis).flat[0]) if factor.shape[axis] > 1 else 0 for axis in range(3)]
    grid = np.indices(factor.shape)
    first = int(factor.flat[0])
    straight = first + sum(step * along for step, along in zip(steps, grid, strict=True))
    return [first, *steps] if np.array_equal(straight, factor) else None


def table_text(flat: Addresses) -> str:
    """A table as nested equal distances, in runs of equal distances, or number by number: whatever is shortest."""
    nested = _nested(flat)
    texts = [f"Int32Array.of({','.join(map(str, flat))})", f"runs({','.join(map(str, _runs(flat)))})"]
    if nested is not None:
        texts.append(f"table({','.join(map(str, (flat[0], *(one for pair in nested for one in pair))))})")
    return min(texts, key=len)


def _runs(flat: Addresses) -> list[int]:
    """First address, count and distance of every run."""
    found, at = [], 0
    while at < len(flat):
        steps = np.diff(flat[at:])
        other = np.flatnonzero(steps != steps[0]) if len(steps) else steps
        count = int(other[0]) + 1 if len(other) else len(flat) - at
        found += [int(flat[at]), count, int(steps[0]) if count > 1 else 0]
        at += count
    return found


def _nested(flat: Addresses) -> list[tuple[int, int]] | None:
    """Counts and distances of nested loops that run through the addresses, outermost first."""
    if len(flat) == 1:
        return []
    steps = np.diff(flat)
    if (steps == steps[0]).all():
        return [(len(flat), int(steps[0]))]
    inner = int(np.argmax(steps != steps[0])) + 1
    if inner < 2 or len(flat) % inner:
        return None
    rows = flat.reshape(-1, inner)
    if ((rows - rows[:, :1]) != rows[0] - rows[0, 0]).any():
        return None
    outer = _nested(rows[:, 0])
    return None if outer is None else [*outer, (inner, int(steps[0]))]


def constants_text(values: Array, first: int) -> str:
    """Constants, put to their place on the heap."""
    if len(values) == 1:
        return f"H[{first}]={number(values[0])};"
    return f"H.set([{','.join(map(number, values))}],{first});"
