"""The deterministic half of the path DMFT: weights, and the noise that acts on the paths (docs/theory/dmft.md, 2 and 3.1).

The equation of a weight is linear, so that weights need no sampling: row t+1 of R, rho, m and C follows from row t of K, d
and M in O(t²) operations.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from dimfree.functions.multi_pass import MultiPassModel

_DROP = 1e-10  # forces whose new part is smaller, relative to their size, are a combination of earlier ones


class Numbers(NamedTuple):
    """The numbers of a model, as Python floats."""

    alpha: float
    Delta: float
    lambda_: float
    eta: float
    b: float
    temperature: float
    c0: float
    m0: float
    rho0: float
    gradient_scale: float
    enter: float
    leave: float

    @classmethod
    def of(cls, model: MultiPassModel) -> "Numbers":
        """Read them off once; every use of a jax scalar costs more than the step it is for."""
        return cls(**{name: float(getattr(model, name)) for name in cls._fields})


class Weights:
    """All averages at times 0, 1, ...; R, rho, m and C are filled row by row by (W1)-(W4), K, M and d by the paths."""

    def __init__(self, n: Numbers, spherical: bool, times: int) -> None:
        self.n, self.spherical = n, spherical
        self.m, self.rho, self.d = np.zeros((3, times))
        self.R, self.C, self.K, self.M = np.zeros((4, times, times))
        self.rho[0], self.m[0], self.C[0, 0] = 1.0, n.m0, n.c0 + n.m0**2

    def close_row(self, t: int) -> None:
        """Row t+1, once K(t,.), M(t,.) and d(t) are known."""
        if t + 1 == len(self.m):
            return
        n, last = self.n, slice(t + 1)
        decay, pull = 1 - n.eta * n.lambda_, n.eta * n.alpha * n.Delta
        rho = decay * self.rho[t] - pull * self.K[t, last] @ self.rho[last]
        R = decay * self.R[t, last] - pull * self.K[t, last] @ self.R[last, last]
        R[t] = 1.0
        m = rho * n.m0 - n.eta * n.alpha * R @ self.d[last]
        forced = n.eta**2 * n.alpha * n.Delta * (R @ self.M[last, last]) + 2 * n.temperature * n.eta * R
        nu = (n.c0 * rho**2 + forced @ R + m**2) ** -0.5 if self.spherical else 1.0
        self.rho[t + 1], self.R[t + 1, last], self.m[t + 1] = nu * rho, nu * R, nu * m
        upto = slice(t + 2)
        row = n.c0 * nu * rho * self.rho[upto] + nu * (self.R[upto, last] @ forced) + nu * m * self.m[upto]
        self.C[t + 1, upto] = self.C[upto, t + 1] = row


class NoiseFactor:
    """The triangular factor of M (plus `floor` on the diagonal), row by row, with the rank that M numerically has.

    It comes from the forces on the paths themselves, made orthonormal, not from their covariance M: smooth trajectories
    make M singular, and a Cholesky factorisation of it loses half of the digits and, after some hundred steps, explodes.
    """

    def __init__(self, times: int, paths: int, floor: float) -> None:
        self.rank, self.paths, self.floor = 0, paths, floor
        # Langevin's noise is one more coordinate for each step
        self._directions: Float64[np.ndarray, "times coordinates"] = np.empty((times, paths + times))

    def row(self, t: int, f: Float64[np.ndarray, " P"]) -> tuple[Float64[np.ndarray, " rank"], float]:
        """The weights of the earlier innovations in xi(t), and that of the new one: zero when there is none."""
        known, rest = self._directions[: self.rank], np.zeros(self._directions.shape[1])
        rest[: self.paths], rest[self.paths + t] = f / self.paths**0.5, self.floor**0.5
        size, earlier = np.linalg.norm(rest), np.zeros(self.rank)
        for _ in range(2):  # once more, against rounding
            along = known @ rest
            earlier += along
            rest -= along @ known
        new = float(np.linalg.norm(rest))
        if new <= _DROP * size:
            return earlier, 0.0
        self._directions[self.rank] = rest / new
        self.rank += 1
        return earlier, new
