"""Inputs and target before they are projected: eigenvalues, how many there are of each, and the target's energies.

A power law of any length is held in a few hundred nodes (docs/theory/scaling.md, section 2, evaluation 1).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from dimfree.errors import ProblemError

Vector = Float[np.ndarray, " _"]
_ALONE = 24  # leading modes that are kept as they are
_RATIO = 1.25  # last index of a group over its first one
_NODES = 5  # of the Gauss rule of a group


class Population(NamedTuple):
    """Distinct eigenvalues h in falling order, their counts, and the energies e = h b² that all modes of a value have together.

    A node that stands for many modes is one of a group, and only between groups there may be a gap: `lasts` are their last nodes.
    """

    h: Vector
    counts: Vector
    e: Vector
    lasts: Int[np.ndarray, " g"]

    @property
    def inputs(self) -> float:
        """v, the number of inputs."""
        return float(self.counts.sum())

    @property
    def trace(self) -> float:
        """tr H."""
        return float(self.counts @ self.h)

    @property
    def energy(self) -> float:
        """Sum of e: twice the risk of the answer 0."""
        return float(self.e.sum())

    def check_size(self, d: float) -> None:
        """Refuse a projection to as many features as there are inputs, or more."""
        if not 1 <= d < self.inputs:
            raise ProblemError(
                f"size {d:g} is not below inputs {self.inputs:g}: nothing is hidden; choose a size below, "
                "or use linear-mean for all inputs."
            )


def power_law(alpha: float, beta: float, v: float) -> Population:
    """h_j = j^(-2 alpha) and b_j = j^(-beta) for j = 1 ... v."""
    j, counts, lasts = indices(v)
    return Population(j ** (-2 * alpha), counts, counts * j ** (-2 * (alpha + beta)), lasts)


def every_mode(alpha: float, beta: float, v: int) -> Population:
    """The same with one node for every mode."""
    j = np.arange(1.0, v + 1)
    return Population(j ** (-2 * alpha), np.ones(v), j ** (-2 * (alpha + beta)), np.arange(v))


def levels(h: Vector, energies: Vector, counts: Vector) -> Population:
    """Any spectrum; `energies` are those of one mode each. Values without inputs are left out, equal ones are put together."""
    held = (counts > 0) & (h > 0)
    values, which = np.unique(-h[held], return_inverse=True)
    number = np.bincount(which, counts[held])
    return Population(-values, number, np.bincount(which, (counts * energies)[held]), np.arange(len(values)))


def indices(v: float) -> tuple[Vector, Vector, Int[np.ndarray, " g"]]:
    """Nodes and weights that stand for the sum over j = 1 ... v, and the last nodes of all groups."""
    last = min(float(_ALONE), v)
    nodes, weights = [np.arange(1.0, last + 1)], [np.ones(int(last))]
    while last < v:
        first, last = last + 1, min(np.floor(_RATIO * (last + 1)), v)
        places, shares = _gauss_of_sum(last - first + 1)
        nodes.append(first + places)
        weights.append(shares)
    ends = np.cumsum([len(part) for part in nodes]) - 1
    return np.concatenate(nodes), np.concatenate(weights), np.concatenate([np.arange(len(nodes[0]) - 1), ends])


def _gauss_of_sum(N: float) -> tuple[Vector, Vector]:
    """The Gauss rule of the sum over 0 ... N - 1, by discrete Chebyshev polynomials."""
    if N <= _NODES:
        return np.arange(N), np.ones(int(N))
    k = np.arange(1.0, _NODES)
    off = np.sqrt(k**2 * (N**2 - k**2) / (4 * (4 * k**2 - 1)))
    places, vectors = np.linalg.eigh(np.diag(off, 1) + np.diag(off, -1))
    return places + (N - 1) / 2, N * vectors[0] ** 2
