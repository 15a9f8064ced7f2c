"""Weights in coordinates of the noise that drives them, for several units (docs/theory/committee-dmft.md, section 3.2).

What weights have beside the teachers is a combination of independent normals n_j with coefficients A(t). Forces are written in
orthonormal functions phi_j of the path, each of which gave rise to one n_j, and then the same coefficients are the reaction of a
sample on itself. Nothing is differentiated and nothing inverted.
"""

import numpy as np
from jaxtyping import Float64

from dimfree.dataset.dmft.basis import Basis

_DROP = 1e-9  # what is new in a force and smaller, relative to its size, is rounding


class Frame:
    """A (coefficients of the normals) and L (of the orthonormal functions) of p units at times 0, 1, ..."""

    def __init__(self, p: int, times: int, langevin: bool, basis: Basis, rng: np.random.Generator) -> None:
        most = p * (times + 1 + (times if langevin else 0))
        self.basis, self.rng = basis, rng
        self.A, self.L = np.zeros((2, times, p, most))
        self.normals = basis.normals(p, rng)  # rows of the basis; the first p are the start
        self._phi: Float64[np.ndarray, "j row"] = np.zeros((most, basis.most))  # coordinates in the basis

    @property
    def size(self) -> int:
        """How many normals there are."""
        return len(self.normals)

    def field(self, t: int, alpha: float) -> Float64[np.ndarray, "p P"]:
        """sum_j A_.j(t) [n_j + phi_j/sqrt(alpha)], the Gaussian and the reaction of (6)."""
        A = self.A[t, :, : self.size]
        coordinates = A @ self._phi[: self.size, : self.basis.size] / alpha**0.5
        coordinates[:, self.normals] += A
        return self.basis.combine(coordinates)

    def write(self, t: int, f: Float64[np.ndarray, "p P"]) -> Float64[np.ndarray, "p j"]:
        """The forces at t in phi, which grows by what is new in them; returns <f n_j> for the earlier normals."""
        count = self.size
        coordinates = self.basis.write(f)
        phi, left = self._phi[:count, : self.basis.size], coordinates
        for _ in range(2):  # once more, against rounding
            along = left @ phi.T
            self.L[t, :, :count] += along
            left = left - along @ phi
        size, new = np.linalg.svd(left, full_matrices=False)[1:]
        new = new[size > _DROP * np.linalg.norm(coordinates)]
        if len(new):
            self.L[t, :, count : count + len(new)] = left @ new.T
            self._phi[count : count + len(new), : self.basis.size] = new
            self.normals = [*self.normals, *self.basis.normals(len(new), self.rng)]
        return coordinates[:, self.normals[:count]]

    def heat(self, p: int) -> slice:
        """The columns of p new normals that come from no sample: their phi is zero."""
        self.normals = [*self.normals, *self.basis.normals(p, self.rng)]
        return slice(self.size - p, self.size)
