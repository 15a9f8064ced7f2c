"""The two measures that decide the mean of SGD (docs/theory/scaling.md, section 1), and where they come from.

For a drawn projection both sit on its eigenvalues; without one they are Gauss rules of the deterministic equivalent. Sum
rules, which are exact identities, tell how far the rules are from what they stand for.
"""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from dimfree.errors import RefusalError
from dimfree.onepass.projected.cells import cuts
from dimfree.onepass.projected.companion import capacity, edges
from dimfree.onepass.projected.gauss_rules import gauss_rules
from dimfree.onepass.projected.population import Population

Vector = Float[np.ndarray, " _"]
_TRUSTED = 1e-5  # relative error of a sum rule
_SMALL, _LARGE = 64, 2048  # features of a projection between which one thread is as good as several


class Measures(NamedTuple):
    """Signal: weights f at x; noise: weights k at y; and the part Delta_W of the target that nothing reaches.

    `sum_rule_error` is the largest relative error of the identities that hold for both measures; 0 for a drawn projection.
    """

    x: Vector
    f: Vector
    y: Vector
    k: Vector
    Delta_W: float
    sum_rule_error: float = 0.0


class Drawn(NamedTuple):
    """One projection in its eigenbasis: eigenvalues of K^ in falling order, the best weights there, and the basis itself."""

    eigenvalues: Vector
    theta: Vector
    Delta_W: float
    basis: Float[np.ndarray, "_ _"]

    @property
    def measures(self) -> Measures:
        """Signal and noise on the eigenvalues."""
        return on_eigenvalues(self.eigenvalues, self.theta, self.Delta_W)


def on_eigenvalues(eigenvalues: Vector, theta: Vector, Delta_W: float) -> Measures:
    """Both measures on the eigenvalues of a projection."""
    return Measures(eigenvalues, eigenvalues * theta**2, eigenvalues, eigenvalues**2, Delta_W)


def drawn(h: Vector, b: Vector, W: Float[np.ndarray, "v d"]) -> Drawn:
    """What SGD meets behind the projection W^T x of inputs with eigenvalues h and a target b."""
    from scipy.linalg import eigh
    from scipy.linalg.blas import dsyrk

    A = np.sqrt(h)[:, None] * W
    alone = _SMALL < A.shape[1] <= _LARGE
    with threadpool_limits(1) if alone else nullcontext():  # on a busy machine threads wait longer than they work
        K = dsyrk(1.0, A.T, lower=1)  # its lower half
        values, U = eigh(K, lower=True, overwrite_a=True, check_finite=False, driver="evd")
    values, U = values[::-1], U[:, ::-1]
    along = U.T @ (A.T @ (np.sqrt(h) * b))
    theta = along / values
    return Drawn(values, theta, float(h @ b**2 - along @ theta), U)


def equivalent(population: Population, d: float) -> Measures:
    """The deterministic equivalent of a projection to d features."""
    with threadpool_limits(1):  # threads wait for each other longer than these products take
        kappa, Delta_W = capacity(population, d)
        (x, f), (y, k) = gauss_rules(population, d, cuts(population, d, *edges(population, d, kappa)))
    found = Measures(x, f, y, k, Delta_W)
    error = max(sum_rules(found, population, d).values())
    if not error <= _TRUSTED:
        raise RefusalError(
            f"the deterministic equivalent of size {d:g} misses its sum rules by {error:.1e}, and {_TRUSTED:g} is allowed; "
            "choose another size, or a drawn projection."
        )
    return found._replace(sum_rule_error=error)


def sums(measures: Measures) -> dict[str, float]:
    """The integrals over the two measures that are known exactly: energy, count, trace, and trace of the square."""
    y, k = measures.y, measures.k
    found = (measures.Delta_W + measures.f.sum(), np.sum(k / y**2), np.sum(k / y), k.sum())
    return dict(zip(("energy", "count", "trace", "square"), map(float, found), strict=True))


def sum_rules(measures: Measures, population: Population, d: float) -> dict[str, float]:
    """Relative errors of the four exact identities of section 2."""
    square = float(population.counts @ population.h**2) + population.trace**2 / d
    exact = {"energy": population.energy, "count": d, "trace": population.trace, "square": square}
    return {name: abs(value / exact[name] - 1) for name, value in sums(measures).items()}
