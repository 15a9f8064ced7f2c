"""The weights of the path DMFT in coordinates of the noise that drives them (docs/theory/dmft.md, section 3.5).

(W0) is linear: what a weight has beside v is a combination of independent normals n_j, with coefficients A(t, j). The force
is written in orthonormal functions phi_j of the path, each of which gave rise to one n_j, and then the same coefficients are
the reaction of a sample on itself. Nothing is inverted, so smooth trajectories with singular kernels do no harm.
"""

import numpy as np
from jaxtyping import Float64

from dimfree.dataset.dmft.basis import Basis
from dimfree.dataset.dmft.floats import Floats

_DROP = 1e-10  # forces whose new part is smaller, relative to their size, are a combination of earlier ones


class Weights:
    """m(t), A(t,.) and the coordinates L(t,.) of the force at times 0, 1, ..."""

    def __init__(self, n: Floats, spherical: bool, times: int, basis: Basis, rng: np.random.Generator) -> None:
        most = times + 1 + (times if n.temperature else 0)
        self.n, self.spherical, self.basis, self.rng = n, spherical, basis, rng
        self.m: Float64[np.ndarray, " n"] = np.zeros(times)
        self.A, self.L = np.zeros((2, times, most))
        self.m[0], self.A[0, 0] = n.m0, n.c0**0.5
        self.normals = [basis.normal(rng)]  # rows of the basis; the first is the start
        self._phi: Float64[np.ndarray, "j row"] = np.zeros((most, basis.most))  # coordinates in the basis

    @property
    def C(self) -> Float64[np.ndarray, "n n"]:
        """The full overlap."""
        return self.A @ self.A.T + self.m[:, None] * self.m

    @property
    def M(self) -> Float64[np.ndarray, "n n"]:
        """The correlation of the force."""
        return self.L @ self.L.T

    def field(self, t: int) -> Float64[np.ndarray, " P"]:
        """The Gaussian and the reaction of (H1)."""
        n, count = self.n, len(self.normals)
        A = self.A[t, :count]
        coordinates = (n.Delta / n.alpha) ** 0.5 * (A @ self._phi[:count, : self.basis.size])
        coordinates[self.normals] += n.Delta**0.5 * A
        return self.basis.combine(coordinates)

    def write(self, t: int, f: Float64[np.ndarray, " P"]) -> Float64[np.ndarray, " j"]:
        """The force at t in phi, which grows by what is new in it; returns <f n_j> for the earlier normals."""
        count = len(self.normals)
        coordinates, direction, rest = self.basis.split(f)
        phi, left = self._phi[:count, : coordinates.size], coordinates
        for _ in range(2):  # once more, against rounding
            along = phi @ left
            self.L[t, :count] += along
            left = left - along @ phi
        new = float(np.hypot(np.linalg.norm(left), rest))
        if new > _DROP * np.hypot(np.linalg.norm(coordinates), rest):
            self.L[t, count] = new
            self._phi[count, : coordinates.size] = left / new
            if rest:
                self._phi[count, self.basis.add(direction)] = rest / new
            self.normals.append(self.basis.normal(self.rng))
        return coordinates[self.normals[:count]]

    def remembered(self, t: int, K: Float64[np.ndarray, " t"]) -> Float64[np.ndarray, " j"]:
        """<f(t) n_j> by Stein's lemma, from the responses K(t,.) of the force."""
        return self.n.Delta**0.5 * (K @ self.A[: t + 1])

    def step(self, t: int, pull: float, reaction: Float64[np.ndarray, " j"]) -> float:
        """Row t+1 by (W0), from <f (c + sqrt(Delta) zeta)> and <f n_j>; returns the factor that keeps it on the sphere."""
        if t + 1 == len(self.m):
            return 1.0
        n, decay = self.n, 1 - self.n.eta * self.n.lambda_
        m, A = decay * self.m[t] - n.eta * n.alpha * pull, decay * self.A[t]
        A -= n.eta * (n.alpha * n.Delta) ** 0.5 * self.L[t]
        A[: reaction.size] -= n.eta * n.alpha * n.Delta**0.5 * reaction
        if n.temperature:
            A[len(self.normals)] = (2 * n.temperature * n.eta) ** 0.5
            self.normals.append(self.basis.normal(self.rng))  # its phi is zero: it does not come from a sample
        nu = n.start_norm**0.5 * (A @ A + m**2) ** -0.5 if self.spherical else 1.0
        self.m[t + 1], self.A[t + 1] = nu * m, nu * A
        return float(nu)
