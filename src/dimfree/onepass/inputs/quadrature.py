"""Few nodes in place of many eigenvalues: Gauss rules of a spectrum, for the signal that decays and the noise that steps add.

docs/theory/structured.md, sections 1.2 and 2. An ODE with an equation for each of a million eigenvalues is slow. Its solution
depends smoothly on the eigenvalue, so that a Gauss rule of some ten nodes gives the same sums over the spectrum. Two rules are
needed. The signal is what students and teachers have along every eigenvector, products of vectors, whose rule comes from block
Lanczos steps (`signal_rule`). The noise of the steps falls on all directions alike, so that its rule is that of the plain density
of eigenvalues (`gauss_rule`). The equations treat the nodes of both as they treat eigenvalues.
"""

from math import sqrt

import numpy as np
from jaxtyping import Float

MOST_LEVELS = 500  # up to so many eigenvalues each has equations of its own; more are reduced to nodes
STEPS = (8, 12, 16, 24, 32, 48)  # numbers of Lanczos steps that are tried, one after the other
ACCURATE = 1e-7  # relative error that nodes may cause in a risk
_TIMES = 24  # at which this error is looked at
_NEEDED = (
    0.6  # steps needed, per square root of (largest eigenvalue times time): from the table in section 2 of the sheet
)
_PER_PRODUCT = 1.2e-9  # CPU seconds for the product of two rows, per coordinate
_FAINT = 1e-12  # a sum that has fallen below this share of its start is rounding, and not compared
_LOST = 1e-12  # a direction that is shorter than this depends on those before it

Matrix = Float[np.ndarray, "_ _"]
Vector = Float[np.ndarray, " _"]


def gauss_rule(values: Vector, weights: Vector, count: int) -> tuple[Vector, Vector]:
    """Nodes, ascending, and weights of the rule that is exact for polynomials of degree 2 count - 1 on this measure."""
    nodes, vectors = signal_rule(values, np.sqrt(weights)[None], count)
    return nodes, vectors[0] ** 2


def signal_rule(values: Vector, V: Matrix, steps: int) -> tuple[Vector, Matrix]:
    """Nodes x_j and vectors v_j: sum_j f(x_j) v_j v_jᵀ = sum_k f(s_k) V_k V_kᵀ for polynomials of degree 2 steps - 1."""
    basis = _krylov(values, V, steps)
    projected = (basis * values) @ basis.T
    nodes, turned = np.linalg.eigh((projected + projected.T) / 2)
    return nodes, (V @ basis.T) @ turned


def _krylov(values: Vector, V: Matrix, steps: int) -> Matrix:
    """An orthonormal basis of the rows of V diag(values)^i, i < steps; rounding asks for orthogonalising them twice."""
    found = np.zeros((0, V.shape[1]))
    newest = V / max(np.linalg.norm(V), np.finfo(float).tiny)
    for _ in range(steps):
        for _ in range(2):
            newest = newest - (newest @ found.T) @ found
        _, sizes, directions = np.linalg.svd(newest, full_matrices=False)
        newest = directions[sizes > _LOST]
        if not len(newest):
            break
        found = np.concatenate([found, newest])
        newest = newest * (values / values.max())
    return found


def reduced(
    values: Vector, weights: Vector, V: Matrix, until: float
) -> tuple[Vector, Vector, Float[np.ndarray, "_ _ _"], float]:
    """Nodes that stand for all eigenvalues, the share of the noise and the overlaps at each, and the estimated relative error.

    Nodes of the signal come first, without noise, then those of the noise, without overlaps. The fewest Lanczos steps are taken
    that keep the error below `ACCURATE` until the end of the run, or the largest number.
    """
    for steps in STEPS:
        nodes, vectors = signal_rule(values, V, steps)
        noise_nodes, shares = gauss_rule(values, weights, 2 * steps)
        signal = np.sum(vectors**2, axis=0)
        error = max(
            _decay_error(values, np.sum(V**2, axis=0), nodes, signal, until),
            _decay_error(values, weights * values, noise_nodes, shares * noise_nodes, until),
        )
        if error < ACCURATE:
            break
    n = len(V)
    Omega = np.concatenate([np.einsum("ij,kj->jik", vectors, vectors), np.zeros((len(shares), n, n))])
    rho = np.concatenate([np.zeros(len(nodes)), shares])
    return np.concatenate([nodes, noise_nodes]).clip(0.0), rho, Omega, error


def reduction_cost(largest: float, vectors: int, dimension: int, until: float) -> tuple[float, float]:
    """Roughly the CPU seconds and bytes that `reduced` takes; how many steps it needs is a guess from typical spectra."""
    last = next((steps for steps in STEPS if steps >= _NEEDED * sqrt(largest * until)), STEPS[-1])
    rows = [vectors * steps for steps in STEPS if steps <= last]
    return _PER_PRODUCT * dimension * sum(count**2 for count in rows), 8.0 * 2.5 * rows[-1] * dimension


def _decay_error(values: Vector, weights: Vector, nodes: Vector, shares: Vector, until: float) -> float:
    """The largest relative error of sum_k w_k s_k exp(-2 s_k t), a risk that decays by gradient flow, up to the time `until`."""
    times = np.concatenate([[0.0], np.geomspace(min(0.1 / values.max(), until), until, _TIMES)])
    exact, found = (
        np.array([(s * w) @ np.exp(-2 * s * t) for t in times]) for s, w in ((values, weights), (nodes, shares))
    )
    known = exact > _FAINT * exact[0]
    return float(np.max(np.abs(found - exact)[known] / exact[known]))
