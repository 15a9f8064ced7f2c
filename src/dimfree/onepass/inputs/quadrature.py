"""Few nodes in place of many eigenvalues: Gauss rules of a spectrum, for the signal that decays and the noise that steps add.

docs/theory/structured.md, sections 1.2 and 2. Solutions are entire functions of the eigenvalue, so that rules which are exact for
polynomials converge faster than any power. The signal, a matrix-valued measure, is reduced by block Lanczos steps on the
weights themselves; the noise, in proportion to the density of eigenvalues, by a scalar Gauss rule. Both are blocks of one kind.
"""

from math import sqrt

import numpy as np
from jaxtyping import Float

MOST_LEVELS = 500  # eigenvalues that have equations of their own; more are reduced to nodes
STEPS = (8, 12, 16, 24, 32, 48)  # numbers of Lanczos steps that are tried
ACCURATE = 1e-7  # relative error of a risk that nodes may cause
_TIMES = 24
_NEEDED = 0.6  # steps needed, per square root of (largest eigenvalue times time): the table of section 2
_PER_PRODUCT = 1.2e-9  # CPU seconds for the product of two rows, per coordinate
_FAINT = 1e-12  # an error is not reported once its sum has fallen below this share of its start
_LOST = 1e-12  # share of the largest length below which a direction counts as zero

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
    """An orthonormal basis of the rows of V diag(values)^i, i < steps: what is new is made orthogonal to all before, twice."""
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
    """Nodes, shares of the noise and overlaps of blocks that stand for all eigenvalues, and the estimated relative error.

    As many steps are taken as keep the error below `ACCURATE` for decays of all eigenvalues until the end, or the most.
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
    """The largest relative error of the sum of s exp(-2 s t) over a measure, up to the time `until`."""
    times = np.concatenate([[0.0], np.geomspace(min(0.1 / values.max(), until), until, _TIMES)])
    exact, found = (
        np.array([(s * w) @ np.exp(-2 * s * t) for t in times]) for s, w in ((values, weights), (nodes, shares))
    )
    known = exact > _FAINT * exact[0]
    return float(np.max(np.abs(found - exact)[known] / exact[known]))
