"""The mean risk of one-pass SGD for any rates and batches, with momentum or without (docs/theory/scaling.md, section 1).

Every node of the signal and of the noise has D, the mean square of the error, S = <error, velocity> and T = |velocity|²
(docs/theory/structured.md, section 4.2). Noise enters the nodes of the noise, and what they hold adds to the risk that drives it.
"""

import numpy as np
from jaxtyping import Float, Int, Num

from dimfree.onepass.projected.measures import Measures

Vector = Float[np.ndarray, " _"]


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
    D, S, T = np.concatenate([measures.f, np.zeros(len(measures.y))]), np.zeros(len(nodes)), np.zeros(len(nodes))
    seen = np.empty(len(gammas) + 1)
    for step, (gamma, batch) in enumerate(zip(gammas, batches, strict=True)):
        seen[step] = measures.Delta_W + weights @ D
        driven = gamma**2 / batch * (seen[step] + Delta)
        pull = gamma * nodes
        T = momentum**2 * T + 2 * momentum * pull * S + (1 + 1 / batch) * pull**2 * D + driven * is_noise
        S = momentum * S + pull * D
        D = D - 2 * S + T
        S = S - T
    seen[-1] = measures.Delta_W + weights @ D
    return seen[record] / 2
