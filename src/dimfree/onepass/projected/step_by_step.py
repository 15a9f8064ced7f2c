"""The mean risk of one-pass SGD for any rates and batches, with momentum or without (docs/theory/scaling.md, section 1).

Every node of the signal and of the noise has D, the mean square of the error, S = <error, velocity> and T = |velocity|²
(docs/theory/structured.md, section 4.2). Noise enters the nodes of the noise, and what they hold adds to the risk that drives it.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from dimfree.onepass.projected.measures import Measures

Vector = Float[np.ndarray, " _"]


class Moving(NamedTuple):
    """D, S and T of every node, as arrays of numpy or of jax."""

    D: Any
    S: Any
    T: Any


class Push(NamedTuple):
    """What a step does: the rate and its square, which a gradient may be taken by, and what noise of size 1 adds to T."""

    rate: Any
    squared: Any
    noise: Any


def after_step(now: Moving, nodes: Any, push: Push, batch: Any, momentum: Any) -> Moving:
    """D, S and T after one step; without momentum D alone matters: D' = D - 2 rate x D + rate² ((1 + 1/m) x² D + noise/m)."""
    pulled = nodes * now.D
    T = momentum**2 * now.T + 2 * momentum * push.rate * nodes * now.S
    T = T + push.squared * ((1 + 1 / batch) * nodes * pulled + push.noise / batch)
    S = momentum * now.S + push.rate * pulled
    return Moving(now.D - 2 * S + T, S - T, T)


def stepwise_risks(
    measures: Measures,
    gammas: Float[np.ndarray, " r"],
    batches: Num[np.ndarray, " r"],
    Delta: float,
    record: Int[np.ndarray, " t"],
    momentum: float = 0.0,
) -> Float[np.ndarray, " t"]:
    """The mean risk after the recorded numbers of steps; step r has the rate gammas[r] and batches[r] samples."""
    nodes = np.concatenate([measures.x, measures.y])
    weights = np.concatenate([np.ones(len(measures.x)), measures.k])
    is_noise = np.concatenate([np.zeros(len(measures.x)), np.ones(len(measures.y))])
    still = np.zeros(len(nodes))
    now = Moving(np.concatenate([measures.f, np.zeros(len(measures.y))]), still, still)
    seen = np.empty(len(gammas) + 1)
    for step, (gamma, batch) in enumerate(zip(gammas, batches, strict=True)):
        seen[step] = measures.Delta_W + weights @ now.D
        now = after_step(now, nodes, Push(gamma, gamma**2, (seen[step] + Delta) * is_noise), batch, momentum)
    seen[-1] = measures.Delta_W + weights @ now.D
    return seen[record] / 2
