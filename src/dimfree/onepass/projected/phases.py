"""The asymptotic phases of compute-optimal training under power laws (docs/theory/scaling.md, section 3)."""

from typing import NamedTuple

import numpy as np

_TIPPING = 1 - 1 / np.sqrt(2)  # below it, along K_pp at fixed compute, larger sizes lose


class Phase(NamedTuple):
    """A phase: which terms balance, and d* ~ C^size, R* ~ C^-loss as compute grows."""

    name: str
    balance: str
    size: float
    loss: float


def phase(alpha: float, beta: float) -> Phase:
    """The phase of a point; its exponents are nan where there is no power law."""
    a, b = alpha, beta
    if not np.isfinite(a + b):
        return Phase("unknown", "exponents are not known", np.nan, np.nan)
    if 2 * (a + b) <= 1:
        return Phase("none", "no power law", np.nan, np.nan)
    if a > 0.5:
        if b < 0.5:
            return Phase("Ia", "not yet learnt = capacity", 1 / (2 * a + 1), (2 * a + 2 * b - 1) / (2 * a + 1))
        if b < a:
            p = b / (a + b)
            return Phase("II", "not yet learnt = embedding", p, (2 * a + 2 * b - 1) / (2 * (a + b)))
        return Phase("III", "step noise = embedding", 0.5, 1 - 1 / (4 * a))
    if b < 0.5:
        return Phase("Ib", "not yet learnt = capacity", 0.5, a + b - 0.5)
    if a < 0.25:
        p = (2 * a + 2 * b - 1) / (2 * (3 * a - 2 * a * b + 2 * b - 1))
        return Phase("Ic", "not yet learnt = capacity", p, 2 * a * p)
    if a > _TIPPING:
        return Phase("IVa", "step noise = capacity", 0.5, a)
    below = 2 * b - a - 2 * a * b
    return Phase("IVb", "not yet learnt = step noise", (b - a) / below, (1 - 2 * a) * (2 * a + 2 * b - 1) / (2 * below))
